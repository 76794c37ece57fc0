// Attacks on the payment path: who has no money, or a tenth of a cent, must not stop the service for others, and nobody who
// paid is told that he did not. A stack of its own behind a proxy that it trusts, so that clients have addresses.
import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeFunctionData, parseAbi, toHex } from "../devnet/node_modules/viem/_esm/index.js";
import { generatePrivateKey } from "../devnet/node_modules/viem/_esm/accounts/index.js";
import { encodeV2, signV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { rpc } from "../devnet/rpc.mjs";
import { startStack } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { assertRefused } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";
const ABI = parseAbi([
  "function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
  "function aggregate3((address target, bool allowFailure, bytes callData)[] calls)",
]);
const ATTACKER = "203.0.113.1";
const VICTIM = "198.51.100.1";
// The end of ERC-6492 behind no ABI encoding: the released facilitator packages throw at it, which servers make a 500 of.
const POISON = `0x${"11".repeat(96)}${"6492".repeat(16)}`;
const body = JSON.stringify(HELLO);

export default async function attack(test, world) {
  const { info } = world;
  const faults = await startFaults({ upstream: info.facilitatorUrl });
  const stacks = [];

  async function start(name, { service = "", more = "", facilitator = faults.url } = {}) {
    const file = join(world.folder, `${name}.ini`);
    writeFileSync(file, `[service]\ntrusted_proxies = 127.0.0.1\n${service}${more}`);
    const stderr = openSync(join(world.folder, `${name}.log`), "w");
    const stack = await startStack({
      env: { ...siteSettings(info), TOLLBOX_FACILITATOR_URL: facilitator, TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_TEST_CONF: file },
      stderr,
    });
    closeSync(stderr);
    const sender = createSender(stack.https, stack.ca);
    stacks.push({ stack, sender });
    const send = ({ headers = {}, ...request }, from) => sender({ ...request, headers: { ...headers, ...(from ? { "X-Forwarded-For": from } : {}) } });
    return Object.assign(send, { raw: sender, stack });
  }

  const requirement = await world.requirement();
  const sign = async (key, { amount = "1000", ...overrides } = {}) => {
    const requirements = { ...requirement, amount };
    return encodeV2({ requirements, payload: await signV2(requirements, key, overrides) });
  };
  const unfunded = (more) => sign(generatePrivateKey(), more);
  const words = (answer) => `${answer.status} ${answer.json?.error?.message ?? answer.json?.details?.message ?? ""}`;
  const honest = async (send) => send({ body, headers: await sign(world.nextPayer().privateKey) }, VICTIM);

  /** Anybody may hand in what others signed, several at a time. */
  async function submit(payloads) {
    const calls = payloads.map(({ authorization: a, signature }) => ({
      target: info.asset,
      allowFailure: false,
      callData: encodeFunctionData({ abi: ABI, functionName: "transferWithAuthorization", args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, signature] }),
    }));
    const from = "0x00000000000000000000000000000000000B0b00";
    await rpc(info.rpcUrl, "anvil_setBalance", [from, toHex(10n ** 18n)]);
    await rpc(info.rpcUrl, "anvil_impersonateAccount", [from]);
    const hash = await rpc(info.rpcUrl, "eth_sendTransaction", [{ from, to: MULTICALL3, data: encodeFunctionData({ abi: ABI, functionName: "aggregate3", args: [calls] }) }]);
    await rpc(info.rpcUrl, "evm_mine");
    assert.equal((await rpc(info.rpcUrl, "eth_getTransactionReceipt", [hash])).status, "0x1");
  }

  const send = await start("attack");

  await test("a definite refusal stays one when the same payment is sent again", async () => {
    const headers = await unfunded();
    for (let time = 0; time < 3; time += 1) {
      assertRefused(await send({ body, headers }, ATTACKER), "PAYMENT_SETTLEMENT_FAILED");
    }
  });

  await test("a payment that a facilitator chokes on takes it from nobody else", async () => {
    for (let time = 0; time < 8; time += 1) {
      await send({ body, headers: await unfunded({ spoil: () => POISON }) }, ATTACKER);
    }
    const answer = await honest(send);
    assert.equal(answer.status, 200, words(answer));
  });
  await until("the facilitator is back", async () => (await honest(send)).status === 200);

  // ---- what strangers can do with a signature that they have seen

  const slow = await startSlow(faults.url);
  const chained = await start("attack-chain", { facilitator: slow.url, more: `[chain:default]\nrpc_url = ${info.rpcUrl}\nconfirmations = 1\n` });
  const payment = async () => {
    const payer = world.nextPayer();
    const payload = await signV2(requirement, payer.privateKey);
    return { payer, payload, headers: encodeV2({ requirements: requirement, payload }) };
  };

  await test("handed in by a stranger between claim and settle: paid, and served", async () => {
    const { payload, headers } = await payment();
    const release = slow.hold();
    const asked = chained({ body, headers });
    await until("it is being settled", slow.holds);
    await sleep(1100); // the block is later than the claim, whose time is in seconds
    await submit([payload]);
    release();
    const answer = await asked;
    assert.ok(answer.status === 200 || answer.status === 503, `${words(answer)}: the payer may take this for final`);
    const retry = await chained({ body, headers });
    assert.equal(retry.status, 200, words(retry));
  });


  for (const { stack, sender } of stacks) {
    sender.close();
    await stack.stop();
  }
  slow.stop();
  await faults.stop();
}

/** A way to the facilitator on which calls of settle can be held up. */
async function startSlow(upstream) {
  let free = Promise.resolve();
  let held = 0;
  const server = createServer(async (request, response) => {
    const sent = await buffer(request);
    if (request.url === "/settle") {
      held += 1;
      await free;
      held -= 1;
    }
    try {
      const answer = await fetch(upstream + request.url, { method: request.method, headers: { "content-type": "application/json" }, ...(sent.length > 0 && { body: sent }) });
      response.writeHead(answer.status, { "content-type": "application/json" }).end(Buffer.from(await answer.arrayBuffer()));
    } catch {
      response.destroy();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    hold() {
      let release;
      free = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    holds: () => held > 0,
    stop: () => server.close(),
  };
}
