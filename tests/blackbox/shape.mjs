// Assertions about what every answer of one kind has (api.md sections 1, 3, 6 and 7).
import assert from "node:assert/strict";
import { compareDigests } from "../harness/digests.mjs";
import { receiptHolds } from "../harness/receipts.mjs";

const RUN_MEMBERS = ["durationMs", "error", "exitCode", "outcome", "payment", "receipt", "signal", "stderr", "stdout", "truncated", "usage"];
const RECEIPT_MEMBERS = [
  "issuedAt",
  "issuer",
  "limits",
  "outputDigest",
  "payment",
  "price",
  "priceUsd",
  "requestDigest",
  "runtime",
  "signature",
  "status",
  "tier",
  "usage",
];
const ERROR_MEMBERS = ["billable", "category", "code", "message"];
export const LIMIT_MEMBERS = ["maxMemoryBytes", "maxOutputBytes", "timeoutMs", "workDirBytes"];

const PRICES = { 1000: ["small", "$0.0010", 0.001], 5000: ["medium", "$0.0050", 0.005], 20000: ["large", "$0.0200", 0.02] };

/** What api.md section 7 says of each code: HTTP status and category. */
export const CODES = {
  REQUEST_MALFORMED: [400, "invalid_request"],
  SANDBOX_INVALID_REQUEST: [400, "invalid_request"],
  RUNTIME_RESERVED_FILE_PATH: [400, "invalid_request"],
  RUNTIME_UNSUPPORTED: [400, "unsupported_runtime"],
  RUNTIME_LIMIT_OUT_OF_RANGE: [400, "limit_out_of_range"],
  PAYMENT_MALFORMED: [400, "payment_required"],
  PAYMENT_INVALID: [402, "payment_required"],
  PAYMENT_AMOUNT_INSUFFICIENT: [402, "payment_required"],
  PAYMENT_REQUIREMENTS_MISMATCH: [402, "payment_required"],
  PAYMENT_REPLAYED: [409, "payment_required"],
  PAYMENT_SETTLEMENT_FAILED: [402, "settlement_failed"],
  PAYMENT_SETTLEMENT_INDETERMINATE: [503, "settlement_indeterminate"],
  PAYMENT_FACILITATOR_UNAVAILABLE: [503, "service_busy"],
  SERVICE_BUSY: [503, "service_busy"],
  SANDBOX_UNAVAILABLE: [503, "service_busy"],
  PAYER_RATE_LIMITED: [429, "service_busy"],
  PAYER_CONCURRENCY_LIMITED: [429, "service_busy"],
  EXECUTE_IP_RATE_LIMITED: [429, "service_busy"],
  SANDBOX_SETUP_FAILED: [500, "internal_failure"],
  SERVICE_INTERNAL_FAILURE: [500, "internal_failure"],
  SANDBOX_TIMEOUT: [200, "timeout"],
  EXECUTION_MEMORY_LIMIT_EXCEEDED: [200, "memory_exceeded"],
  EXECUTION_OUTPUT_LIMIT_EXCEEDED: [200, "output_limit_exceeded"],
  EXECUTION_RUNTIME_ERROR: [200, "runtime_error"],
  EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED: [200, "runtime_error"],
  EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL: [200, "runtime_error"],
};

/** What an answer has more, and its receipt, for what is asked beside the output. */
function extras({ evaluate = false, outputs }) {
  const asked = [...(evaluate ? ["result"] : []), ...(outputs ? ["outputs"] : [])];
  return { run: asked, receipt: asked.length > 0 ? ["extrasDigest"] : [] };
}

export const members = (object) => Object.keys(object).sort();

/** Headers that are on every answer, whoever made it. */
export function assertCommon(answer) {
  const exposed = (answer.headers["access-control-expose-headers"] ?? "").toLowerCase().split(/\s*,\s*/);
  assert.equal(answer.headers["access-control-allow-origin"], "*");
  for (const name of ["payment-required", "payment-response", "x-payment-response", "retry-after", "request-id", "idempotency-replayed"]) {
    assert.ok(exposed.includes(name), `${name} is not exposed`);
  }
  assert.match(answer.headers["request-id"] ?? "", /^[0-9A-Za-z_-]{8,64}$/);
}

export function assertError(error, code) {
  const [, category] = CODES[code];
  assert.deepEqual(members(error), ERROR_MEMBERS);
  assert.equal(error.code, code, error.message);
  assert.equal(error.category, category);
  assert.equal(error.billable, CODES[code][0] === 200);
  assert.ok(typeof error.message === "string" && error.message.length > 0, "a message in words");
}

/** A refusal with an error body; `status` where it differs from the code's own (404, 405, 413, 415). */
export function assertRefused(answer, code, { status = CODES[code][0], message } = {}) {
  assert.equal(answer.status, status, answer.text);
  assertCommon(answer);
  assert.match(answer.headers["content-type"], /^application\/json/);
  assert.equal(answer.headers["cache-control"], "no-store");
  const is402 = status === 402;
  assert.equal(answer.required !== null, is402, "PAYMENT-REQUIRED is on 402 answers, and on no other");
  assert.equal("retry-after" in answer.headers, status === 503 || status === 429, "Retry-After is on 503 and 429, and on no other");
  if (!is402) {
    assert.deepEqual(members(answer.json), ["error"]);
  }
  const error = is402 ? answer.json.details : answer.json.error;
  assertError(error, code);
  if (message) {
    assert.match(error.message, message);
  }
  if (is402) {
    assertRequired(answer);
    assert.equal(answer.required.error, answer.json.error);
    assert.equal(answer.response !== null, code === "PAYMENT_SETTLEMENT_FAILED", "a payment response header after a failed settlement only");
  }
}

