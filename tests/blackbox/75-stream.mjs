// Live output (api.md section 3): events as the program writes, and readers that are slow or gone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wake, waking } from "../harness/stack.mjs";
import { connections } from "./fronts.mjs";
import { assertError, assertRefused, assertRequired, assertRun } from "./shape.mjs";
import { NDJSON, SAY, SSE, joined, openFastcgi, openStream, twoParts } from "./streams.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const MIB = 1024 * 1024;
const PING_MS = 15_000;
/** A reader that takes nothing is given up this long after the end of the run. */
const STALL_MS = 10_000;
const FORMS = [["SSE", SSE], ["NDJSON", NDJSON]];

const python = (source, more) => JSON.stringify({ runtime: "python3", source, ...more });
const BOTH = python(`${SAY}for i in range(3):\n  say(f'out {i}')\n  say(f'err {i}', sys.stderr)`);
const TWO_PARTS = python(`${SAY}say('one')\ntime.sleep(5)\nprint('two')`);
/** The same with time to be met in between: for $0.005. */
const long = (seconds) => python(twoParts(seconds), { limits: { timeoutMs: 60_000 } });

const types = (stream) => stream.events.map(({ type }) => type);
const event = (stream, wanted) => stream.events.find(({ type }) => type === wanted);
const residentKib = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

