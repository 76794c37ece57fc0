// What was sold for an asset stays sold when the settings take the asset away, or put another before it: the same payment has its
// answer, or its run, and nobody is asked to pay again. A stack of its own beside the world's.
import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { addToken, testAccount } from "../devnet/chain.mjs";
import { balance, encodeV1, encodeV2, signV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { placeWallet } from "../devnet/wallets.mjs";
import { descendants, findSleep, startStack, waking } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { until } from "./runner.mjs";

const OTHER = "0x0000000000000000000000000000000000007003";
const WALLET = getAddress("0x00000000000000000000000000000000000c0173");
const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const FEE_PAYER = "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5";
// Every run prints something else.
const body = JSON.stringify({ runtime: "python3", source: "import time\nprint(time.time_ns())" });
const slow = JSON.stringify({ runtime: "python3", source: "import subprocess, time\nsubprocess.run(['sleep', '8.625'])\nprint(time.time_ns())" });

export default async function gone(test, world) {
  const { info } = world;
  const owner = testAccount("owner of a wallet elsewhere");
  const stranger = testAccount("who reads the chain");
  await addToken(info.rpcUrl, OTHER, [...info.payers.map(({ address }) => address), WALLET]);
  await placeWallet(info.rpcUrl, WALLET, owner.address);

  const one = await startFaults({ upstream: info.facilitatorUrl });
  const two = await startFaults({ upstream: info.facilitatorUrl });
  two.set({ supported: { mode: "status", code: 200, body: { kinds: [{ x402Version: 2, scheme: "exact", network: info.network }] } } });
  const sol = await startFaults({ upstream: info.facilitatorUrl });
  sol.set({ supported: { mode: "status", code: 200, body: { kinds: [{ x402Version: 2, scheme: "exact", network: SOLANA, extra: { feePayer: FEE_PAYER } }] } } });

  const settings = (accepts, by = "one") => `
[site]
accepts = ${accepts}
pay_to = ${info.payTo}
facilitator = one
[facilitator:one]
url = ${one.url}
[facilitator:two]
url = ${two.url}
[facilitator:sol]
url = ${sol.url}
[chain:default]
network = ${info.network}
rpc_url = ${info.rpcUrl}
confirmations = 1
[asset:usdc]
network = ${info.network}
asset = ${info.asset}
[asset:other]
network = ${info.network}
asset = ${OTHER}
asset_name = USDC
asset_version = 2
facilitator = ${by}
[asset:sol]
network = ${SOLANA}
asset = 4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU
pay_to = 2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4
facilitator = sol
asset_decimals = 6
`;
  const conf = join(world.folder, "gone.ini");
  const logFile = join(world.folder, "gone.log");
  writeFileSync(conf, settings("other usdc", "two"));
  const stderr = openSync(logFile, "w");
  const stack = await startStack({
    env: { TOLLBOX_FACILITATOR_URL: one.url, TOLLBOX_FACILITATOR: "one", TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_TEST_CONF: conf },
    stderr,
  });
  closeSync(stderr);
  const send = createSender(stack.https, stack.ca);
  const file = join(dirname(stack.ca), "tollbox.ini");
  const find = (pattern) => descendants(stack.pid).find(({ command }) => pattern.test(command));

  /** Other settings by SIGHUP; what is then offered to the callers of version 2. */
  async function change(accepts) {
    const begin = readFileSync(logFile, "utf8").length;
    writeFileSync(file, readFileSync(file, "utf8").replace(/\[site\]\naccepts = [^]*$/, settings(accepts).trimStart()));
    process.kill(find(/tollbox serve/).pid, "SIGHUP");
    await until("the gate accepts again", () => /gate: accepts again/.test(readFileSync(logFile, "utf8").slice(begin)), { withinMs: 60_000 });
    const count = accepts.split(" ").length;
    return until("all of it is offered", async () => {
      const { required } = await send({ body });
      return required?.accepts.length === count && required.accepts;
    });
  }

  const held = (payer) => Promise.all([info.asset, OTHER].map((asset) => balance(info.rpcUrl, asset, payer.address)));
  /** Asserts what `work` takes from `payer`, in atomic units: of usdc, of the other. */
  async function takes(payer, [usdc, other], work) {
    const before = await held(payer);
    const result = await work();
    assert.deepEqual((await held(payer)).map((now, index) => before[index] - now), [usdc, other]);
    return result;
  }
  const free = (payer, work) => takes(payer, [0n, 0n], work);

  const encode = { 1: encodeV1, 2: encodeV2 };
  const of = async (requirements, payer, version, sign = {}, accepted = {}) => {
    const named = version === 1 ? { ...requirements, network: info.networkV1 } : requirements;
    const payload = await signV2(named, payer.privateKey, sign);
    const said = { ...named, ...accepted };
    return { payer, version, payload, accepted: said, headers: encode[version]({ requirements: said, payload }) };
  };
  const wallet = { address: WALLET, privateKey: owner.privateKey };
  /** As the wallet signs: with its own address, and longer than a key's signature. */
  const walletSigns = { from: WALLET, spoil: (signature) => `0x${"11".repeat(20)}${signature.slice(2)}` };

  const okay = (answer) => {
    assert.equal(answer.status, 200, answer.text);
    return answer;
  };
  const refused = (answer, code, status = 402) => {
    assert.equal(answer.status, status, answer.text);
    assert.equal((answer.json.details ?? answer.json.error).code, code, answer.text);
  };
  const pay = ({ headers }, what = body) => send({ body: what, headers });
  async function had({ payer, answer, ...made }) {
    const again = okay(await free(payer, () => pay(made)));
    assert.ok(again.bytes.equals(answer.bytes), again.text);
    assert.equal(again.headers["idempotency-replayed"], "true");
  }

  await test("version 1 buys what it is offered, though the first of the network cannot be had in it", async () => {
    const [payer] = info.payers;
    const { json, required } = await until("both are offered", async () => {
      const answer = await send({ body });
      return answer.required?.accepts.length === 2 && answer;
    });
    assert.deepEqual(required.accepts.map(({ asset }) => asset), [OTHER, info.asset]);
    assert.deepEqual(json.accepts.map(({ asset }) => asset), [info.asset]);
    okay(await takes(payer, [1000n, 0n], async () => pay(await of(required.accepts[1], payer, 1))));
  });

  const [other, usdc] = await change("other usdc");
  const [, , payer] = info.payers;
  const rows = { done: [], unknown: [] };
  let owed;

  await test("paid in an asset: answered, lost at the facilitator, lost with the boxer", async () => {
    for (const version of [2, 1]) {
      const done = await of(other, payer, version);
      rows.done.push({ ...done, answer: okay(await takes(payer, [0n, 1000n], () => pay(done))) });
      const unknown = await of(other, payer, version);
      one.set({ settle: { mode: "reset-after", times: 1 } });
      refused(await takes(payer, [0n, 1000n], () => pay(unknown)), "PAYMENT_SETTLEMENT_INDETERMINATE", 503);
      rows.unknown.push(unknown);
    }
    const byWallet = await of(other, wallet, 1, walletSigns);
    rows.done.push({ ...byWallet, answer: okay(await takes(wallet, [0n, 1000n], () => pay(byWallet))) });
    owed = await of(other, payer, 2);
    const boxer = find(/tollbox boxer|\bboxer$/);
    const lost = pay(owed, slow);
    await until("it runs", () => findSleep(stack.pid, 8.625));
    process.kill(boxer.pid, "SIGKILL");
    assert.match((await lost).json.error.message, /stays good/);
    await until("a new boxer", () => (find(/tollbox boxer|\bboxer$/)?.pid ?? boxer.pid) !== boxer.pid);
  });

  await test("behind another: version 1 has its answer, and a new payment is for what it was signed for", async () => {
    const [first] = await change("usdc other");
    assert.equal(first.asset, info.asset);
    for (const row of rows.done) {
      await had(row);
    }
    okay(await takes(payer, [0n, 1000n], async () => pay(await of(other, payer, 1))));
    okay(await takes(payer, [1000n, 0n], async () => pay(await of(usdc, payer, 1))));
  });

  await test("gone: a new payment in it is refused as ever", async () => {
    await change("usdc");
    refused(await free(payer, async () => pay(await of(other, payer, 2))), "PAYMENT_REQUIREMENTS_MISMATCH");
    refused(await free(payer, async () => pay(await of(other, payer, 1))), "PAYMENT_INVALID");
    refused(await free(payer, async () => pay(await of({ ...other, asset: "nonsense" }, payer, 2, { verifyingContract: OTHER }))), "PAYMENT_REQUIREMENTS_MISMATCH");
  });

  await test("gone: who knows payer and nonce from the chain gets nothing", async () => {
    for (const { payer: victim, version, payload, answer } of rows.done) {
      const { nonce } = payload.authorization;
      const sign = { from: victim.address, nonce };
      const forged = [await of(other, stranger, version, sign), await of(usdc, stranger, version, sign)];
      // What he signed for the other, said of this one.
      const { asset, extra } = other;
      forged.push(await of(usdc, stranger, 2, sign, { asset, extra }));
      for (const attempt of forged) {
        const got = await free(victim, () => pay(attempt));
        // In version 2 what is said to be for another asset is another payment.
        const another = attempt.version === 2 && attempt.accepted.asset === info.asset;
        refused(got, ...(another ? ["PAYMENT_INVALID"] : ["PAYMENT_REPLAYED", 409]));
        assert.ok(!got.text.includes(answer.json.payment.transaction));
      }
    }
  });

  await test("gone: the payer's signature for what is accepted is none for what is not", async () => {
    const [{ payload }] = rows.done;
    const { asset, extra } = other;
    const mixed = await of(usdc, payer, 2, { nonce: payload.authorization.nonce }, { asset, extra });
    refused(await free(payer, () => pay(mixed)), "PAYMENT_REPLAYED", 409);
  });

  await test("gone: the stored answer, and what is owed is run", async () => {
    for (const row of rows.done) {
      await had(row);
    }
    for (const row of rows.unknown) {
      const answer = okay(await free(payer, () => pay(row)));
      assert.equal(answer.json.payment.asset, OTHER);
      await had({ ...row, answer });
    }
    const answer = okay(await waking(stack.pid, 8.625, () => free(payer, () => pay(owed, slow))));
    assert.equal(answer.json.payment.asset, OTHER);
    refused(await free(payer, () => pay(rows.done[1], slow)), "PAYMENT_REPLAYED", 409);
  });

  await test("the whole network gone: the stored answer, and a new payment is no failure of ours", async () => {
    await change("sol");
    for (const row of rows.done) {
      await had(row);
    }
    for (const version of [2, 1]) {
      refused(await free(payer, async () => pay(await of(usdc, payer, version))), "PAYMENT_REQUIREMENTS_MISMATCH");
    }
  });

  send.close();
  assert.equal(await stack.stop(), 0);
  for (const part of [one, two, sol]) {
    await part.stop();
  }
}