/** Both forms of a 402, as far as they are the same for all. */
export function assertRequired(answer) {
  assert.deepEqual(members(answer.json), ["accepts", "details", "error", "extensions", "x402Version"]);
  assert.equal(answer.json.x402Version, 1);
  assert.equal(typeof answer.json.error, "string");
  assert.equal(answer.required.x402Version, 2);
  assert.equal(answer.required.accepts.length, 1);
  assert.equal(answer.json.accepts.length, 1);
  assert.equal(answer.required.accepts[0].amount, answer.json.accepts[0].maxAmountRequired);
  assert.ok(answer.headers["payment-required"].length <= 6 * 1024);
  assert.match(answer.headers["payment-required"], /^[A-Za-z0-9+/]+={0,2}$/);
}

/** The answer of a run that was paid, whatever became of the program. `asked`: the request, where `body` is something around it. */
export function assertRun(answer, { world, body, asked = JSON.parse(body), payer, amount, version = 2 }) {
  assert.equal(answer.status, 200, answer.text);
  assertCommon(answer);
  const { json } = answer;
  const { info } = world;
  assert.match(answer.headers["content-type"], /^application\/json/);
  assert.match(answer.headers["cache-control"], /\b(no-store|private)\b/);
  assert.deepEqual(members(json), [...RUN_MEMBERS, ...extras(asked).run].sort());
  assertOutcome(json);

  const { transaction } = json.payment;
  assert.match(transaction, /^0x[0-9a-f]{64}$/);
  assert.deepEqual(json.payment, { payer: payer.address, amount, asset: info.asset, network: info.network, transaction });
  const headerName = version === 2 ? "payment-response" : "x-payment-response";
  assert.ok(headerName in answer.headers, `${headerName} is missing`);
  const { extensions, ...settlement } = answer.response;
  assert.deepEqual(settlement, {
    success: true,
    transaction,
    network: version === 2 ? info.network : info.networkV1,
    payer: payer.address,
  });
  assert.ok(extensions["offer-receipt"].info.receipt.signature, "a signed receipt of the extension");
  assertReceipt(json, { body, asked, amount, world });
}

function assertOutcome(json) {
  assert.ok(["completed", "timeout", "error"].includes(json.outcome), json.outcome);
  assert.equal(json.error === null, json.outcome === "completed", "error is null exactly when completed");
  assert.equal(json.outcome === "timeout", json.error?.code === "SANDBOX_TIMEOUT");
  if (json.error) {
    assertError(json.error, json.error.code);
  }
  if (json.outcome === "completed") {
    assert.equal(json.exitCode, 0);
    assert.equal(json.signal, null);
  }
  assert.ok(json.exitCode === null || Number.isInteger(json.exitCode));
  assert.deepEqual(members(json.truncated), ["stderr", "stdout"]);
  assert.deepEqual(members(json.usage), ["cpuMs", "maxMemoryBytes"]);
  // Some kernels count CPU time in ticks: a short run may have none.
  assert.ok(json.usage.cpuMs >= 0 && json.usage.maxMemoryBytes > 0, JSON.stringify(json.usage));
  assert.ok(json.durationMs > 0);
  assert.equal(Math.round(json.durationMs * 10) / 10, json.durationMs, "durationMs has one decimal");
}

function assertReceipt(json, { body, asked, amount, world }) {
  const { receipt, payment } = json;
  const [tier, price, priceUsd] = PRICES[amount];
  const { transaction, ...paid } = payment;
  assert.deepEqual(members(receipt), [...RECEIPT_MEMBERS, ...extras(asked).receipt].sort());
  assert.deepEqual(receipt.payment, { ...paid, reference: transaction });
  assert.deepEqual([receipt.tier, receipt.price, receipt.priceUsd], [tier, price, priceUsd]);
  assert.deepEqual(members(receipt.limits), LIMIT_MEMBERS);
  assert.deepEqual(receipt.usage, {
    outcome: json.outcome,
    durationMs: json.durationMs,
    exitCode: json.exitCode,
    truncated: json.truncated,
  });
  assert.deepEqual(receipt.status, {
    code: json.error?.code ?? null,
    category: json.error?.category ?? "success",
    billable: true,
  });
  assert.ok(Number.isInteger(receipt.issuedAt) && Math.abs(receipt.issuedAt - Date.now() / 1000) < 60);
  for (const { name, told, computed } of compareDigests(Buffer.from(body), json)) {
    assert.equal(told, computed, name);
  }
  assert.equal(receipt.issuer, `did:web:${new URL(world.stack.https).host.replace(":", "%3A")}`);
  assert.ok(receiptHolds(receipt, world.jwks), "the receipt's signature holds");
}
