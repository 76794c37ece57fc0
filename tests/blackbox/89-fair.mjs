// One caller, one facilitator or one change of the settings must not take from others what is theirs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { encodeV2, signV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { settleTogether } from "../devnet/token.mjs";
import { descendants, findSleep, startStack, waking } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { payments as listPayments } from "./tool.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
const BATCHER = "0x00000000000000000000000000000000000ba7c4";
const body = JSON.stringify(HELLO);

export default async function fair(test, world) {
  const { faults, info } = world;
  const said = (transaction, payer) => ({ success: true, transaction, network: info.network, payer: payer.address });
  const signed = async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    return { payer, headers, send: () => world.send({ body, headers }) };
  };

  // ---- several payments in one transaction

  /** A facilitator that waits until all of `payments` are to be settled and hands them in together. → what became of each request */
  async function batched(payments) {
    const asked = [];
    let done;
    const together = new Promise((resolve) => (done = resolve));
    const answer = async ({ paymentPayload: { payload } }) => {
      asked.push(payload);
      if (asked.length === payments.length) {
        done(settleTogether(info, BATCHER, asked));
      }
      return { success: true, transaction: await together, network: info.network, payer: payload.authorization.from };
    };
    faults.set({ settle: { mode: "says", answer } });
    try {
      return { answers: await Promise.all(payments.map(({ send }) => send())), transaction: await together };
    } finally {
      faults.reset();
    }
  }

  await test("three payments settled in one transaction buy three runs, and a fourth that is only said to be in it buys none", async () => {
    const payments = await Promise.all(Array.from({ length: 3 }, signed));
    const before = await world.held(info.payTo);
    const { answers, transaction } = await batched(payments);
    assert.equal((await world.held(info.payTo)) - before, 3000n);
    answers.forEach((answer, index) => {
      assertRun(answer, { world, body, payer: payments[index].payer, amount: "1000" });
      assert.equal(answer.json.payment.transaction, transaction);
    });
    const liar = await signed();
    faults.set({ settle: { mode: "says", answer: () => said(transaction, liar.payer) } });
    for (let time = 0; time < 2; time++) {
      assertRefused(await liar.send(), INDETERMINATE);
    }
    // The truth is told in the end, and makes it good.
    faults.reset();
    assertRun(await liar.send(), { world, body, payer: liar.payer, amount: "1000" });
    for (const [index, { send }] of payments.entries()) {
      assert.ok((await send()).bytes.equals(answers[index].bytes));
    }
    assert.equal((await world.held(info.payTo)) - before, 4000n);
  });

  await test("while the chain cannot be read, the second of a batch is not known; then it is found", async () => {
    const payments = await Promise.all(Array.from({ length: 2 }, signed));
    world.rpcFaults.set("dead");
    let answers;
    try {
      ({ answers } = await batched(payments));
    } finally {
      world.rpcFaults.set(null);
    }
    const late = answers.findIndex(({ status }) => status !== 200);
    assertRun(answers[1 - late], { world, body, payer: payments[1 - late].payer, amount: "1000" });
    assertRefused(answers[late], INDETERMINATE);
    const { calls } = faults.stats().settle;
    assertRun(await payments[late].send(), { world, body, payer: payments[late].payer, amount: "1000" });
    assert.equal(faults.stats().settle.calls, calls, "found on the chain, and settled nowhere again");
  });

  // ---- a stack of its own, started anew with other settings

  const folder = join(world.folder, "fair");
  mkdirSync(folder);
  const proxy = await startFaults({ upstream: info.facilitatorUrl });
  let stack;
  let send;
  async function start(settings) {
    const file = join(folder, "conf.ini");
    writeFileSync(file, `[service]\ntrusted_proxies = 127.0.0.1\nqueue_ms = 3000\nanswer_bytes = 64M\n${settings}`);
    const stderr = openSync(join(folder, "log"), "a");
    stack = await startStack({
      env: {
        ...siteSettings(info),
        TOLLBOX_FACILITATOR_URL: proxy.url,
        TOLLBOX_PORT: "0",
        TOLLBOX_TLS_PORT: "0",
        TOLLBOX_PUBLIC_URL: "https://fair.example", // the same site, wherever it listens
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
  const sqlite = async (sql, ...values) => {
    const program = "import json, sqlite3, sys\nprint(json.dumps(sqlite3.connect(sys.argv[1]).execute(sys.argv[2], sys.argv[3:]).fetchall()))";
    const { stdout } = await promisify(execFile)("python3", ["-c", program, join(folder, "state", "ledger.db"), sql, ...values]);
    return JSON.parse(stdout);
  };
  const processes = () => descendants(stack.pid);
  const boxer = () => processes().find(({ command }) => /tollbox boxer|\bboxer$/.test(command));
  const request = async (job, { payer = world.nextPayer(), amount = "1000" } = {}) => ({
    payer,
    body: JSON.stringify(job),
    headers: await world.payment({ payer, amount }),
  });
  /** Settled, and the boxer dies while its program runs. */
  async function owed(job, more) {
    const made = await request(job, more);
    const lost = send(made);
    await until("the program runs", () => findSleep(stack.pid, 7.875), { everyMs: 5 });
    const { pid } = boxer();
    process.kill(pid, "SIGKILL");
    assert.match((await lost).json.error.message, /stays good/);
    await until("a new boxer", () => ![undefined, pid].includes(boxer()?.pid));
    return made;
  }

  await start("");
  const sleeper = { runtime: "python3", source: "import subprocess\nsubprocess.run(['sleep', '7.875'])\nprint('slept')" };
  const small = await owed(sleeper);
  const medium = await owed({ ...sleeper, limits: { timeoutMs: 10_001 } }, { amount: "5000" });
  await stop();

  await test("what the settings have no more is owed, and said to be", async () => {
    await start("[site]\nruntimes = node\n[tier:medium]\ntimeout_ms = 10000\n[tier:large]\ntimeout_ms = 10000\n");
    assertRefused(await send(await request(sleeper)), "RUNTIME_UNSUPPORTED");
    const { result, ...moved } = await world.moved(small.payer, () => waking(stack.pid, 7.875, () => send(small)));
    assert.deepEqual(moved, { payer: 0n, seller: 0n });
    assert.equal(result.json.stdout, "slept\n", "a runtime that the site sells no more runs what it sold");
    for (let time = 0; time < 5; time++) {
      assertRefused(await send(medium), "SANDBOX_UNAVAILABLE", { message: /sold.*timeoutMs.*stays good/ });
    }
    assert.equal((await listPayments({ folder }, "owed")).length, 1);
    await stop();
    await start("verify_rate = 1\nbody_bytes = 32M\n");
    assert.equal((await waking(stack.pid, 7.875, () => send(medium))).json.stdout, "slept\n");
  });

  // ---- keys that hold nothing

  const fromAddress = (made, address) => ({ ...made, headers: { ...made.headers, "X-Forwarded-For": address } });
  // With little output, so that it is not the room for answers that stops them.
  const little = JSON.stringify({ ...HELLO, limits: { maxOutputBytes: 1024 } });
  const unfunded = async () => {
    const requirements = await world.requirement();
    return { body: little, headers: encodeV2({ requirements, payload: await signV2(requirements, `0x${randomBytes(32).toString("hex")}`) }) };
  };
  /** Fresh keys from ever new addresses, 30 at a time, while `work` runs → what each was told, as code → how many */
  async function flooded(work) {
    const told = {};
    let sent = 0;
    let over = false;
    const attacker = async () => {
      while (!over) {
        const number = sent++;
        const { json } = await send(fromAddress(await unfunded(), `198.51.${number >> 8}.${number & 255}`));
        const { code } = json.details ?? json.error;
        told[code] = (told[code] ?? 0) + 1;
      }
    };
    const attackers = Array.from({ length: 30 }, attacker);
    try {
      await until("it has begun", () => sent > 80, { everyMs: 5 });
      await work(told);
    } finally {
      over = true;
      await Promise.all(attackers);
    }
    return told;
  }

  await test("a flood of keys that hold nothing: who has paid here before is served, every time", async () => {
    const payer = small.payer;
    proxy.set({ settle: { mode: "delay", ms: 300 } });
    const told = await flooded(async () => {
      for (let run = 0; run < 4; run++) {
        const made = fromAddress(await request(HELLO, { payer }), "203.0.113.1");
        let answer = await send(made);
        // His turn came first, but on a machine that is busy with other things no slot did; so he does as he is told.
        for (let again = 0; again < 2 && answer.json.error?.code === "SERVICE_BUSY"; again++) {
          answer = await send(made);
        }
        assert.deepEqual([answer.status, answer.json?.stdout], [200, "hello\n"], answer.text);
      }
      // And several at a time: many such keys take no more of his share than one would. A slot may take too long.
      const together = await Promise.all(Array.from({ length: 3 }, () => request(HELLO, { payer })));
      const answers = await Promise.all(together.map((made) => send(fromAddress(made, "203.0.113.1"))));
      const ends = answers.map(({ status, json }) => (status === 200 ? "ran" : json.error.code));
      assert.ok(ends.every((end) => ["ran", "SERVICE_BUSY"].includes(end)), String(ends));
    });
    proxy.reset();
    assert.ok(told.PAYMENT_SETTLEMENT_FAILED > 0 && told.SERVICE_BUSY > 0, JSON.stringify(told));
    assert.deepEqual(Object.keys(told).sort(), ["PAYMENT_SETTLEMENT_FAILED", "SERVICE_BUSY"]);
  });

  await test("an address whose payments are refused is slowed down, and nobody else there", async () => {
    const codes = [];
    for (let n = 0; n < 25; n++) {
      const { json } = await send(fromAddress(await unfunded(), "203.0.113.2"));
      codes.push((json.details ?? json.error).code);
    }
    const refused = codes.filter((code) => code === "PAYMENT_SETTLEMENT_FAILED").length;
    assert.ok(refused >= 20 && refused <= 22, `${refused} came through`);
    assert.ok(codes.slice(refused).every((code) => code === "EXECUTE_IP_RATE_LIMITED"), String(codes));
    assert.equal((await send(fromAddress(await request(HELLO, { payer: small.payer }), "203.0.113.2"))).status, 200);
    assert.equal((await send(fromAddress(await unfunded(), "203.0.113.3"))).json.details.code, "PAYMENT_SETTLEMENT_FAILED");
  });

  await test("who has paid, and is refused now, is a stranger until he pays again", async () => {
    const { payer } = medium;
    proxy.set({ settle: { mode: "refuse", times: 1 } });
    assertRefused(await send(await request(HELLO, { payer })), "PAYMENT_SETTLEMENT_FAILED");
    proxy.reset();
    const good = () => sqlite("SELECT good FROM payers WHERE payer = ?", payer.address);
    assert.deepEqual(await good(), [[0]]);
    assert.equal((await send(await request(HELLO, { payer }))).status, 200);
    assert.deepEqual(await good(), [[1]]);
  });

  await test("who pays once, and sends again all that was refused of him, takes no place from others", async () => {
    const { payer } = medium;
    const refused = [];
    proxy.set({ settle: { mode: "refuse" } });
    for (let n = 0; n < 30; n++) {
      refused.push({ ...(await unfunded()), headers: await world.payment({ payer, amount: "1000" }) });
      assertRefused(await send(refused[n]), "PAYMENT_SETTLEMENT_FAILED");
    }
    proxy.reset();
    assert.equal((await send(await request(HELLO, { payer }))).status, 200);
    proxy.set({ settle: { mode: "delay", ms: 1500 } });
    const all = Promise.all(refused.map(send));
    await until("they are at work", () => proxy.stats().settle.calls > 0, { everyMs: 5 });
    const answer = await send(await request(HELLO, { payer: small.payer }));
    assert.equal(answer.json?.stdout, "hello\n", answer.text);
    const told = (await all).map(({ status }) => status);
    proxy.reset();
    assert.ok(told.every((status) => [200, 503].includes(status)) && told.includes(503), String(told));
  });

  // ---- the budget of large bodies

  await test("who waits for his own run with large bodies, without paying for them, leaves room for others' bodies", async () => {
    const key = { "Idempotency-Key": randomBytes(24).toString("hex") };
    const made = await request({ ...sleeper, source: sleeper.source.replace("7.875", "8.125") }, { payer: small.payer });
    const run = send({ ...made, headers: { ...made.headers, ...key } });
    await until("the program runs", () => findSleep(stack.pid, 8.125), { everyMs: 5 });
    const large = Buffer.alloc(8 << 20, " ");
    const codes = [];
    const twins = Array.from({ length: 4 }, async () => codes.push((await send({ body: large, headers: key })).status));
    await until("half of the budget is left", () => codes.length === 2, { everyMs: 5 });
    assert.equal((await send({ body: large })).status, 402, "another's body of that size is read");
    await waking(stack.pid, 8.125, () => Promise.all([run, ...twins]));
    assert.deepEqual(codes, [503, 503, 402, 402]);
    assert.equal((await run).json.stdout, "slept\n");
  });

  // ---- room for answers

  await test("one payer's answers do not take the room of all others", async () => {
    const large = { runtime: "python3", source: "import base64, os\nprint(base64.b64encode(os.urandom(3_000_000)).decode())", limits: { maxOutputBytes: 4 << 20 } };
    const buy = async (payer) => send(await request(large, { payer, amount: "5000" }));
    const codes = [];
    for (let n = 0; n < 6 && codes.at(-1) !== 503; n++) {
      codes.push((await buy(small.payer)).status);
    }
    assert.deepEqual(codes, [200, 200, 200, 503], "an eighth of the room is 8 MiB");
    assertRefused(await buy(small.payer), "SERVICE_BUSY", { message: /room/ });
    assert.equal((await buy(medium.payer)).status, 200);
    assert.equal((await send(await request(HELLO, { payer: small.payer }))).status, 200, "what is surely small enough goes on");
  });

  await stop();
  await start(`[chain:default]\nrpc_url = ${info.rpcUrl}\n`);

  await test("where the chain can be read, such keys get no further than that, and a newcomer who can pay is served", async () => {
    const payer = info.payers.find(({ address }) => ![small, medium].some((made) => made.payer.address === address));
    const { calls } = proxy.stats().settle;
    assert.equal((await send(fromAddress(await unfunded(), "203.0.113.4"))).json.details.code, "PAYMENT_SETTLEMENT_FAILED");
    const told = await flooded(async () => {
      const made = await request(HELLO, { payer });
      const answer = await until("a run", async () => {
        const { status, text, json } = await send(fromAddress(made, "203.0.113.5"));
        assert.ok([200, 503].includes(status), text);
        return status === 200 && json;
      }, { withinMs: 10_000, everyMs: 5 });
      assert.equal(answer.stdout, "hello\n");
      assert.equal((await send(fromAddress(await request(HELLO, { payer: small.payer }), "203.0.113.6"))).status, 200);
    });
    assert.equal(proxy.stats().settle.calls, calls + 3, "the first of them, the newcomer and who was known");
    const { PAYMENT_AMOUNT_INSUFFICIENT: short, SERVICE_BUSY: _, ...others } = told;
    assert.ok(short > 0, JSON.stringify(told));
    assert.deepEqual(others, {}, "all others waited for too many of their kind");
  });

  await stop();
  await proxy.stop();
}
