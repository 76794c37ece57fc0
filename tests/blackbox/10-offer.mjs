// What is asked for: the 402 in both versions, its exact numbers, and that the released clients' own checks pass it.
import assert from "node:assert/strict";
import { assertCommon, assertError, assertRequired, members } from "./shape.mjs";
import { PaymentRequiredV2Schema } from "../devnet/node_modules/@x402/core/dist/esm/schemas/index.mjs";
import { HELLO } from "./world.mjs";

const V1_TYPES = new URL("../clients/v1/node_modules/x402/dist/esm/types/index.mjs", import.meta.url);
const MIB = 1024 * 1024;

export default async function offer(test, world) {
  const { send, info } = world;
  const resource = `${world.stack.https}/execute`;
  const unpaid = async (body, more) => {
    const answer = await send({ body, ...more });
    assert.equal(answer.status, 402, answer.text);
    return answer;
  };
  const amountOf = (answer) => answer.required.accepts[0].amount;

  await test("402 in both versions, to the last member", async () => {
    const answer = await unpaid(HELLO);
    assertCommon(answer);
    assertRequired(answer);
    assert.match(answer.headers["content-type"], /^application\/json/);
    assert.equal(answer.headers["cache-control"], "no-store");
    const { description } = answer.required.resource;
    assert.ok(description.length > 0 && description.length <= 500);
    const { serviceName, ...told } = answer.required.resource;
    assert.match(serviceName ?? "Tollbox", /^[ -~]{1,32}$/);
    assert.deepEqual(told, { url: resource, description, mimeType: "application/json" });
    const common = {
      scheme: "exact",
      asset: info.asset,
      payTo: info.payTo,
      maxTimeoutSeconds: 300,
      extra: { name: info.assetName, version: info.assetVersion },
    };
    assert.deepEqual(answer.required.accepts, [{ ...common, network: info.network, amount: "1000" }]);
    const { outputSchema, ...v1 } = answer.json.accepts[0];
    assert.ok(outputSchema === undefined || typeof outputSchema === "object");
    assert.deepEqual(v1, {
      ...common,
      network: info.networkV1,
      maxAmountRequired: "1000",
      resource,
      description,
      mimeType: "application/json",
    });
    assert.deepEqual(members(answer.json.details), ["billable", "category", "code", "message"]);
    assert.equal(answer.json.details.code, null);
    assert.equal(answer.json.details.billable, false);
    assert.equal(answer.json.details.category, "payment_required");
  });

  await test("the released v2 client's schema passes the header", async () => {
    PaymentRequiredV2Schema.parse((await unpaid(HELLO)).required);
  });

  await test("the released v1 client's schemas pass the body", async () => {
    const { PaymentRequirementsSchema, x402ResponseSchema } = await import(V1_TYPES);
    const { json } = await unpaid(HELLO);
    json.accepts.forEach((element) => PaymentRequirementsSchema.parse(element));
    assert.ok(x402ResponseSchema.safeParse({ ...json, error: undefined }).success);
  });

  const noPrice = [
    ["an empty body", ""],
    ["no JSON", "import os"],
    ["JSON that is no object", "[1,2]"],
    ["an unknown member", { ...HELLO, sauce: "x" }],
    ["an unknown runtime", { runtime: "cobol", source: "" }],
    ["limits out of range", { ...HELLO, limits: { timeoutMs: 1e9 } }],
  ];
  for (const [name, body] of noPrice) {
    await test(`402 at the base price for ${name}`, async () => {
      assert.equal(amountOf(await unpaid(body)), "1000");
    });
  }

  // The tier is the smallest that holds all four limits (api.md section 4).
  const tiers = [
    [{}, "1000"],
    [{ timeoutMs: 10000, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB }, "1000"],
    [{ timeoutMs: 10001 }, "5000"],
    [{ maxMemoryBytes: 256 * MIB + 1 }, "5000"],
    [{ maxOutputBytes: MIB + 1 }, "5000"],
    [{ workDirBytes: 64 * MIB + 1 }, "5000"],
    [{ timeoutMs: 60000, maxMemoryBytes: 512 * MIB, maxOutputBytes: 4 * MIB, workDirBytes: 256 * MIB }, "5000"],
    [{ timeoutMs: 60001 }, "20000"],
    [{ timeoutMs: 100, workDirBytes: 1024 * MIB }, "20000"],
    [{ timeoutMs: 300000, maxMemoryBytes: 2048 * MIB, maxOutputBytes: 16 * MIB, workDirBytes: 1024 * MIB }, "20000"],
  ];
  for (const [limits, amount] of tiers) {
    await test(`a body with limits ${JSON.stringify(limits)} is offered at ${amount}`, async () => {
      assert.equal(amountOf(await unpaid({ ...HELLO, limits })), amount);
    });
  }

  await test("the resource is the configured address, whatever Host says", async () => {
    const answer = await unpaid(HELLO, { headers: { Host: "evil.example:1" } });
    assert.equal(answer.required.resource.url, resource);
    assert.equal(answer.json.accepts[0].resource, resource);
  });

  await test("over plain HTTP it is the same offer", async () => {
    const answer = await unpaid(HELLO, { base: world.stack.http });
    assert.equal(answer.required.resource.url, resource);
  });

  await test("the query string is ignored", async () => {
    const answer = await unpaid(HELLO, { path: "/execute?utm_source=catalogue" });
    assert.equal(answer.required.resource.url, resource);
  });

  await test("settings cannot be sent by a client", async () => {
    const elsewhere = "0x000000000000000000000000000000000000dEaD";
    const headers = { "Tollbox-Pay-To": elsewhere, TOLLBOX_PAY_TO: elsewhere, "X-Tollbox-Pay-To": elsewhere };
    assert.equal((await unpaid(HELLO, { headers })).required.accepts[0].payTo, info.payTo);
  });

  await test("a browser gets the same JSON", async () => {
    const answer = await unpaid(HELLO, { headers: { Accept: "text/html", "User-Agent": "Mozilla/5.0" } });
    assertRequired(answer);
    assertError({ ...answer.json.details, code: "PAYMENT_INVALID" }, "PAYMENT_INVALID");
  });
}
