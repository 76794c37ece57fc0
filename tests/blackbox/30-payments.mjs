// Payments that must not buy anything. Nobody's balance may change and nothing may be settled.
import assert from "node:assert/strict";
import { privateKeyToAccount } from "../devnet/node_modules/viem/_esm/accounts/index.js";
import { decodeHeader, encodeHeader, highS, nowSeconds, randomNonce, recoveryId } from "../devnet/client.mjs";
import { assertRefused } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const DEAD = "0x000000000000000000000000000000000000dEaD";

export default async function payments(test, world) {
  const { info } = world;
  const body = JSON.stringify(HELLO);

  async function refused(name, code, makeHeaders, { requestBody = body, message } = {}) {
    await test(`${name}: ${code}`, async () => {
      const payer = world.nextPayer();
      const headers = await makeHeaders(payer);
      const answer = await world.free(payer, () => world.send({ body: requestBody, headers }));
      assertRefused(answer, code, { message });
    });
  }
  const signed = (sign, more) => (payer) => world.payment({ payer, sign, ...more });
  const accepting = (accepted) => (payer) => world.payment({ payer, accepted });

  // ---- amounts
  await refused("one unit too little, signed and accepted", "PAYMENT_AMOUNT_INSUFFICIENT", (payer) => world.payment({ payer, amount: "999" }));
  await refused("one unit too much, signed and accepted", "PAYMENT_REQUIREMENTS_MISMATCH", (payer) => world.payment({ payer, amount: "1001" }));
  await refused("a signed value below the accepted amount", "PAYMENT_AMOUNT_INSUFFICIENT", signed({ value: "1" }));
  await refused("a signed value of nothing", "PAYMENT_AMOUNT_INSUFFICIENT", signed({ value: "0" }));
  await refused("an accepted amount below the signed value", "PAYMENT_AMOUNT_INSUFFICIENT", accepting({ amount: "1" }));
  await refused("a signed value above the price", "PAYMENT_REQUIREMENTS_MISMATCH", signed({ value: "1000000" }));
  await refused("the small price for a large body", "PAYMENT_AMOUNT_INSUFFICIENT", signed({}), {
    requestBody: JSON.stringify({ ...HELLO, limits: { timeoutMs: 60001 } }),
  });
  await refused("the large price for a small body", "PAYMENT_REQUIREMENTS_MISMATCH", (payer) => world.payment({ payer, amount: "20000" }));
  await refused("a v1 payment below the price", "PAYMENT_AMOUNT_INSUFFICIENT", (payer) => world.payment({ payer, version: 1, amount: "999" }));
  await refused("a v1 payment above the price", "PAYMENT_REQUIREMENTS_MISMATCH", (payer) => world.payment({ payer, version: 1, amount: "1001" }));

  // ---- recipients and tampered requirements
  await refused("money for somebody else", "PAYMENT_INVALID", signed({ to: DEAD }));
  await refused("money for the payer himself", "PAYMENT_INVALID", async (payer) => world.payment({ payer, sign: { to: payer.address } }));
  await refused("v1 money for somebody else", "PAYMENT_INVALID", (payer) => world.payment({ payer, version: 1, sign: { to: DEAD } }));
  await refused("another payTo accepted", "PAYMENT_REQUIREMENTS_MISMATCH", accepting({ payTo: DEAD }));
  await refused("another payTo accepted and signed", "PAYMENT_REQUIREMENTS_MISMATCH", (payer) =>
    world.payment({ payer, accepted: { payTo: DEAD }, sign: { to: DEAD } }));
  await refused("another asset accepted", "PAYMENT_REQUIREMENTS_MISMATCH", accepting({ asset: DEAD }));
  await refused("another network accepted", "PAYMENT_REQUIREMENTS_MISMATCH", accepting({ network: "eip155:8453" }));
  await refused("a network in capitals", "PAYMENT_REQUIREMENTS_MISMATCH", accepting({ network: "EIP155:84532" }));
  await refused("another scheme accepted", "PAYMENT_REQUIREMENTS_MISMATCH", accepting({ scheme: "upto" }));
  await refused("another token name accepted", "PAYMENT_REQUIREMENTS_MISMATCH", accepting({ extra: { name: "USD Coin", version: "2" } }));
  await refused("a v1 payment for another network", "PAYMENT_REQUIREMENTS_MISMATCH", (payer) =>
    world.payment({ payer, version: 1, network: "base" }));

  // ---- time windows
  await refused("expired an hour ago", "PAYMENT_INVALID", signed({ validBefore: nowSeconds() - 3600 }), { message: /validBefore/ });
  await refused("expired now", "PAYMENT_INVALID", async (payer) => world.payment({ payer, sign: { validBefore: nowSeconds() } }));
  await refused("expires before it could be settled", "PAYMENT_INVALID", async (payer) =>
    world.payment({ payer, sign: { validBefore: nowSeconds() + 5 } }));
  await refused("not yet valid", "PAYMENT_INVALID", signed({ validAfter: nowSeconds() + 3600, validBefore: nowSeconds() + 7200 }), {
    message: /validAfter/,
  });
  await refused("valid for years", "PAYMENT_INVALID", signed({ validBefore: nowSeconds() + 10 * 365 * 86400 }), { message: /validBefore/ });
  await refused("valid to the end of time", "PAYMENT_INVALID", signed({ validBefore: 2n ** 256n - 1n }));

  // ---- signatures
  const victim = () => world.nextPayer();
  await test("forged, with the name of one who has money: PAYMENT_INVALID", async () => {
    const [robber, robbed] = [world.nextPayer(), victim()];
    const headers = await world.payment({ payer: robber, sign: { from: robbed.address } });
    const answer = await world.free(robbed, () => world.send({ body, headers }));
    assertRefused(answer, "PAYMENT_INVALID");
  });
  for (const [member, after] of [["nonce", () => ({ nonce: randomNonce() })], ["from", () => ({ from: victim().address })], ["validBefore", () => ({ validBefore: String(nowSeconds() + 200) })]]) {
    await refused(`${member} changed after signing`, "PAYMENT_INVALID", (payer) => world.payment({ payer, sign: { after: after() } }));
  }
  await refused("signed for another chain", "PAYMENT_INVALID", signed({ chainId: 8453 }));
  await refused("signed for another token", "PAYMENT_INVALID", signed({ verifyingContract: DEAD }));
  await refused("signed with another token name", "PAYMENT_INVALID", signed({ name: "USD Coin" }));
  await refused("the high-s twin of a good signature", "PAYMENT_INVALID", signed({ spoil: highS }));
  await refused("v of 0 or 1", "PAYMENT_INVALID", signed({ spoil: recoveryId }));
  await refused("a signature one byte short", "PAYMENT_INVALID", signed({ spoil: (signature) => signature.slice(0, -2) }));
  await refused("a signature of zeros", "PAYMENT_INVALID", signed({ spoil: () => `0x${"00".repeat(64)}1b` }));
  await refused("a signature of one byte", "PAYMENT_INVALID", signed({ spoil: () => "0x1b" }));
  await refused("a long signature of a wallet that is none", "PAYMENT_INVALID", signed({ spoil: (signature) => signature + "00".repeat(96) }));

  await test("a payer without money: a failed settlement, and no run", async () => {
    // After somebody new was refused, balances are read for a minute (89); here the facilitator is to say it.
    await world.restart();
    const key = randomNonce();
    const pauper = { privateKey: key, address: privateKeyToAccount(key).address };
    const headers = await world.payment({ payer: pauper });
    const { result, ...moved } = await world.moved(pauper, () => world.send({ body, headers }));
    assert.deepEqual(moved, { payer: 0n, seller: 0n });
    assertRefused(result, "PAYMENT_SETTLEMENT_FAILED");
    const { errorReason, ...response } = result.response;
    assert.deepEqual(response, { success: false, transaction: "", network: info.network, payer: pauper.address });
    assert.match(errorReason, /insufficient|simulation/);
  });

  // ---- headers that are no payment
  const raw = (value) => async () => ({ "PAYMENT-SIGNATURE": value });
  const base64 = (text) => Buffer.from(text, "latin1").toString("base64");
  const malformed = [
    ["no base64", "%%%not-base64%%%"],
    ["base64 of no JSON", base64("hello")],
    ["base64 of nothing", "===="],
    ["a JSON list", base64("[]")],
    ["a JSON string", base64('"x402"')],
    ["an empty object", base64("{}")],
    ["JSON with a tail", base64("{} {}")],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]).toString("base64")],
    ["a NUL inside", base64('{"x402Version":2,\u0000"payload":{}}')],
    ["depth of a thousand", base64("[".repeat(1000) + "]".repeat(1000))],
    ["depth of a thousand in a member", base64(`{"x402Version":2,"accepted":{"a":${"[".repeat(1000)}${"]".repeat(1000)}},"payload":{}}`)],
    ["25 KiB", "A".repeat(25 * 1024)],
  ];
  for (const [name, value] of malformed) {
    await refused(`header: ${name}`, "PAYMENT_MALFORMED", raw(value));
  }
  await refused("header: a v1 one that is no base64", "PAYMENT_MALFORMED", async () => ({ "X-PAYMENT": "$$$" }));

  const spoiled = (name, change) =>
    refused(`header: ${name}`, "PAYMENT_MALFORMED", async (payer) => {
      const [[header, value]] = Object.entries(await world.payment({ payer }));
      const payment = decodeHeader(value);
      return { [header]: encodeHeader(change(payment, payment.payload.authorization) ?? payment) };
    });
  for (const member of ["x402Version", "accepted", "payload"]) {
    await spoiled(`without ${member}`, (payment) => {
      delete payment[member];
    });
  }
  for (const member of ["scheme", "network", "amount", "asset", "payTo"]) {
    await spoiled(`without accepted.${member}`, (payment) => {
      delete payment.accepted[member];
    });
  }
  for (const member of ["from", "to", "value", "validAfter", "validBefore", "nonce"]) {
    await spoiled(`without authorization.${member}`, (payment, authorization) => {
      delete authorization[member];
    });
  }
  await spoiled("without a signature", (payment) => {
    delete payment.payload.signature;
  });
  await spoiled("x402Version 1 in a v2 payment", (payment) => ({ ...payment, x402Version: 1 }));
  await spoiled("x402Version 3", (payment) => ({ ...payment, x402Version: 3 }));
  await spoiled("a value that is a JSON number", (payment, authorization) => {
    authorization.value = 1000;
  });
  await spoiled("a value that is no number", (payment, authorization) => {
    authorization.value = "0x3e8";
  });
  await spoiled("a value of 79 digits", (payment, authorization) => {
    authorization.value = "1".repeat(79);
  });
  await spoiled("a value of 2^256", (payment, authorization) => {
    authorization.value = String(2n ** 256n);
  });
  await spoiled("a nonce of 31 bytes", (payment, authorization) => {
    authorization.nonce = authorization.nonce.slice(0, -2);
  });
  await spoiled("an address that is none", (payment, authorization) => {
    authorization.from = "0x1234";
  });
  await spoiled("a signature that is no hex", (payment) => {
    payment.payload.signature = "0xzz";
  });
  await spoiled("a payload that is a list", (payment) => ({ ...payment, payload: [] }));

  await refused("header: a duplicate key", "PAYMENT_MALFORMED", async (payer) => {
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    const text = Buffer.from(value, "base64").toString().replace(/^\{/, '{"x402Version":2,');
    return { [name]: base64(text) };
  });
  await refused("header: two payments joined by a comma", "PAYMENT_MALFORMED", async (payer) => {
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    return { [name]: `${value}, ${value}` };
  });
  await refused("header: given twice", "PAYMENT_MALFORMED", async (payer) => {
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    return [name, value, name, value];
  });
}
