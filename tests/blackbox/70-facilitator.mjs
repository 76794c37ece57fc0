// A facilitator that refuses, fails, lies or is not there: what the caller is told, and that he pays at most once.
import assert from "node:assert/strict";
import { decodeHeader } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { payments } from "./tool.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
const UNAVAILABLE = "PAYMENT_FACILITATOR_UNAVAILABLE";

export default async function facilitator(test, world) {
  const { faults, info } = world;
  const body = JSON.stringify(HELLO);

  /** One payment sent while the facilitator misbehaves, and again when it does not any more. */
  async function twice(settle, { version = 2 } = {}) {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer, version });
    faults.reset();
    let first;
    let second;
    const moved = await world.moved(payer, async () => {
      try {
        faults.set({ settle });
        first = await world.send({ body, headers });
      } finally {
        faults.reset();
      }
      second = await world.send({ body, headers });
    });
    return { payer, headers, first, second, paid: { payer: moved.payer, seller: moved.seller } };
  }
  const ONCE = { payer: -1000n, seller: 1000n };

  for (const version of [2, 1]) {
    await test(`v${version}: a refusal is told, and the same payment may settle later`, async () => {
      const { payer, first, second, paid } = await twice({ mode: "refuse", reason: "insufficient_funds" }, { version });
      assertRefused(first, "PAYMENT_SETTLEMENT_FAILED", { message: /insufficient_funds/ });
      assert.ok((version === 2 ? "payment-response" : "x-payment-response") in first.headers);
      assert.deepEqual(first.response, {
        success: false,
        errorReason: "insufficient_funds",
        transaction: "",
        network: version === 2 ? info.network : info.networkV1,
        payer: payer.address,
      });
      assertRun(second, { world, body, payer, amount: "1000", version });
      assert.deepEqual(paid, ONCE);
    });
  }

  await test("a refusal with status 400 or 500 is a refusal", async () => {
    for (const settle of [{ mode: "refuse", status: 400 }, { mode: "refuse", status: 500 }]) {
      const { first, paid } = await twice(settle);
      assertRefused(first, "PAYMENT_SETTLEMENT_FAILED");
      assert.deepEqual(paid, ONCE);
    }
  });

  // What the released packages answer when they lose the receipt, after the money moved.
  await test("a no that may come after the broadcast never reads as a refusal", async () => {
    const reasons = ["invalid_exact_evm_transaction_failed", "invalid_transaction_state", "The request took too long to respond."];
    for (const reason of reasons) {
      const { first, second, paid } = await twice({ mode: "refuse", reason, forward: true });
      assertRefused(first, INDETERMINATE);
      assert.ok(!("payment-required" in first.headers));
      assert.ok(second.status === 200 || second.status === 503, second.text);
      assert.deepEqual(paid, ONCE);
    }
  });

  await test("after a refusal the payment stays bound to its request", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    faults.set({ settle: { mode: "refuse", times: 1 } });
    assertRefused(await world.send({ body, headers }), "PAYMENT_SETTLEMENT_FAILED");
    assertRefused(await world.free(payer, () => world.send({ body: JSON.stringify({ ...HELLO, stdin: "x" }), headers })), "PAYMENT_REPLAYED");
  });

  // No money moved, but we cannot know: after that, the same payment buys its run with one charge.
  const before = [
    ["reset-before", INDETERMINATE],
    ["error500-html", INDETERMINATE],
    ["error500-json", INDETERMINATE],
    [{ mode: "status", code: 502 }, INDETERMINATE],
    [{ mode: "status", code: 200 }, INDETERMINATE],
    [{ mode: "status", code: 204 }, INDETERMINATE],
    [{ mode: "refuse", reason: "unexpected_settle_error" }, INDETERMINATE],
    [{ mode: "redirect", location: "/settle" }, INDETERMINATE],
    [{ mode: "garbage", forward: false }, null],
    ...[401, 403, 404, 413, 429].map((code) => [{ mode: "status", code }, UNAVAILABLE]),
  ].filter(([, code]) => code);
  for (const [settle, code] of before) {
    await test(`${JSON.stringify(settle)}: ${code}, then one charge and an answer`, async () => {
      const { payer, first, second, paid } = await twice(settle);
      assertRefused(first, code);
      assertRun(second, { world, body, payer, amount: "1000" });
      assert.deepEqual(paid, ONCE);
    });
  }

  await test(`hang-before: ${INDETERMINATE} after the deadline, then one charge and an answer`, async () => {
    const { payer, first, second, paid } = await twice("hang-before");
    assertRefused(first, INDETERMINATE);
    assertRun(second, { world, body, payer, amount: "1000" });
    assert.deepEqual(paid, ONCE);
  });

  // The money moved and its answer was lost. Without a look at the chain the retry may stay unknown, but it never costs
  // again and never asks for a new payment.
  const after = ["reset-after", "hang-after", "cut", "garbage", "empty", "foreign", "types", "huge", { mode: "pending", always: true },
    { mode: "lie", what: "payer" }, { mode: "lie", what: "amount" }, { mode: "lie", what: "network" }, { mode: "lie", what: "transaction", value: "" }];
  for (const settle of after) {
    await test(`${JSON.stringify(settle)}: ${INDETERMINATE}, and one charge whatever is tried`, async () => {
      const { payer, headers, first, second, paid } = await twice(settle);
      assertRefused(first, INDETERMINATE);
      assert.deepEqual(paid, ONCE);
      if (second.status === 200) {
        assertRun(second, { world, body, payer, amount: "1000" });
      } else {
        assertRefused(second, INDETERMINATE);
      }
      assertRefused(await world.free(payer, () => world.send({ body: JSON.stringify({ ...HELLO, stdin: "x" }), headers })), "PAYMENT_REPLAYED");
    });
  }

  await test("a settlement that is pending is asked for once more", async () => {
    const { payer, first, second, paid } = await twice("pending");
    assertRun(first, { world, body, payer, amount: "1000" });
    assert.equal(second.text, first.text);
    assert.deepEqual(paid, ONCE);
  });

  await test("a slow facilitator that answers in many pieces is waited for", async () => {
    for (const settle of [{ mode: "delay", ms: 1500 }, { mode: "drip", everyMs: 2 }]) {
      const { payer, first, paid } = await twice(settle);
      assertRun(first, { world, body, payer, amount: "1000" });
      assert.deepEqual(paid, ONCE);
    }
  });

  await test("a transaction that another payment has is no payment", async () => {
    const { payment } = await world.run(HELLO);
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const lie = { mode: "lie", what: "transaction", value: payment.transaction, times: 1 };
    const { result, ...paid } = await world.moved(payer, async () => {
      faults.set({ settle: { ...lie, forward: false } });
      assertRefused(await world.send({ body, headers }), INDETERMINATE);
      faults.reset();
      return world.send({ body, headers });
    });
    assertRun(result, { world, body, payer, amount: "1000" });
    assert.notEqual(result.json.payment.transaction, payment.transaction);
    assert.deepEqual(paid, ONCE);
  });

  await test("a payment that was settled under another's transaction is found on the chain, with its own", async () => {
    const { payment } = await world.run(HELLO);
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    faults.set({ settle: { mode: "lie", what: "transaction", value: payment.transaction, forward: true, times: 1 } });
    const { result, ...paid } = await world.moved(payer, () => world.send({ body, headers }));
    faults.reset();
    assertRun(result, { world, body, payer, amount: "1000" });
    assert.notEqual(result.json.payment.transaction, payment.transaction);
    assert.deepEqual(paid, ONCE);
  });

  await test("verify that cannot be had, for a signature that only the facilitator can judge: 503, nothing charged", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer, sign: { spoil: (signature) => signature + "00".repeat(32) } });
    faults.set({ verify: "error500-html" });
    const answer = await world.free(payer, () => world.send({ body, headers }));
    faults.reset();
    assertRefused(answer, UNAVAILABLE);
  });

  await test("what the facilitator is asked: the client's payment as it came, and our own requirement", async () => {
    const payer = world.nextPayer();
    const [[name, value]] = Object.entries(await world.payment({ payer, accepted: { maxTimeoutSeconds: 77 }, extensions: { x: { info: {} } } }));
    const answer = await world.send({ body, headers: { [name]: value, Cookie: "a=b", Authorization: "Bearer secret" } });
    assertRun(answer, { world, body, payer, amount: "1000" });
    const { headers, body: asked } = faults.last().settle;
    const { x402Version, paymentPayload, paymentRequirements } = JSON.parse(asked);
    assert.equal(x402Version, 2);
    assert.deepEqual(paymentPayload, JSON.parse(Buffer.from(value, "base64")));
    assert.deepEqual(paymentRequirements, await world.requirement());
    assert.match(headers["content-type"], /^application\/json/);
    assert.ok(!("cookie" in headers) && !("authorization" in headers));
  });

  await test("a facilitator that is not there: 503, known not to be charged, and the payment is good when it is back", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
    const { port } = new URL(faults.url);
    await faults.stop();
    let answer;
    try {
      answer = await world.send({ body, headers });
      assertRefused(answer, UNAVAILABLE, { message: /nothing was charged/ });
      assert.ok((await payments(world, "failed")).some((line) => line.includes(nonce)), "nothing was sent: that is no doubt");
      assert.equal((await world.send({ body })).status, 402, "offers are made all the same");
    } finally {
      Object.assign(faults, await startFaults({ upstream: info.facilitatorUrl, port: Number(port) }));
    }
    const { result, ...moved } = await world.moved(payer, () => world.send({ body, headers }));
    assertRun(result, { world, body, payer, amount: "1000" });
    assert.deepEqual(moved, ONCE);
  });

  await test("…after a doubt: nobody is told that nothing was charged", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
    const { port } = new URL(faults.url);
    const { result, ...moved } = await world.moved(payer, async () => {
      world.rpcFaults.set("dead");
      try {
        faults.set({ settle: { mode: "reset-after", times: 1 } });
        assertRefused(await world.send({ body, headers }), INDETERMINATE);
        await faults.stop();
        assertRefused(await world.send({ body, headers }), UNAVAILABLE, { message: /settled before is not known.*do not sign a new one/ });
        assert.ok((await payments(world, "unknown")).some((line) => line.includes(nonce)));
      } finally {
        world.rpcFaults.set(null);
        Object.assign(faults, await startFaults({ upstream: info.facilitatorUrl, port: Number(port) }));
      }
      return world.send({ body, headers });
    });
    assertRun(result, { world, body, payer, amount: "1000" });
    assert.deepEqual(moved, ONCE);
  });
}
