// The same payment again: the same answer, one charge, and nothing for anybody else (api.md section 10).
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeHeader, encodeHeader, highS, rebuilt, signV2 } from "../devnet/client.mjs";
import { rpc } from "../devnet/rpc.mjs";
import { findSleep, waking } from "../harness/stack.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const CLOCK = { runtime: "python3", source: "import time\nprint(time.time_ns())" };

export default async function replay(test, world) {
  function assertReplayed(answer, first) {
    assert.equal(answer.status, first.answer.status, answer.text);
    assert.ok(answer.bytes.equals(first.answer.bytes), "byte for byte");
    assert.equal(answer.headers["idempotency-replayed"], "true");
    for (const name of ["payment-response", "x-payment-response", "content-type"]) {
      assert.equal(answer.headers[name], first.answer.headers[name], name);
    }
  }
  const again = (first, more) => world.free(first.payer, () => world.send({ body: first.body, headers: first.header, ...more }));
  const other = (first, body) => world.free(first.payer, () => world.send({ body, headers: first.header }));

  let kept;
  for (const version of [2, 1]) {
    await test(`v${version}: the same payment and body get the stored answer`, async () => {
      kept = await world.run(CLOCK, { version });
      assert.equal(kept.answer.headers["idempotency-replayed"], undefined);
      assertReplayed(await again(kept), kept);
      assertReplayed(await again(kept, { path: "/execute?utm_source=x" }), kept);
    });
  }

  await test("an answer that is an error is stored too", async () => {
    const first = await world.run({ runtime: "python3", source: "raise SystemExit(3)" });
    assertReplayed(await again(first), first);
  });

  await test("big answers are stored whole", async () => {
    const first = await world.run({ runtime: "python3", source: "print('\\x01' * 1000000)" });
    assertReplayed(await again(first), first);
  });

  await test("what was signed, in a header built anew, is the same payment", async () => {
    assertReplayed(await again(kept, { headers: rebuilt(kept.header) }), kept);
  });

  await test("the v1 spelling of a v2 payment is the same payment", async () => {
    const first = await world.run(CLOCK);
    const { payload } = decodeHeader(Object.values(first.header)[0]);
    const headers = { "X-PAYMENT": encodeHeader({ x402Version: 1, scheme: "exact", network: world.info.networkV1, payload }) };
    const answer = await world.free(first.payer, () => world.send({ body: first.body, headers }));
    assert.equal(answer.json?.stdout, first.stdout);
    assertRefused(await world.free(first.payer, () => world.send({ body: HELLO, headers })), "PAYMENT_REPLAYED");
  });

  const variants = [
    ["another program", JSON.stringify(HELLO)],
    ["the same program with a blank more", `${JSON.stringify(CLOCK)} `],
    ["a body that is no JSON", "x"],
    ["no body", ""],
    ["a body of another price", JSON.stringify({ ...CLOCK, limits: { timeoutMs: 60001 } })],
  ];
  for (const [name, body] of variants) {
    await test(`the same payment for ${name}: 409`, async () => {
      assertRefused(await other(kept, body), "PAYMENT_REPLAYED");
    });
  }

  await test("an altered or forged signature does not open the answer", async () => {
    const first = await world.run(CLOCK);
    const payment = decodeHeader(Object.values(first.header)[0]);
    const spoil = async (change) => {
      const headers = { "PAYMENT-SIGNATURE": encodeHeader({ ...payment, payload: { ...payment.payload, signature: await change(payment.payload.signature) } }) };
      return world.free(first.payer, () => world.send({ body: first.body, headers }));
    };
    const thief = world.nextPayer();
    const { nonce } = payment.payload.authorization;
    const forged = await signV2(await world.requirement(), thief.privateKey, { from: first.payer.address, nonce });
    const rows = [
      [highS, ["PAYMENT_INVALID"]],
      // Whether a key fits is chance; a signature that may be a wallet's is not told to sign again, since this one has paid.
      [(signature) => `${signature.slice(0, 20)}0000${signature.slice(24)}`, ["PAYMENT_INVALID", "PAYMENT_REPLAYED"]],
      [(signature) => signature + "00".repeat(64), ["PAYMENT_REPLAYED"]],
      [() => forged.signature, ["PAYMENT_REPLAYED"]],
    ];
    for (const [change, codes] of rows) {
      const answer = await spoil(change);
      const { code } = answer.json.details ?? answer.json.error;
      assert.ok(codes.includes(code), answer.text);
      assertRefused(answer, code);
      assert.ok(!answer.text.includes(first.stdout.trim()));
    }
  });

  await test("the same nonce signed for another amount is the same payment, and no second charge", async () => {
    const first = await world.run(CLOCK);
    const { nonce } = decodeHeader(Object.values(first.header)[0]).payload.authorization;
    const body = JSON.stringify({ ...CLOCK, limits: { timeoutMs: 60001 } });
    const headers = await world.payment({ payer: first.payer, amount: "20000", sign: { nonce } });
    assertRefused(await world.free(first.payer, () => world.send({ body, headers })), "PAYMENT_REPLAYED");
  });

  await test("the same nonce of another payer is another payment", async () => {
    const first = await world.run(CLOCK);
    const { nonce } = decodeHeader(Object.values(first.header)[0]).payload.authorization;
    const payer = world.nextPayer();
    const answer = await world.send({ body: first.body, headers: await world.payment({ payer, sign: { nonce } }) });
    assertRun(answer, { world, body: first.body, payer, amount: "1000" });
    assert.notEqual(answer.json.stdout, first.stdout);
  });

  await test("a nonce that was used elsewhere buys nothing", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const paymentPayload = decodeHeader(headers["PAYMENT-SIGNATURE"]);
    const settled = await fetch(`${world.info.facilitatorUrl}/settle`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: await world.requirement() }),
    });
    assert.equal((await settled.json()).success, true);
    // A claim in the same second might have been the first. The local chain's clock runs ahead while blocks come fast, and the
    // service reads whole seconds of a clock that may be some milliseconds late.
    const { timestamp } = await rpc(world.info.rpcUrl, "eth_getBlockByNumber", ["latest", false]);
    await until("the block is in the past", () => Date.now() >= (Number(timestamp) + 1) * 1000 + 200);
    // A minute makes it sure. All but the newest blocks are two minutes older.
    const head = BigInt(await rpc(world.info.rpcUrl, "eth_blockNumber"));
    world.rpcFaults.set({
      eth_getBlockByNumber: (block, [wanted]) =>
        wanted === "latest" || BigInt(wanted) > head ? block : { ...block, timestamp: `0x${(BigInt(block.timestamp) - 120n).toString(16)}` },
    });
    try {
      const { result, ...moved } = await world.moved(payer, () => world.send({ body: CLOCK, headers }));
      assert.deepEqual(moved, { payer: 0n, seller: 0n });
      assertRefused(result, "PAYMENT_REPLAYED");
    } finally {
      world.rpcFaults.set(null);
    }
    const { stdout } = await world.tollbox("payments");
    const { nonce } = paymentPayload.payload.authorization;
    assert.equal(stdout.split("\n").find((line) => line.includes(nonce))?.split("  ")[4], "failed");
  });

  // Above some number of waiting twins the service may say busy; those who come again get the same answer.
  async function patient(body, headers) {
    return until("an answer that is not busy", async () => {
      const answer = await world.send({ body, headers });
      if (answer.status === 503) {
        assertRefused(answer, "SERVICE_BUSY");
        return null;
      }
      return answer;
    }, { withinMs: 60_000, everyMs: 200 });
  }

  await test("one payment 20 times at once: one charge, one run, equal answers", async () => {
    const payer = world.nextPayer();
    const body = JSON.stringify({ runtime: "python3", source: "import time\ntime.sleep(0.5)\nprint(time.time_ns())" });
    const headers = await world.payment({ payer });
    const settles = world.faults.stats().settle.calls;
    const { result, ...moved } = await world.moved(payer, () => Promise.all(Array.from({ length: 20 }, () => patient(body, headers))));
    assert.deepEqual(moved, { payer: -1000n, seller: 1000n });
    assert.equal(world.faults.stats().settle.calls - settles, 1);
    assertRun(result[0], { world, body, payer, amount: "1000" });
    assert.ok(result.every(({ bytes }) => bytes.equals(result[0].bytes)));
    assert.equal(result.filter(({ headers: { "idempotency-replayed": replayed } }) => replayed === undefined).length, 1);
  });

  await test("one payment for 8 programs at once: one of them runs", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { result, ...moved } = await world.moved(payer, () =>
      Promise.all(Array.from({ length: 8 }, (_, index) => world.send({ body: { ...CLOCK, stdin: String(index) }, headers }))));
    assert.deepEqual(moved, { payer: -1000n, seller: 1000n });
    const statuses = result.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
  });

  await test("a client that goes away gets its answer later, of the run that it left", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const body = JSON.stringify({ runtime: "python3", source: "import subprocess, time\nbegin = time.time()\nsubprocess.run(['sleep', '7.6875'])\nprint(begin)" });
    const { result, ...moved } = await world.moved(payer, async () => {
      const leave = new AbortController();
      const running = until("the program runs", () => findSleep(world.stack.pid, 7.6875), { everyMs: 10 });
      const lost = assert.rejects(world.send({ body, headers, signal: leave.signal }), { name: "AbortError" });
      await Promise.all([running.finally(() => leave.abort()), lost]);
      const leftAt = Date.now() / 1000;
      return { leftAt, answer: await waking(world.stack.pid, 7.6875, () => world.send({ body, headers })) };
    });
    assertRun(result.answer, { world, body, payer, amount: "1000" });
    assert.ok(Number(result.answer.json.stdout) < result.leftAt, "it was not run anew");
    assert.deepEqual(moved, { payer: -1000n, seller: 1000n });
  });

  await test("a running program gets its time at SIGTERM, then all ends with 0", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const body = JSON.stringify({ runtime: "python3", source: "import subprocess\nsubprocess.run(['sleep', '7.8125'])\nprint('drained')" });
    const running = world.send({ body, headers });
    await until("the program runs", () => findSleep(world.stack.pid, 7.8125));
    const stopped = world.stack.stop();
    await sleep(1000); // what would not give it time has ended it by then
    const answer = await waking(world.stack.pid, 7.8125, () => running);
    assertRun(answer, { world, body, payer, amount: "1000" });
    assert.equal(answer.json.stdout, "drained\n");
    assert.equal(await stopped, 0);
    await world.start();
  });

  await test("after a restart the stored answer is there", async () => {
    assertReplayed(await again(kept), kept);
  });
  await test("after a restart the payment is still used up", async () => {
    assertRefused(await other(kept, JSON.stringify(HELLO)), "PAYMENT_REPLAYED");
  });
}