export default async function streams(test, world) {
  async function open(body, { amount = "1000", version = 2, payer = world.nextPayer(), header, accept = SSE, base = world.stack.https, ...more } = {}) {
    const headers = header ?? (await world.payment({ payer, amount, version }));
    const stream = await openStream({ base, ca: world.stack.ca, body, headers, accept, ...more });
    return { stream, body, payer, header: headers, amount, version };
  }

  // The stream told all that the JSON form tells, and told it rightly.
  function assertStream({ stream, body, payer, amount, version }, accept) {
    assert.equal(stream.status, 200, stream.text);
    assert.equal(stream.headers["content-type"], accept);
    assert.equal(stream.headers.vary, "Accept");
    assert.equal(stream.headers["content-length"], undefined);
    assert.ok(stream.rest === "", "the last event is whole");
    assert.equal(types(stream)[0], "started");
    assert.equal(types(stream).at(-1), "result");
    assert.equal(types(stream).filter((type) => type === "started" || type === "result").length, 2);
    const json = event(stream, "result").data;
    assert.deepEqual(event(stream, "started").data, { payment: json.payment });
    // The same object as in the JSON form, with the same headers but the type.
    assertRun({ status: 200, json, response: stream.response, headers: { ...stream.headers, "content-type": "application/json" } }, { world, body, payer, amount, version });
    return json;
  }

  function assertOutput({ stream }, json) {
    for (const type of ["stdout", "stderr"]) {
      const whole = joined(stream.events, type);
      // Not equal(): some are too long to be shown.
      assert.ok(whole === json[type], `${type}: ${whole.length} characters in events, ${json[type].length} in the result`);
    }
  }

  // ---- the two forms
  for (const [name, accept] of FORMS) {
    for (const version of [2, 1]) {
      await test(`${name}, v${version}: started, output of both streams in order, result`, async () => {
        const run = await open(BOTH, { accept, version });
        await run.stream.ended;
        const json = assertStream(run, accept);
        assertOutput(run, json);
        assert.equal(json.stdout, "out 0\nout 1\nout 2\n");
        const middle = run.stream.events.slice(1, -1).map(({ type, data }) => [type, data]);
        assert.deepEqual(middle, [0, 1, 2].flatMap((i) => [["stdout", { data: `out ${i}\n` }], ["stderr", { data: `err ${i}\n` }]]));
      });
    }
    await test(`${name}: a program that fails, one that is ended by its limit, one that says nothing`, async () => {
      for (const [body, code] of [[python("raise SystemExit(3)"), "EXECUTION_RUNTIME_ERROR"], [python("print('x', flush=True)\nwhile True: pass", { limits: { timeoutMs: 400 } }), "SANDBOX_TIMEOUT"], [python(""), undefined]]) {
        const run = await open(body, { accept });
        await run.stream.ended;
        const json = assertStream(run, accept);
        assertOutput(run, json);
        assert.equal(json.error?.code, code);
      }
    });
  }
  const accepted = [
    ["application/json, text/event-stream", SSE],
    ["text/html;q=0.9,  Text/Event-Stream ; charset=utf-8;q=0.1", SSE],
    ["application/x-ndjson, text/event-stream", NDJSON],
    ["text/event-stream;q=0, application/x-ndjson", NDJSON],
  ];
  await test("how Accept asks for it", async () => {
    for (const [accept, form] of accepted) {
      const run = await open(JSON.stringify(HELLO), { accept: form });
      await run.stream.ended;
      const replay = await world.send({ body: run.body, headers: { ...run.header, Accept: accept } });
      assert.equal(replay.headers["content-type"], form, accept);
    }
  });
  await test("how Accept does not", async () => {
    for (const accept of ["*/*", "text/*", "text/event-stream;q=0", "text/event-stream; q=0.000, application/json", "text/event-streams", "application/json;x=text/event-stream"]) {
      const run = await world.run(HELLO, { headers: { Accept: accept } });
      assert.equal(run.answer.headers.vary, "Accept");
    }
  });

  // ---- at once
  const ways = [["HTTP/1.1 over TLS", {}], ["HTTP/2", { h2: true }], ["HTTP/1.1 in the clear", { base: "http" }]];
  // All of them at once, since most of each is waiting. A server that kept what came would send both parts together.
  await Promise.all(ways.flatMap(([name, way], place) => FORMS.map(([form, accept], index) =>
    test(`${name}, ${form}: output arrives while the program runs`, async () => {
      const seconds = 30.125 + 2 * place + index;
      const run = await open(long(seconds), { accept, amount: "5000", ...way, ...(way.base && { base: world.stack.http }) });
      await until("the first part has come", () => event(run.stream, "stdout"));
      await wake(world.stack.pid, seconds);
      await run.stream.ended;
      const json = assertStream(run, accept);
      assertOutput(run, json);
      const [one, two] = run.stream.events.filter(({ type }) => type === "stdout");
      assert.deepEqual([one.data.data, two.data.data], ["one\n", "two\n"]);
    }))));
  await test("a sign of life every 15 s while the program says nothing, in both forms", async () => {
    const quiet = python("import time\ntime.sleep(22)\nprint('done')", { limits: { timeoutMs: 60_000 } });
    await Promise.all(FORMS.map(async ([name, accept]) => {
      const run = await open(quiet, { accept, amount: "5000" });
      await run.stream.ended;
      assertOutput(run, assertStream(run, accept));
      const { pings } = run.stream;
      const { at } = event(run.stream, "stdout");
      assert.ok(pings.length >= 1 && pings.length <= Math.floor(at / PING_MS), `${name}: ${pings.length} in ${Math.round(at)} ms`);
      assert.ok(pings[0] >= PING_MS && pings[0] < at, `${name}: after ${Math.round(pings[0])} ms`);
    }));
  });

  // ---- text
  await test("code points in pieces, ill-formed bytes and a cut by the limit: as in the final form", async () => {
    const pieces = python(`import os, random, time
random.seed(7)
good = "aé你🧰\\n\\x00\\x1f\\u2028".encode() * 20
bad = bytes(random.choice([0x80, 0xc2, 0xe0, 0xa0, 0xed, 0x9f, 0xf0, 0x90, 0xf4, 0x8f, 0xff, 0x41]) for _ in range(600))
for data in (good, bad, good):
  at = 0
  while at < len(data):
    n = random.randint(1, 3)
    os.write(1, data[at:at + n])
    if random.random() < 0.03: time.sleep(0.02)
    at += n
os.write(2, bad)
os.write(2, b"\\xf0\\x9f")
os.write(1, b"\\xe4\\xbd")
`);
    for (const [, accept] of FORMS) {
      const run = await open(pieces, { accept });
      await run.stream.ended;
      const json = assertStream(run, accept);
      assert.equal(json.exitCode, 0, json.stderr);
      assertOutput(run, json);
      assert.ok(json.stdout.endsWith("\ufffd") && json.stderr.endsWith("\ufffd"));
      assert.ok(run.stream.events.length > 5, "it came in pieces");
    }
    const cut = python("import os, time\nos.write(1, b'a' * 1022 + '🧰'.encode())\ntime.sleep(60)", { limits: { maxOutputBytes: 1024 } });
    const run = await open(cut);
    await run.stream.ended;
    const json = assertStream(run, SSE);
    assertOutput(run, json);
    assert.equal(json.stdout, "a".repeat(1022));
    assert.equal(json.error.code, "EXECUTION_OUTPUT_LIMIT_EXCEEDED");
  });
  await test("16 MiB come through whole, control characters too", async () => {
    const run = await open(python("import sys\nsys.stdout.write('x' * (15 << 20) + '\\x01' * (1 << 20))", { limits: { maxOutputBytes: 16 * MIB, timeoutMs: 60_000 } }), { amount: "20000", accept: NDJSON });
    await run.stream.ended;
    const json = assertStream(run, NDJSON);
    assertOutput(run, json);
    assert.equal(json.stdout.length, 16 * MIB);
  });

  // ---- what does not start is an ordinary answer
  await test("refusals stay JSON", async () => {
    const headers = { Accept: SSE };
    const unpaid = await world.send({ body: HELLO, headers });
    assert.equal(unpaid.status, 402);
    assertRequired(unpaid);
    const payer = world.nextPayer();
    const payment = await world.payment({ payer });
    assertRefused(await world.free(payer, () => world.send({ body: "{", headers: { ...payment, ...headers } })), "REQUEST_MALFORMED");
    assertRefused(await world.free(payer, () => world.send({ body: { ...HELLO, runtime: "cobol" }, headers: { ...payment, ...headers } })), "RUNTIME_UNSUPPORTED");
    assertRefused(await world.send({ path: "/nowhere", headers }), "REQUEST_MALFORMED", { status: 404 });
    assertRefused(await world.send({ method: "GET", headers }), "REQUEST_MALFORMED", { status: 405 });
    assert.equal((await world.send({ method: "OPTIONS", headers })).status, 204);
  });

  // ---- again
  await test("a replay streams `started`, then `result`, of an answer first given in either form", async () => {
    const json = await world.run(python("print('once')"));
    for (const [, accept] of FORMS) {
      const again = await world.free(json.payer, () => open(json.body, { header: json.header, payer: json.payer, accept }));
      await again.stream.ended;
      assert.deepEqual(types(again.stream), ["started", "result"]);
      assert.equal(again.stream.headers["idempotency-replayed"], "true");
      assert.deepEqual(assertStream(again, accept), json.answer.json);
    }
    const live = await open(python("print('twice')"));
    await live.stream.ended;
    assertStream(live, SSE);
    const stored = await world.free(live.payer, () => world.send({ body: live.body, headers: live.header }));
    assert.equal(stored.headers["idempotency-replayed"], "true");
    assertRun(stored, { world, body: live.body, payer: live.payer, amount: "1000" });
    assert.ok(live.stream.text.includes(`event: result\ndata: ${stored.text}\n\n`), "byte for byte");
  });
  await test("the answer is kept before `result` leaves, and a twin gets it", async () => {
    const run = await open(TWO_PARTS);
    const twin = world.send({ body: run.body, headers: run.header });
    await run.stream.ended;
    const json = assertStream(run, SSE);
    const answer = await twin;
    assertRun(answer, { world, body: run.body, payer: run.payer, amount: "1000" });
    assert.deepEqual(answer.json, json);
  });

  // ---- readers
  await test("a client that goes away: the run goes on, its answer is kept", async () => {
    for (const h2 of [false, true]) {
      const run = await open(python("import time\nprint(time.time_ns(), flush=True)\ntime.sleep(2)\nprint('two')"), { h2 });
      const { data: began } = await until("the first output", () => event(run.stream, "stdout")?.data);
      run.stream.destroy();
      const answer = await world.send({ body: run.body, headers: run.header });
      assertRun(answer, { world, body: run.body, payer: run.payer, amount: "1000" });
      assert.equal(answer.json.stdout, `${began}two\n`, "the run that was left, not another");
    }
  });

  const socket = join(world.folder, "tollbox.sock");
  const flood = (bytes) => python(`import sys, time\nsys.stdout.write('y' * ${bytes})\nsys.stdout.flush()\nprint('end', file=sys.stderr)`, { limits: { maxOutputBytes: 16 * MIB } });
  const answered = async (run) => {
    const answer = await world.send({ body: run.body, headers: run.header });
    assertRun(answer, { world, body: run.body, payer: run.payer, amount: run.amount });
    // A program that waits for its reader would end by its time limit.
    assert.deepEqual([answer.json.error, answer.json.stderr], [null, "end\n"]);
    return answer;
  };
  await test("a reader behind nginx that reads nothing stops neither its run nor others", async () => {
    const gate = world.processes().gate.pid;
    const before = residentKib(gate);
    const runs = await Promise.all([false, true].map((h2) => open(flood(10 * MIB), { amount: "20000", h2, paused: true })));
    const hello = await world.run(HELLO);
    assert.equal(hello.stdout, "hello\n");
    const answers = await Promise.all(runs.map(answered));
    const all = runs.map(({ stream }) => stream.read());
    assert.ok(answers.every(({ json }) => json.stdout.length === 10 * MIB));
    const grown = (residentKib(gate) - before) / 1024;
    assert.ok(grown < 300, `the gate grew by ${Math.round(grown)} MiB`);
    // Who comes back in time gets all of it.
    await Promise.all(all);
    for (const run of runs) {
      assertOutput(run, assertStream(run, SSE));
    }
  });
  await test("a slow reader holds no room for his answer, which is kept already", async () => {
    const run = { body: flood(4 * MIB), payer: world.nextPayer(), amount: "20000" };
    run.header = await world.payment({ payer: run.payer, amount: run.amount });
    const direct = await openFastcgi(socket, { body: run.body, headers: run.header, accept: SSE });
    await answered(run);
    // Well before he is given up.
    await until("no room is held", async () => /^tollbox_answer_bytes_reserved 0$/m.test((await world.send({ path: "/metrics", method: "GET" })).text), { withinMs: STALL_MS / 2 });
    assert.ok((await direct.resume()).whole, "it was still told");
  });
  await test("web servers that read nothing, of a stream or of JSON, stop neither their runs nor others, and are given up in time", async () => {
    const { slots } = await until("it is healthy", world.health);
    // At once: the first is given up 10 s after its end, and all must be there to be counted.
    const runs = await Promise.all(Array.from({ length: 2 * slots }, async (_, i) => {
      const run = { body: flood(2 * MIB + i), payer: world.nextPayer(), amount: "20000" };
      run.header = await world.payment({ payer: run.payer, amount: run.amount });
      run.accept = i % 2 ? SSE : "application/json";
      run.direct = await openFastcgi(socket, { body: run.body, headers: run.header, accept: run.accept });
      return run;
    }));
    // Had each its slot until it is given up, no more than these would be connected when all have run; and the last one's nginx.
    let most = 0;
    for (const run of runs) {
      await answered(run);
      most = Math.max(most, connections(socket));
    }
    assert.ok(most > slots + 1, `${most} unread, ${slots} slots`);
    const hello = await world.run(HELLO);
    assert.equal(hello.stdout, "hello\n");
    await until("all are given up", () => connections(socket) === 0);
    // Each thread is free: the daemon has closed the connection without an end in order.
    for (const { direct, accept } of runs) {
      const { text, whole } = await direct.resume();
      assert.match(text, /^Status: 200 OK\r\n/);
      assert.match(text, accept === SSE ? /\r\n\r\nevent: started\ndata: / : /\r\n\r\n\{"outcome":/);
      assert.ok(!whole && !text.includes("event: result"), "what did not get through is not claimed to be all");
    }
  });
  await test("a web server that reads late gets all of it", async () => {
    const run = { body: flood(2 * MIB), payer: world.nextPayer(), amount: "20000" };
    run.header = await world.payment({ payer: run.payer, amount: run.amount });
    const direct = await openFastcgi(socket, { body: run.body, headers: run.header, accept: NDJSON });
    await answered(run);
    await sleep(2000);
    const { text, whole } = await direct.resume();
    assert.ok(whole);
    const lines = text.slice(text.indexOf("\r\n\r\n") + 4).split("\n").slice(0, -1).map((line) => JSON.parse(line));
    assert.equal(lines.filter(({ type }) => type === "stdout").map(({ data }) => data).join(""), "y".repeat(2 * MIB));
    assert.equal(lines.at(-1).type, "result");
  });

  // ---- a failure of ours after the start
  await test("a failure after `started` is an `error` event, and the retry runs uncharged", async () => {
    for (const [name, accept] of FORMS) {
      const payer = world.nextPayer();
      const { result: run, ...moved } = await world.moved(payer, async () => {
        const lost = await open(long(20.125), { payer, accept, amount: "5000" });
        await until("the first output", () => event(lost.stream, "stdout"));
        process.kill(world.processes().boxer.pid, "SIGKILL");
        await lost.stream.ended;
        assert.deepEqual(types(lost.stream), ["started", "stdout", "error"], name);
        const error = event(lost.stream, "error").data;
        assertError(error, error.code);
        assert.equal(error.code, "SANDBOX_UNAVAILABLE");
        assert.match(error.message, /same payment/);
        assert.equal(lost.stream.rest, "");
        return waking(world.stack.pid, 20.125, () => until("the owed run", async () => {
          const retry = await open(lost.body, { payer, header: lost.header, accept, amount: "5000" });
          await retry.stream.ended;
          return retry.stream.status === 200 && retry;
        }));
      });
      assertOutput(run, assertStream(run, accept));
      assert.deepEqual(moved, { payer: -5000n, seller: 5000n });
    }
  });
}
