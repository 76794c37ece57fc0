// One request, one charge: Idempotency-Key, payment-identifier, and what is owed (api.md section 10).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isPaymentIdentifierExtension } from "../devnet/node_modules/@x402/extensions/dist/esm/payment-identifier/index.mjs";
import { payV1 } from "../clients/v1/client.mjs";
import { payV2 } from "../devnet/client.mjs";
import { findSleep, waking } from "../harness/stack.mjs";
import { payments } from "./tool.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const ONCE = { payer: -1000n, seller: 1000n };
const NOTHING = { payer: 0n, seller: 0n };
const BUSY_MS = 30_000;

const newKey = () => randomBytes(24).toString("base64url");
const newId = () => `pay_${randomBytes(16).toString("hex")}`;
// Every run prints something else, so that a second run could not go unnoticed; `seconds`: it takes that long.
const clock = (seconds = 0) =>
  JSON.stringify({ runtime: "python3", source: `import subprocess, time\nsubprocess.run(['sleep', '${seconds}'])\nprint(time.time_ns())` });

export default async function idempotency(test, world) {
  const { faults, info } = world;
  const withKey = (key, headers = {}) => ({ ...headers, "Idempotency-Key": key });
  const identified = (payer, id) => world.payment({ payer, extensions: { "payment-identifier": { info: { required: false, id } } } });

  function assertReplayed(answer, first) {
    assert.equal(answer.status, first.status, answer.text);
    assert.ok(answer.bytes.equals(first.bytes), "byte for byte");
    assert.equal(answer.headers["idempotency-replayed"], "true");
    for (const name of ["payment-response", "x-payment-response", "content-type"]) {
      assert.equal(answer.headers[name], first.headers[name], name);
    }
  }

  /** One run that was asked for with a key → {payer, key, body, headers, answer} */
  async function keyed({ body = clock(), version = 2, payer = world.nextPayer(), key = newKey() } = {}) {
    const headers = withKey(key, await world.payment({ payer, version }));
    const answer = await world.send({ body, headers });
    assertRun(answer, { world, body, payer, amount: "1000", version });
    assert.equal(answer.headers["idempotency-replayed"], undefined);
    return { payer, key, body, headers, answer };
  }
  const ask = (first, request) => world.free(first.payer, () => world.send({ body: first.body, ...request }));
  const programRuns = (seconds) => until("the program runs", () => findSleep(world.stack.pid, seconds));
  const awake = (seconds, work) => waking(world.stack.pid, seconds, work);

  // ---- the key

  for (const version of [2, 1]) {
    await test(`v${version}: the key alone gets the stored answer, before any 402`, async () => {
      const first = await keyed({ version });
      assertReplayed(await ask(first, { headers: withKey(first.key) }), first.answer);
      assertReplayed(await ask(first, { headers: withKey(first.key), path: "/execute?x=1" }), first.answer);
      assertReplayed(await ask(first, { headers: first.headers }), first.answer);
    });
  }

  let kept;
  await test("a new payment with the same key and body is not settled", async () => {
    kept = await keyed();
    for (const version of [2, 1]) {
      const headers = withKey(kept.key, await world.payment({ payer: kept.payer, version }));
      assertReplayed(await ask(kept, { headers }), kept.answer);
    }
  });

  await test("the same key with another body: 409 with a payment, 402 without", async () => {
    const headers = withKey(kept.key, await world.payment({ payer: kept.payer }));
    assertRefused(await ask(kept, { body: JSON.stringify(HELLO), headers }), "PAYMENT_REPLAYED", { message: /Idempotency-Key/ });
    assertRefused(await ask(kept, { body: "no JSON", headers }), "PAYMENT_REPLAYED");
    assert.equal((await ask(kept, { body: JSON.stringify(HELLO), headers: withKey(kept.key) })).status, 402);
  });

  await test("without a payment, another key, site or body is the ordinary 402", async () => {
    for (const request of [{ headers: withKey(newKey()) }, { headers: withKey(kept.key), base: world.siteUrls.twin }, { headers: withKey(kept.key), body: `${kept.body} ` }, {}]) {
      const answer = await ask(kept, request);
      assert.equal(answer.status, 402, answer.text);
      assert.equal(answer.json.details.code, null);
    }
  });

  await test("another payer's use of the key is unrelated", async () => {
    const payer = world.nextPayer();
    const answer = await world.send({ body: kept.body, headers: withKey(kept.key, await world.payment({ payer })) });
    assertRun(answer, { world, body: kept.body, payer, amount: "1000" });
    assert.notEqual(answer.json.stdout, kept.answer.json.stdout);
    assertReplayed(await ask(kept, { headers: withKey(kept.key) }), kept.answer);
  });

  await test("a run that was asked for with a key is replayed to nobody without it", async () => {
    const first = await keyed();
    const { "Idempotency-Key": key, ...payment } = first.headers;
    for (const headers of [payment, withKey(newKey(), payment), withKey(`${key}x`, payment)]) {
      const answer = await ask(first, { headers });
      assertRefused(answer, "PAYMENT_REPLAYED", { message: /Idempotency-Key/ });
      assert.ok(!answer.text.includes(first.answer.json.stdout.trim()));
    }
    assertReplayed(await ask(first, { headers: first.headers }), first.answer);
  });

  await test("a run that was asked for without a key is not bound to one", async () => {
    const first = await world.run(clock());
    const key = newKey();
    assertReplayed(await ask(first, { headers: withKey(key, first.header) }), first.answer);
    assert.equal((await ask(first, { headers: withKey(key) })).status, 402);
  });

  await test("32 to 128 characters; the key is in no log and not in the ledger", async () => {
    for (const key of ["x".repeat(31), "x".repeat(129), `${"x".repeat(31)} x`, ""]) {
      assertRefused(await world.free(kept.payer, () => world.send({ body: kept.body, headers: withKey(key) })), "SANDBOX_INVALID_REQUEST");
    }
    for (const key of [newKey().padEnd(128, "y"), newKey().slice(0, 32)]) {
      await keyed({ key });
    }
    const { log, ledger } = world.written();
    for (const text of [log, ledger]) {
      assert.ok(!text.includes(kept.key));
    }
    assert.ok(ledger.includes(kept.answer.json.payment.transaction), "the ledger was read");
  });

  await test("a key streams its answer too", async () => {
    const answer = await ask(kept, { headers: { ...withKey(kept.key), Accept: "application/x-ndjson" } });
    const events = answer.text.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(events.map(({ type }) => type), ["started", "result"]);
    assert.deepEqual(events[1].data, kept.answer.json);
  });

  // ---- clients that lose their answer

  for (const [version, pay, seconds] of [[2, payV2, 7.0625], [1, payV1, 7.3125]]) {
    await test(`the official v${version} client with a key loses its answer, asks anew at each retry and pays once`, async () => {
      const payer = world.nextPayer();
      const body = clock(seconds);
      const request = { url: `${world.stack.https}/execute`, key: payer.privateKey, ca: world.stack.ca, body, headers: withKey(newKey()) };
      const leave = new AbortController();
      const { result, ...moved } = await world.moved(payer, async () => {
        const lost = assert.rejects(pay({ ...request, fetchOptions: { signal: leave.signal } }), { name: "AbortError" });
        await Promise.all([programRuns(seconds).finally(() => leave.abort()), lost]);
        return awake(seconds, async () => [await pay(request), await pay(request)]);
      });
      assert.deepEqual(moved, ONCE);
      assert.equal(result[0].status, 200, result[0].text);
      assert.equal(result[0].text, result[1].text);
    });
  }

  await test("a naive client that loses its answer and signs anew pays once", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock(7.125)];
    const attempt = async (more) => world.send({ body, headers: withKey(key, await world.payment({ payer })), ...more });
    const { result, ...moved } = await world.moved(payer, async () => {
      const leave = new AbortController();
      const lost = assert.rejects(attempt({ signal: leave.signal }), { name: "AbortError" });
      await Promise.all([programRuns(7.125).finally(() => leave.abort()), lost]);
      return awake(7.125, async () => [await attempt(), await attempt()]);
    });
    assert.deepEqual(moved, ONCE);
    assertRun(result[0], { world, body, payer, amount: "1000" });
    assert.ok(result[0].bytes.equals(result[1].bytes));
  });

  await test("while it runs, the key alone waits for the answer", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock(7.25)];
    const headers = withKey(key, await world.payment({ payer }));
    const { result, ...moved } = await world.moved(payer, async () => {
      const running = world.send({ body, headers });
      await programRuns(7.25);
      const waiting = world.send({ body, headers: withKey(key) });
      await sleep(500); // it may come in by then
      return awake(7.25, async () => [await waiting, await running]);
    });
    assert.deepEqual(moved, ONCE);
    assertReplayed(result[0], result[1]);
  });

  // ---- at once

  const bases = () => [world.stack.https, world.stack.http];

  await test("one payment sent 50 times at once, over TLS and without: 1 settlement, 1 run, 50 equal answers", async () => {
    const payer = world.nextPayer();
    const body = clock(0.75);
    const headers = await world.payment({ payer });
    const settles = faults.stats().settle.calls;
    const { result, ...moved } = await world.moved(payer, () =>
      Promise.all(Array.from({ length: 50 }, (_, index) => world.send({ base: bases()[index % 2], body, headers }))));
    assert.deepEqual(moved, ONCE);
    assert.equal(faults.stats().settle.calls - settles, 1);
    assert.deepEqual(result.map(({ status }) => status), Array(50).fill(200));
    assertRun(result[0], { world, body, payer, amount: "1000" });
    assert.ok(result.every(({ bytes }) => bytes.equals(result[0].bytes)));
    assert.equal(result.filter(({ headers: { "idempotency-replayed": replayed } }) => replayed === undefined).length, 1);
  });

  await test("50 different payments with one key at once: 1 settlement, 1 run, 50 equal answers", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock(0.5)];
    const each = await Promise.all(Array.from({ length: 50 }, () => world.payment({ payer })));
    const settles = faults.stats().settle.calls;
    const { result, ...moved } = await world.moved(payer, () =>
      Promise.all(each.map((payment, index) => world.send({ base: bases()[index % 2], body, headers: withKey(key, payment) }))));
    assert.deepEqual(moved, ONCE);
    assert.equal(faults.stats().settle.calls - settles, 1);
    assert.ok(result.every(({ status, bytes }) => status === 200 && bytes.equals(result[0].bytes)));
  });

  await test("one payment at two sites at once: one sells, the other says 409", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { result, ...moved } = await world.moved(payer, () =>
      Promise.all(Array.from({ length: 20 }, (_, index) => world.send({ base: [world.stack.https, world.siteUrls.twin][index % 2], body: clock(0.25), headers }))));
    assert.deepEqual(moved, ONCE);
    const statuses = [0, 1].map((site) => [...new Set(result.filter((_, index) => index % 2 === site).map(({ status }) => status))]);
    assert.deepEqual(statuses.flat().sort(), [200, 409]);
  });

  // ---- settlements that fail, or whose end is not known

  await test("refused, then funded: a new payment takes the key over, the old one is not settled any more", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock()];
    const [old, fresh] = [withKey(key, await world.payment({ payer })), withKey(key, await world.payment({ payer }))];
    const { result, ...moved } = await world.moved(payer, async () => {
      faults.set({ settle: { mode: "refuse", times: 1 } });
      assertRefused(await world.send({ body, headers: old }), "PAYMENT_SETTLEMENT_FAILED");
      assert.equal((await world.send({ body, headers: withKey(key) })).status, 402);
      assertRefused(await world.send({ body: JSON.stringify(HELLO), headers: fresh }), "PAYMENT_REPLAYED");
      const answer = await world.send({ body, headers: fresh });
      return [answer, await world.send({ body, headers: old })];
    });
    assert.deepEqual(moved, ONCE);
    assertRun(result[0], { world, body, payer, amount: "1000" });
    assertReplayed(result[1], result[0]);
  });

  await test("not known: the key settles the first payment again, and never the second", async () => {
    for (const more of [async () => ({}), (payer) => world.payment({ payer })]) {
      const payer = world.nextPayer();
      const [key, body] = [newKey(), clock()];
      const { result, ...moved } = await world.moved(payer, async () => {
        faults.set({ settle: { mode: "reset-before", times: 1 } });
        assertRefused(await world.send({ body, headers: withKey(key, await world.payment({ payer })) }), "PAYMENT_SETTLEMENT_INDETERMINATE");
        faults.reset();
        const answer = await world.send({ body, headers: withKey(key, await more(payer)) });
        assert.equal(faults.stats().settle.distinct, 1);
        return answer;
      });
      assert.deepEqual(moved, ONCE);
      assertRun(result, { world, body, payer, amount: "1000" });
    }
  });

  await test("the answer was lost after the money moved: the key never leads to a second charge", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock()];
    const { result, ...moved } = await world.moved(payer, async () => {
      faults.set({ settle: { mode: "reset-after", times: 1 } });
      assertRefused(await world.send({ body, headers: withKey(key, await world.payment({ payer })) }), "PAYMENT_SETTLEMENT_INDETERMINATE");
      return [await world.send({ body, headers: withKey(key) }), await world.send({ body, headers: withKey(key, await world.payment({ payer })) })];
    });
    assert.deepEqual(moved, ONCE);
    for (const answer of result) {
      assert.ok(answer.status === 200 || answer.status === 503, answer.text);
    }
  });

  // ---- payment-identifier

  await test("payment-identifier is offered as the released package wants it", async () => {
    const { required } = await world.send({ body: {} });
    assert.ok(isPaymentIdentifierExtension(required.extensions["payment-identifier"]));
    assert.equal(required.extensions["payment-identifier"].info.required, false);
  });

  await test("an id with its own payment is the stored answer, with another payment of the payer 409", async () => {
    const payer = world.nextPayer();
    const [id, body] = [newId(), clock()];
    const headers = await identified(payer, id);
    const first = { payer, body, answer: await world.send({ body, headers }) };
    assertRun(first.answer, { world, body, payer, amount: "1000" });
    assertReplayed(await ask(first, { headers }), first.answer);
    assertRefused(await ask(first, { headers: await identified(payer, id) }), "PAYMENT_REPLAYED", { message: /payment-identifier/ });
    assertRefused(await ask(first, { body: JSON.stringify(HELLO), headers: await identified(payer, id) }), "PAYMENT_REPLAYED");
    assertRefused(await ask(first, { body: JSON.stringify(HELLO), headers }), "PAYMENT_REPLAYED");
    const other = world.nextPayer();
    assertRun(await world.send({ body, headers: await identified(other, id) }), { world, body, payer: other, amount: "1000" });
  });

  await test("the released client with the extension pays once for one id", async () => {
    const payer = world.nextPayer();
    const request = { url: `${world.stack.https}/execute`, key: payer.privateKey, ca: world.stack.ca, body: clock(), paymentId: newId() };
    const { result, ...moved } = await world.moved(payer, async () => [await payV2(request), await payV2(request)]);
    assert.deepEqual(moved, ONCE);
    assert.deepEqual(result.map(({ status }) => status), [200, 409]);
  });

  await test("one id with 10 payments at once: one charge", async () => {
    const payer = world.nextPayer();
    const [id, body] = [newId(), clock(0.25)];
    const each = await Promise.all(Array.from({ length: 10 }, () => identified(payer, id)));
    const { result, ...moved } = await world.moved(payer, () => Promise.all(each.map((headers) => world.send({ body, headers }))));
    assert.deepEqual(moved, ONCE);
    assert.deepEqual(result.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)]);
  });

  await test("a malformed id is 400", async () => {
    for (const id of ["short", "x".repeat(129), "with blanks in it!", 7]) {
      const payer = world.nextPayer();
      assertRefused(await ask({ payer, body: clock() }, { headers: await identified(payer, id) }), "PAYMENT_MALFORMED");
    }
  });

  await test("a claim that was released frees its key and its id", async () => {
    const payer = world.nextPayer();
    const [key, id, body] = [newKey(), newId(), clock()];
    const { boxer } = world.processes();
    process.kill(boxer.pid, "SIGSTOP");
    try {
      const answer = await ask({ payer, body }, { headers: withKey(key, await identified(payer, id)) });
      assert.equal(answer.status, 503, answer.text);
    } finally {
      process.kill(boxer.pid, "SIGCONT");
    }
    assert.equal((await ask({ payer, body }, { headers: withKey(key) })).status, 402);
    const other = JSON.stringify(HELLO);
    const answer = await until("a free slot", async () => {
      const got = await world.send({ body: other, headers: withKey(key, await identified(payer, id)) });
      return got.status !== 503 && got;
    }, { withinMs: BUSY_MS });
    assertRun(answer, { world, body: other, payer, amount: "1000" });
  });

  // ---- settled but not run

  const boxerBack = (pid) => until("a new boxer", async () => world.processes().boxer && world.processes().boxer.pid !== pid && world.health());

  /** The boxer dies while the program of this request runs. */
  async function lostRun(request, seconds) {
    const { boxer } = world.processes();
    const answer = world.send(request);
    await programRuns(seconds);
    process.kill(boxer.pid, "SIGKILL");
    const got = await answer;
    await boxerBack(boxer.pid);
    return got;
  }

  await test("a run that was lost is owed: to the key alone, to the id's payment, once each", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock(7.5)];
    const headers = withKey(key, await world.payment({ payer }));
    const { result, ...moved } = await world.moved(payer, async () => {
      const lost = await lostRun({ body, headers }, 7.5);
      assert.ok(lost.status === 503 || lost.status === 500, lost.text);
      const { "Idempotency-Key": _, ...payment } = headers;
      assertRefused(await world.send({ body, headers: payment }), "PAYMENT_REPLAYED");
      assertRefused(await world.send({ body: JSON.stringify(HELLO), headers }), "PAYMENT_REPLAYED");
      const answer = await awake(7.5, () => world.send({ body, headers: withKey(key) }));
      return [answer, await world.send({ body, headers: withKey(key, await world.payment({ payer })) })];
    });
    assert.deepEqual(moved, ONCE);
    assertRun(result[0], { world, body, payer, amount: "1000" });
    assertReplayed(result[1], result[0]);
  });

  await test("after three starts a stored 500, the same for key and payment, and the operator sees whom to refund", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock(7.75)];
    const headers = withKey(key, await identified(payer, newId()));
    const { result, ...moved } = await world.moved(payer, async () => {
      for (const request of [{ body, headers }, { body, headers: withKey(key) }]) {
        const lost = await lostRun(request, 7.75);
        assert.ok(lost.status === 503 || lost.status === 500, lost.text);
        assert.match(lost.json.error.message, /stays good/);
      }
      const last = await lostRun({ body, headers }, 7.75);
      return [last, await world.send({ body, headers }), await world.send({ body, headers: withKey(key) })];
    });
    assert.deepEqual(moved, ONCE);
    const [last, ...again] = result;
    assertRefused(last, "SANDBOX_SETUP_FAILED", { message: /refund/ });
    assert.equal(last.response.success, true);
    for (const answer of again) {
      assertReplayed(answer, last);
    }
    const line = (await payments(world, "owed")).find((row) => row.includes(payer.address) && row.includes(last.response.transaction));
    assert.ok(line?.includes(info.payTo), "identity, payer, recipient and transaction are listed");
  }, { timeoutMs: 180_000 });

  await test("the gate dies in the middle: the key gets its run after the restart, uncharged", async () => {
    const payer = world.nextPayer();
    const [key, body] = [newKey(), clock(7.625)];
    const headers = withKey(key, await world.payment({ payer }));
    const { result, ...moved } = await world.moved(payer, async () => {
      const { gate } = world.processes();
      const answer = world.send({ body, headers }).catch(() => null);
      await programRuns(7.625);
      process.kill(gate.pid, "SIGKILL");
      assert.notEqual((await answer)?.status, 200);
      await until("a new gate", async () => world.processes().gate && world.processes().gate.pid !== gate.pid && world.health());
      return awake(7.625, () => world.send({ body, headers: withKey(key) }));
    });
    assert.deepEqual(moved, ONCE);
    assertRun(result, { world, body, payer, amount: "1000" });
  });

  await test("after a restart keys and ids are known", async () => {
    const payer = world.nextPayer();
    const [id, body] = [newId(), clock()];
    const first = await world.send({ body, headers: await identified(payer, id) });
    assert.equal(first.status, 200, first.text);
    await world.restart();
    assertReplayed(await ask(kept, { headers: withKey(kept.key) }), kept.answer);
    assertRefused(await ask({ payer, body }, { headers: await identified(payer, id) }), "PAYMENT_REPLAYED");
    assert.deepEqual((await world.moved(payer, async () => {})).payer, NOTHING.payer);
  });
}
