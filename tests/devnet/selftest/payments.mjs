// The chain, the facilitator and the released clients: what is paid, and what is refused.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { payV1 } from "../../clients/v1/client.mjs";
import {
  authorizationState,
  encodeV1,
  encodeV2,
  highS,
  nowSeconds,
  payloadV2,
  payV2,
  randomNonce,
  readAnswer,
  recoveryId,
  signV2,
} from "../client.mjs";
import { rpc, word } from "../rpc.mjs";
import { ask } from "../seller.mjs";
import { check, PRICE, PRICE_ATOMIC } from "./kit.mjs";

const USED_TOPIC = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const REASON = "invalid_exact_evm_";

export async function testPayments(market) {
  await testPaying(market);
  await testRefusals(market);
  await testLoadAndTime(market);
}

async function testPaying({ info, url, v2, v1, payer, held, handle, earned }) {
  const other = info.payers[1];

  await check("the chain is what it says it is", async () => {
    assert.equal(Number(await rpc(info.rpcUrl, "eth_chainId")), info.chainId);
    assert.equal(info.payers.length, 20);
    assert.equal(await held(info.payers[19].address), 1_000_000_000n);
    assert.equal(await held(info.payTo), 0n);
  });

  await check("the facilitator offers both versions", async () => {
    const supported = await (await fetch(`${info.facilitatorUrl}/supported`)).json();
    const kinds = supported.kinds.map(({ x402Version, scheme, network }) => [x402Version, scheme, network]);
    assert.deepEqual(kinds, [
      [2, "exact", info.network],
      [1, "exact", info.networkV1],
    ]);
  });

  let paid;
  await check("the released v2 client pays", async () => {
    const { result, atomic } = await earned(() => payV2({ url, key: payer.privateKey, body: { hello: 2 } }));
    paid = result;
    assert.equal(result.status, 200);
    assert.deepEqual(JSON.parse(result.json.echo), { hello: 2 });
    assert.equal(result.payment.name, "PAYMENT-SIGNATURE");
    assert.equal(result.receipt.success, true);
    assert.equal(result.receipt.network, info.network);
    assert.equal(result.receipt.payer, payer.address);
    assert.equal(atomic, PRICE_ATOMIC);
  });

  await check("the released v1 client pays", async () => {
    const { result, atomic } = await earned(() => payV1({ url, key: other.privateKey, body: { hello: 1 } }));
    assert.equal(result.status, 200);
    assert.deepEqual(JSON.parse(result.json.echo), { hello: 1 });
    assert.equal(result.payment.name, "X-PAYMENT");
    assert.equal(result.receipt.network, info.networkV1);
    assert.equal(result.receipt.payer, other.address);
    assert.equal(atomic, PRICE_ATOMIC);
  });

  await check("both clients pay over TLS with a CA of our own", async () => {
    const home = mkdtempSync(join(tmpdir(), "devnet-selftest-"));
    try {
      const { key, ca } = makeCertificate(home);
      const server = https.createServer({ key: readFileSync(key), cert: readFileSync(ca) }, handle);
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const secure = { url: `https://127.0.0.1:${server.address().port}/`, key: payer.privateKey, body: { tls: true } };
      assert.equal((await payV2({ ...secure, ca })).status, 200);
      assert.equal((await payV1({ ...secure, ca })).status, 200);
      await assert.rejects(payV2(secure));
      server.closeAllConnections();
      server.close();
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  await check("hand-made headers of both versions are accepted by the seller", async () => {
    for (const headers of [
      encodeV2({ requirements: v2, payload: await signV2(v2, payer.privateKey), resource: { url } }),
      encodeV1({ requirements: v1, payload: await signV2(v1, payer.privateKey) }),
    ]) {
      assert.equal((await fetch(url, { method: "POST", headers, body: "{}" })).status, 200);
    }
  });

  await check("the payment left its marks on chain", async () => {
    const receipt = await rpc(info.rpcUrl, "eth_getTransactionReceipt", [paid.receipt.transaction]);
    const [topic, authorizer, nonce] = receipt.logs[0].topics;
    assert.equal(topic, USED_TOPIC);
    assert.equal(authorizer, `0x${word(payer.address)}`);
    assert.equal(await authorizationState(info.rpcUrl, info.asset, payer.address, nonce), true);
    assert.equal(await authorizationState(info.rpcUrl, info.asset, payer.address, randomNonce()), false);
    const filter = { address: info.asset, fromBlock: "0x0", topics: [USED_TOPIC, authorizer, nonce] };
    const [found] = await rpc(info.rpcUrl, "eth_getLogs", [filter]);
    assert.equal(found.transactionHash, paid.receipt.transaction);
  });

  await check("the same payment a second time is refused", async () => {
    const headers = { [paid.payment.name]: paid.payment.value };
    const { result, atomic } = await earned(async () =>
      readAnswer(await fetch(url, { method: "POST", headers, body: "{}" })),
    );
    assert.equal(result.status, 402);
    assert.equal(result.required.error, `${REASON}nonce_already_used`);
    assert.equal(result.json.error, result.required.error);
    assert.equal(atomic, 0n);
  });

  await check("a contract pays by its own word (ERC-1271)", async () => {
    const wallet = "0x00000000000000000000000000000000C0de1271";
    const saysYes = "0x631626ba7e60e01b60005260206000f3"; // answers every call with isValidSignature's magic value
    await rpc(info.rpcUrl, "anvil_setCode", [wallet, saysYes]);
    await give(info, other.address, wallet, PRICE_ATOMIC);
    const payload = await signV2(v2, payer.privateKey, { from: wallet, spoil: () => `0x${"ab".repeat(96)}` });
    const question = payloadV2({ requirements: v2, payload });
    const { result, atomic } = await earned(() => ask(info.facilitatorUrl, "settle", question, v2));
    assert.equal(result.success, true);
    assert.equal(atomic, PRICE_ATOMIC);
  });
}

async function testRefusals({ info, v2, payer, held, direct, earned }) {
  const [, other, poor] = info.payers;

  await check("a nonce used before is refused by settle alone", async () => {
    const nonce = randomNonce();
    assert.equal((await direct("settle", { nonce })).success, true);
    const again = await direct("settle", { nonce });
    assert.equal(again.errorReason, `${REASON}nonce_already_used`);
    assert.equal(again.transaction, "");
    const asV1 = await direct("settle", { nonce }, { version: 1 });
    assert.equal(asV1.success, false);
    assert.match(asV1.errorReason, /authorization is used or canceled/);
  });

  for (const [name, spoil] of [
    ["high s", highS],
    ["v of 0 or 1", recoveryId],
  ]) {
    await check(`${name}: recovers off chain, refused on chain`, async () => {
      const verified = await direct("verify", { spoil });
      assert.equal(verified.invalidReason, `${REASON}transaction_simulation_failed`);
      const settled = await direct("settle", { spoil });
      assert.equal(settled.success, false);
      assert.equal(settled.transaction, "");
      assert.equal(settled.errorReason, `${REASON}signature`);
    });
  }

  // The two versions name a wrong amount differently.
  const wrongAmount = { 2: "payload_authorization_value_mismatch", 1: "authorization_value" };
  const same = (reason) => ({ 2: reason, 1: reason });
  for (const [name, overrides, reasons] of [
    ["a wrong amount", { value: "9999" }, wrongAmount],
    ["a wrong recipient", { to: other.address }, same("recipient_mismatch")],
    ["five seconds of life", { validBefore: nowSeconds() + 5 }, same("payload_authorization_valid_before")],
    ["a life in the future", { validAfter: nowSeconds() + 60 }, same("payload_authorization_valid_after")],
    ["another's money", { from: other.address }, same("signature")],
    ["a value changed after signing", { value: "1", after: { value: PRICE } }, same("signature")],
    ["another chain", { chainId: 8453 }, same("signature")],
  ]) {
    await check(`${name} is refused in both versions`, async () => {
      const { atomic } = await earned(async () => {
        for (const version of [2, 1]) {
          const verified = await direct("verify", overrides, { version });
          assert.equal(verified.isValid, false);
          assert.equal(verified.invalidReason, REASON + reasons[version]);
          assert.equal((await direct("settle", overrides, { version })).success, false);
        }
      });
      assert.equal(atomic, 0n);
    });
  }

  await check("an empty wallet is refused", async () => {
    await give(info, poor.address, other.address, await held(poor.address));
    const payload = await signV2(v2, poor.privateKey);
    const verified = await ask(info.facilitatorUrl, "verify", payloadV2({ requirements: v2, payload }), v2);
    assert.equal(verified.invalidReason, `${REASON}insufficient_balance`);
  });

  await check("a body that is no question is refused, and does no harm", async () => {
    const post = async (body) => (await fetch(`${info.facilitatorUrl}/verify`, { method: "POST", body })).status;
    assert.equal(await post("{"), 400);
    assert.equal(await post("{}"), 400);
    assert.equal(await post(JSON.stringify({ paymentPayload: {}, paymentRequirements: {} })), 500);
    assert.equal(await post("x".repeat(300 * 1024)), 413);
    assert.equal((await direct("verify", {})).isValid, true);
  });
}

async function testLoadAndTime({ info, v2, payer, direct, earned }) {
  const stats = async () => (await fetch(`${info.facilitatorUrl}/stats`)).json();

  await check("100 settles, 8 at once, all succeed", async () => {
    const before = await stats();
    let left = 100;
    const worker = async () => {
      const failures = [];
      while (left-- > 0) {
        const settled = await direct("settle", {}, { version: left % 2 ? 2 : 1 });
        failures.push(...(settled.success ? [] : [settled]));
      }
      return failures;
    };
    const { result, atomic } = await earned(() => Promise.all(Array.from({ length: 8 }, worker)));
    assert.deepEqual(result.flat(), []);
    assert.equal(atomic, 100n * PRICE_ATOMIC);
    const after = await stats();
    assert.equal(after.settle - before.settle, 100);
    assert.equal(after.settled - before.settled, 100);
  });

  await check("one payment settled 8 times at once moves its money once", async () => {
    const question = payloadV2({ requirements: v2, payload: await signV2(v2, payer.privateKey) });
    const settle = () => ask(info.facilitatorUrl, "settle", question, v2);
    const { result, atomic } = await earned(() => Promise.all(Array.from({ length: 8 }, settle)));
    assert.equal(result.filter(({ success }) => success).length, 1);
    assert.equal(atomic, PRICE_ATOMIC);
  });

  await check("after a pause the chain's clock is not behind", async () => {
    await sleep(5500);
    const verified = await direct("verify", { validAfter: nowSeconds() - 4 });
    assert.equal(verified.isValid, true, verified.invalidReason);
  });
}

/** Moves tokens without the holder's key. */
async function give(info, from, to, atomic) {
  await rpc(info.rpcUrl, "anvil_impersonateAccount", [from]);
  await rpc(info.rpcUrl, "anvil_setBalance", [from, "0xde0b6b3a7640000"]);
  const data = `0xa9059cbb${word(to)}${word(atomic)}`;
  await rpc(info.rpcUrl, "eth_sendTransaction", [{ from, to: info.asset, data }]);
}

function makeCertificate(home) {
  const [key, ca] = [join(home, "key.pem"), join(home, "ca.pem")];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", ca];
  const said = ["-subj", "/CN=selftest", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...made, ...said], { stdio: "ignore" });
  return { key, ca };
}
