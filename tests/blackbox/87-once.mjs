// Paying exactly once (api.md section 10): what the files before this one leave open. tests/contract.md says which sentence is
// shown where.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { decodeHeader, encodeHeader, encodeV2, nowSeconds, signV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { descendants, findSleep, startStack, waking } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { payments } from "./tool.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const ONCE = { payer: -1000n, seller: 1000n };
const DAY = 86400;
const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
const PERMIT2_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
const body = JSON.stringify(HELLO);
const other = JSON.stringify({ ...HELLO, stdin: "another" });
// Every run prints something else; `seconds`: it takes that long.
const clock = (seconds = 0, limits = {}) =>
  JSON.stringify({ runtime: "python3", source: `import subprocess, time\nsubprocess.run(['sleep', '${seconds}'])\nprint(time.time_ns())`, limits });

const upper = (hex) => `0x${hex.slice(2).toUpperCase()}`;
const lower = (hex) => hex.toLowerCase();

export default async function once(test, world) {
  const { faults, info } = world;
  const kept = (answer, first) => {
    assert.equal(answer.status, first.status, answer.text);
    assert.ok(answer.bytes.equals(first.bytes), "byte for byte");
    assert.equal(answer.headers["idempotency-replayed"], "true");
  };
  /** What is refused costs nothing. */
  const refuses = async (payer, headers, code, more = {}) => {
    const { requestBody = body, ...rest } = more;
    assertRefused(await world.free(payer, () => world.send({ body: requestBody, headers })), code, rest);
  };
  const altered = (headers, change) => {
    const payment = decodeHeader(headers["PAYMENT-SIGNATURE"]);
    change(payment, payment.payload.authorization);
    return { "PAYMENT-SIGNATURE": encodeHeader(payment) };
  };

  // ---- what a payment is known by

  await test("no letter case of payer, recipient or nonce makes another payment of it", async () => {
    const first = await world.run(clock());
    const spellings = [["from", upper], ["from", lower], ["to", upper], ["to", lower], ["nonce", upper]];
    for (const [member, spell] of spellings) {
      const headers = altered(first.header, (payment, authorization) => {
        authorization[member] = spell(authorization[member]);
      });
      assert.notDeepEqual(headers, first.header);
      kept(await world.free(first.payer, () => world.send({ body: first.body, headers })), first.answer);
      await refuses(first.payer, headers, "PAYMENT_REPLAYED");
    }
  });

  await test("amounts are whole numbers of any size, and spelled in one way", async () => {
    for (const amount of [2n ** 32n + 1000n, 2n ** 64n + 1000n, 10n ** 77n, 2n ** 256n - 1n]) {
      const payer = world.nextPayer();
      await refuses(payer, await world.payment({ payer, amount: String(amount) }), "PAYMENT_REQUIREMENTS_MISMATCH", { message: new RegExp(`amount is ${amount}, above`) });
      await refuses(payer, await world.payment({ payer, sign: { value: amount } }), "PAYMENT_REQUIREMENTS_MISMATCH", { message: new RegExp(`value is ${amount}, above`) });
    }
    for (const text of ["01000", "1000.0", "1e3", "+1000", " 1000", "1,000", "0x3e8", "1000".padStart(79, "0"), String(2n ** 256n)]) {
      const payer = world.nextPayer();
      const headers = await world.payment({ payer });
      for (const member of ["value", "validAfter", "validBefore"]) {
        const spelled = altered(headers, (payment, authorization) => {
          authorization[member] = text;
        });
        await refuses(payer, spelled, "PAYMENT_MALFORMED", { message: new RegExp(member) });
      }
      await refuses(payer, await world.payment({ payer, accepted: { amount: text } }), "PAYMENT_MALFORMED", { message: /accepted\.amount/ });
    }
  });

  await test("a day ahead is as long as an authorization may be good, and clocks that differ are told both times", async () => {
    const payer = world.nextPayer();
    const now = nowSeconds();
    const window = (sign) => world.payment({ payer, sign });
    await refuses(payer, await window({ validBefore: now + DAY + 60 }), "PAYMENT_INVALID", { message: new RegExp(`validBefore is ${now + DAY + 60}, more than ${DAY} seconds after \\d{10}`) });
    await refuses(payer, await window({ validAfter: now + 30 }), "PAYMENT_INVALID", { message: new RegExp(`validAfter is ${now + 30}, but it is only \\d{10}`) });
    for (const sign of [{ validBefore: now + DAY - 60 }, { validAfter: now - 5 }, { validAfter: now - 600 }]) {
      assertRun(await world.send({ body, headers: await window(sign) }), { world, body, payer, amount: "1000" });
    }
  });

  await test("a Permit2 payload is not offered, alone or beside an authorization", async () => {
    const payer = world.nextPayer();
    const requirements = await world.requirement();
    const payload = await signV2(requirements, payer.privateKey);
    const permit2Authorization = {
      from: payer.address,
      permitted: { token: requirements.asset, amount: "1000" },
      spender: PERMIT2_PROXY,
      nonce: "1",
      deadline: String(nowSeconds() + 300),
      witness: { to: requirements.payTo, validAfter: "0" },
    };
    for (const more of [{ signature: payload.signature, permit2Authorization }, { ...payload, permit2Authorization }]) {
      await refuses(payer, encodeV2({ requirements, payload: more }), "PAYMENT_REQUIREMENTS_MISMATCH", { message: /EIP-3009/ });
    }
  });

  // ---- claims

  await test("a forged payment claims nothing: the true one with its nonce buys what it wants", async () => {
    const [robber, payer] = [world.nextPayer(), world.nextPayer()];
    const headers = await world.payment({ payer });
    const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
    const forged = await world.payment({ payer: robber, sign: { from: payer.address, nonce } });
    await refuses(payer, forged, "PAYMENT_INVALID", { requestBody: other });
    assertRun(await world.send({ body, headers }), { world, body, payer, amount: "1000" });
  });

  await test("what is being settled is on record as such, and claimed no sooner than it is checked", async () => {
    const payer = world.nextPayer();
    const listed = async (state) => (await payments(world, state)).filter((line) => line.includes(payer.address));
    const before = await listed(); // payers take turns: this one may have bought something before
    const done = await listed("done");
    const headers = await world.payment({ payer, sign: { spoil: (signature) => `${signature}00` } });
    const checked = faults.hold({ verify: "none" });
    const checking = world.send({ body, headers });
    await until("verify is asked", () => faults.stats().verify.active === 1, { everyMs: 5 });
    assert.equal((await listed()).length, before.length, "nothing is claimed while the signature is in doubt");
    checked();
    assertRefused(await checking, "PAYMENT_INVALID");
    faults.reset();
    const settled = faults.hold({ settle: "none" });
    const settling = world.send({ body, headers: await world.payment({ payer }) });
    await until("settle is asked", () => faults.stats().settle.active === 1, { everyMs: 5 });
    assert.equal((await listed("settling")).length, 1);
    settled();
    assert.equal((await settling).status, 200);
    assert.equal((await listed("done")).length, done.length + 1);
    faults.reset();
  });

  // ---- settlement

  await test("a no that names a transaction is not known, and one charge whatever comes", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const transaction = `0x${randomBytes(32).toString("hex")}`;
    const said = { success: false, errorReason: "insufficient_funds", transaction, network: info.network, payer: payer.address };
    const { result, ...moved } = await world.moved(payer, async () => {
      faults.set({ settle: { mode: "status", code: 200, body: said, times: 1 } });
      assertRefused(await world.send({ body, headers }), INDETERMINATE);
      return world.send({ body, headers });
    });
    faults.reset();
    assert.deepEqual(moved, ONCE);
    assertRun(result, { world, body, payer, amount: "1000" });
  });

  await test("after a doubt `used` is no refusal: 503 as long as the chain cannot be read, and one charge", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { result, ...moved } = await world.moved(payer, async () => {
      world.rpcFaults.set("dead");
      try {
        const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
        faults.set({ settle: { mode: "reset-after", times: 1, of: nonce } });
        assertRefused(await world.send({ body, headers }), INDETERMINATE);
        assertRefused(await world.send({ body, headers }), INDETERMINATE);
        assert.ok(faults.stats().settle.forwarded > 1, "the facilitator was asked again, and said no");
        assertRefused(await world.send({ body: other, headers }), "PAYMENT_REPLAYED");
      } finally {
        world.rpcFaults.set(null);
      }
      return until("a run", async () => {
        const answer = await world.send({ body, headers });
        return answer.status !== 503 && answer;
      }, { withinMs: 30_000 });
    });
    faults.reset();
    assert.deepEqual(moved, ONCE);
    assertRun(result, { world, body, payer, amount: "1000" });
  });

  await test("503 leaves a settlement that is not known where it was", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { result, ...moved } = await world.moved(payer, async () => {
      faults.set({ settle: { mode: "reset-before", times: 1 } });
      assertRefused(await world.send({ body, headers }), INDETERMINATE);
      const { boxer } = world.processes();
      process.kill(boxer.pid, "SIGSTOP");
      try {
        const answer = await world.send({ body, headers });
        assert.equal(answer.status, 503, answer.text);
        assert.ok(!("payment-required" in answer.headers));
        assertRefused(await world.send({ body: other, headers }), "PAYMENT_REPLAYED");
      } finally {
        process.kill(boxer.pid, "SIGCONT");
      }
      return until("a run", async () => {
        const answer = await world.send({ body, headers });
        return answer.status !== 503 && answer;
      }, { withinMs: 30_000 });
    });
    assert.equal(faults.stats().settle.distinct, 1, "the identical call");
    assert.deepEqual(moved, ONCE);
    assertRun(result, { world, body, payer, amount: "1000" });
    faults.reset();
  });

  await test("a refused payment whose time is over is not sent again, and still bound to its request", async () => {
    const payer = world.nextPayer();
    const validBefore = nowSeconds() + 20;
    const headers = await world.payment({ payer, sign: { validBefore } });
    faults.set({ settle: { mode: "refuse", times: 1 } });
    assertRefused(await world.send({ body, headers }), "PAYMENT_SETTLEMENT_FAILED");
    faults.reset();
    await until("its time is over", () => nowSeconds() > validBefore, { withinMs: 30_000 });
    // Our clock says so at once, and the chain as soon as it has a block of later.
    const late = await world.free(payer, () => world.send({ body, headers }));
    const { code } = late.json.details;
    assert.ok(["PAYMENT_INVALID", "PAYMENT_SETTLEMENT_FAILED"].includes(code), late.text);
    assertRefused(late, code, { message: /validBefore|expired unused/ });
    await refuses(payer, headers, "PAYMENT_REPLAYED", { requestBody: other });
  });

  // ---- a stack with little room, that is started anew with other settings

  const folder = join(world.folder, "once");
  mkdirSync(folder);
  const proxy = await startFaults({ upstream: info.facilitatorUrl });
  let stack;
  let send;
  async function start(site) {
    const file = join(folder, "conf.ini");
    writeFileSync(file, `[service]\nqueue_ms = 1000\nanswer_bytes = 64M\n[facilitator:default]\ntimeout_ms = 6000\n${site}`);
    const stderr = openSync(join(folder, "log"), "a");
    stack = await startStack({
      env: {
        ...siteSettings(info),
        TOLLBOX_FACILITATOR_URL: proxy.url,
        TOLLBOX_PORT: "0",
        TOLLBOX_TLS_PORT: "0",
        // The same site, wherever it listens.
        TOLLBOX_PUBLIC_URL: "https://once.example",
        // What is not known is looked up there, and nothing is settled meanwhile but by the caller.
        TOLLBOX_RPC_URL: info.rpcUrl,
        TOLLBOX_MAX_RUNS: "2",
        TOLLBOX_STATE_DIR: join(folder, "state"),
        TOLLBOX_TEST_CONF: file,
      },
      stderr,
    });
    closeSync(stderr);
    send = createSender(stack.https, stack.ca);
  }
  async function stop() {
    send.close();
    assert.equal(await stack.stop(), 0);
  }
  const processes = () => descendants(stack.pid);
  const programRuns = (seconds) => until("the program runs", () => findSleep(stack.pid, seconds), { everyMs: 5 });
  const pay = async (payer, amount = "1000") => {
    const requirements = await world.requirement(amount);
    return encodeV2({ requirements, payload: await signV2(requirements, payer.privateKey) });
  };
  const edit = (sql) =>
    promisify(execFile)("python3", ["-c", "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.executescript(sys.argv[2])\ndb.commit()", join(folder, "state", "ledger.db"), sql]);
  /** A payment, the request it is for and, where it ran, its answer. */
  const request = async (requestBody, amount) => {
    const payer = world.nextPayer();
    return { payer, amount, body: requestBody, headers: await pay(payer, amount) };
  };
  const ran = async () => {
    const made = await request(clock());
    return { ...made, answer: await okay(send(made)) };
  };
  const okay = async (sent) => {
    const answer = await sent;
    assert.equal(answer.status, 200, answer.text);
    return answer;
  };
  /** Settled, and the boxer dies while its program runs. */
  async function owed(seconds, limits, amount) {
    const made = await request(clock(seconds, limits), amount);
    const lost = send(made);
    await programRuns(seconds);
    const { pid } = processes().find(({ command }) => /tollbox boxer|\bboxer$/.test(command));
    process.kill(pid, "SIGKILL");
    assert.match((await lost).json.error.message, /stays good/);
    await until("a new boxer", async () => (await send({ body: "", headers: {} })).status === 402 && processes().some(({ pid: now, command }) => now !== pid && /tollbox boxer|\bboxer$/.test(command)));
    return made;
  }

  await start("");

  await test("twins that wait hold no run slot", async () => {
    const [slow, quick] = [await request(clock(7.25)), await request(clock())];
    const twins = Promise.all(Array.from({ length: 8 }, () => send(slow)));
    await programRuns(7.25);
    await okay(send(quick));
    assert.ok(findSleep(stack.pid, 7.25), "it went by while they waited");
    const answers = await waking(stack.pid, 7.25, () => twins);
    assert.ok(answers.every(({ status, bytes }) => status === 200 && bytes.equals(answers[0].bytes)), answers[0].text);
  });

  await test("an answer that there may be no room for is not sold", async () => {
    const large = await request(clock(0, { maxOutputBytes: 16 * 1024 * 1024 }), "20000");
    const settles = proxy.stats().settle.calls;
    const { result, ...moved } = await world.moved(large.payer, () => send(large));
    assertRefused(result, "SERVICE_BUSY", { message: /room/ });
    assert.deepEqual(moved, { payer: 0n, seller: 0n });
    assert.equal(proxy.stats().settle.calls, settles);
    // Nor is it claimed: the same payment buys another answer.
    await okay(send({ ...large, body: clock(0, { timeoutMs: 60001 }) }));
  });

  const OWED_S = { owed: 7.125, medium: 7.375 };
  const rows = {};
  await test("payments in all states, before the settings change", async () => {
    for (const name of ["done", "young", "old", "routed"]) {
      rows[name] = await ran();
    }
    rows.refused = await request(clock());
    proxy.set({ settle: { mode: "refuse", times: 1 } });
    assertRefused(await send(rows.refused), "PAYMENT_SETTLEMENT_FAILED");
    rows.unknown = await request(clock());
    proxy.set({ settle: { mode: "reset-before", times: 1 } });
    assertRefused(await send(rows.unknown), INDETERMINATE);
    proxy.reset();
    rows.owed = await owed(OWED_S.owed);
    rows.medium = await owed(OWED_S.medium, { timeoutMs: 10001 }, "5000");
    await stop();
    const nonce = ({ headers }) => decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization.nonce;
    const chosen = (row) => `(SELECT id FROM payments WHERE identity LIKE '%${nonce(row)}')`;
    const aged = (row, seconds) => `UPDATE answers SET stored = unixepoch() - ${seconds} WHERE payment = ${chosen(row)};
      UPDATE payments SET changed = unixepoch() - ${seconds} WHERE id = ${chosen(row)};`;
    await edit(`
      ${aged(rows.young, DAY - 600)}
      ${aged(rows.old, DAY + 60)}
      UPDATE payments SET route = '/another' WHERE id = ${chosen(rows.routed)};
      UPDATE payments SET created = created - 400 * ${DAY}, changed = changed - 400 * ${DAY} WHERE id = ${chosen(rows.owed)};
    `);
  });
  // Nothing that was paid is for sale at its old price any more, and no tier but one is offered.
  const changedAt = performance.now();
  await start("[site]\nprices = small=$0.002\ntiers = small\n");
  const price = async () => (await send({ body })).required.accepts[0].amount;
  const unpriced = (row) => world.moved(row.payer, () => okay(send(row)));

  await test("a claim that exists decides, whatever things cost by now", async () => {
    assert.equal(await price(), "2000");
    assertRefused(await send(await request(body)), "PAYMENT_AMOUNT_INSUFFICIENT");
    kept(await okay(send(rows.done)), rows.done.answer);
    for (const name of ["unknown", "refused"]) {
      const { result, ...moved } = await unpriced(rows[name]);
      assert.deepEqual(moved, ONCE, name);
      assert.equal(result.json.payment.amount, "1000");
      assert.deepEqual([result.json.receipt.priceUsd, result.json.receipt.price], [0.001, "$0.0010"], "the receipt says what was paid");
    }
  });

  await test("a run that is owed is served, however old, and whatever is offered by now", async () => {
    const listed = async () => (await payments({ folder }, "owed")).length;
    assert.equal(await listed(), 2);
    for (const [name, amount, dollars] of [["owed", "1000", 0.001], ["medium", "5000", 0.005]]) {
      const { result, ...moved } = await waking(stack.pid, OWED_S[name], () => unpriced(rows[name]));
      assert.deepEqual(moved, { payer: 0n, seller: 0n }, name);
      assert.equal(result.json.payment.amount, amount);
      assert.equal(result.json.receipt.priceUsd, dollars);
    }
    assert.equal(await listed(), 0);
  });

  await test("a payment used at another route is used", async () => {
    assertRefused(await send(rows.routed), "PAYMENT_REPLAYED", { message: /route/ });
  });

  await test("answers are kept 24 hours, and a payment whose answer has gone buys nothing new", async () => {
    kept(await okay(send(rows.young)), rows.young.answer);
    const gone = await until("old answers go", async () => {
      const answer = await send(rows.old);
      return answer.status !== 200 && answer;
    }, { withinMs: 75_000, everyMs: 500 });
    assertRefused(gone, "PAYMENT_REPLAYED", { message: /24 hours/ });
    assert.ok(performance.now() - changedAt < 90_000);
    kept(await okay(send(rows.young)), rows.young.answer);
  });

  await stop();
  await proxy.stop();
}
