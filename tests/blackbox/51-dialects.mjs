// The dialects of other services (api.md section 8): the shapes they publish, recorded here as request and answer, and that a
// payment, its receipt and its replay are there as everywhere.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { compactVerify, createLocalJWKSet } from "../devnet/node_modules/jose/dist/webapi/index.js";
import { payV1 } from "../clients/v1/client.mjs";
import { encodeV1, encodeV2, payV2, signV2 } from "../devnet/client.mjs";
import { extrasDigest, outputDigest, requestDigest } from "../harness/digests.mjs";
import { attached, receiptHolds } from "../harness/receipts.mjs";
import { findSleep, waking } from "../harness/stack.mjs";
import { until } from "./runner.mjs";
import { assertCommon, assertError, assertRefused, assertRequired, LIMIT_MEMBERS, members } from "./shape.mjs";

const MIB = 1024 * 1024;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const newKey = () => randomBytes(24).toString("base64url");

const AGENT402 = { name: "agent402", path: "/api/code-run", amount: "20000", price: ["$0.0200", 0.02], timeoutMs: 30000 };
const X402ENGINE = { name: "x402engine", path: "/api/code/run", amount: "5000", price: ["$0.0050", 0.005], timeoutMs: 60000 };
const POCKET = { name: "pocket", path: "/v1/code", amount: "5000", price: ["$0.0050", 0.005], timeoutMs: 5000 };
const DIALECTS = [AGENT402, X402ENGINE, POCKET];

const text = (answer) => answer.outputs.map(({ type, data }) => [type, data]);

export default async function dialects(test, world) {
  const { info, stack, faults } = world;
  const send = ({ path }, body, more) => world.send({ path, body: typeof body === "string" ? body : JSON.stringify(body), ...more });
  const offerOf = async (dialect, version = 2, base) => {
    const answer = await world.send({ path: dialect.path, base });
    assert.equal(answer.status, 402, answer.text);
    assertRequired(answer);
    return version === 2 ? answer.required.accepts[0] : answer.json.accepts[0];
  };
  const offers = new Map();
  async function paymentFor(dialect, payer, version = 2) {
    const key = `${dialect.path} ${version}`;
    offers.set(key, offers.get(key) ?? (await offerOf(dialect, version)));
    const requirements = offers.get(key);
    const payload = await signV2({ ...requirements, amount: dialect.amount }, payer.privateKey);
    return version === 2 ? encodeV2({ requirements, payload }) : encodeV1({ requirements, payload });
  }

  /** What every answer of a dialect has: the payment response, and a receipt in its header that says what was sold. */
  async function assertReceipt(answer, { dialect, body, payer, version = 2, status = null, timeoutMs = dialect.timeoutMs }) {
    assert.equal(answer.status, 200, answer.text);
    assertCommon(answer);
    assert.match(answer.headers["content-type"], /^application\/json/);
    assert.match(answer.headers["cache-control"], /private/);
    assert.equal(answer.response.success, true);
    assert.equal(answer.response.payer, payer.address);
    assert.ok((version === 2 ? "payment-response" : "x-payment-response") in answer.headers);
    const header = answer.headers["tollbox-receipt"];
    assert.match(header, /^[A-Za-z0-9_-]+$/);
    const receipt = JSON.parse(Buffer.from(header, "base64url").toString("utf8"));
    assert.ok(receiptHolds(receipt, world.jwks), "the receipt's signature holds");
    await compactVerify(attached(receipt), createLocalJWKSet(world.jwks));
    assert.equal(receipt.tier, dialect.name);
    assert.deepEqual([receipt.price, receipt.priceUsd], dialect.price);
    assert.deepEqual(members(receipt.limits), LIMIT_MEMBERS);
    assert.deepEqual(receipt.limits, { timeoutMs, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB });
    assert.equal(receipt.payment.payer, payer.address);
    assert.equal(receipt.payment.amount, dialect.amount);
    assert.equal(receipt.payment.reference, answer.response.transaction);
    assert.equal(receipt.requestDigest, requestDigest(Buffer.from(body)));
    const { outcome, exitCode, truncated } = receipt.usage;
    const { stdout, stderr, outputs, result } = answer.json;
    assert.equal(receipt.outputDigest, outputDigest({ exitCode, outcome, stderr, stdout, truncated }));
    assert.equal(receipt.extrasDigest ?? null, extrasDigest({ outputs, result }));
    assert.equal(receipt.status.code, status);
    return receipt;
  }

  /** One paid run of a dialect, checked as far as all are alike → the answer's object, and {answer, receipt, header} */
  async function run(dialect, request, { version = 2, status, timeoutMs, headers, payer = world.nextPayer() } = {}) {
    const body = JSON.stringify(request);
    const header = await paymentFor(dialect, payer, version);
    const answer = await send(dialect, body, { headers: { ...header, ...headers } });
    const receipt = await assertReceipt(answer, { dialect, body, payer, version, status, timeoutMs });
    return { ...answer.json, answer, receipt, header, body, payer };
  }

  // ---- the published shapes

  const recorded = [
    [AGENT402,
      { code: "import math\nprint(f\"Pi is approximately {math.pi:.10f}\")\nmath.factorial(20)", language: "python" },
      { language: "python", stdout: "Pi is approximately 3.1415926536\n", stderr: "", result: "2432902008176640000", error: null }],
    [AGENT402, { code: "print('Hello from Agent402!')" },
      { language: "python", stdout: "Hello from Agent402!\n", stderr: "", result: null, error: null }],
    [AGENT402, { code: "console.log('hi');\n({ a: [1, 'two'] })", language: "javascript" },
      { language: "javascript", stdout: "hi\n", stderr: "", result: "{ a: [ 1, 'two' ] }", error: null }],
    [X402ENGINE, { code: "print('hi')\n[1, 'two']", language: "python", timeout: 60 },
      { stdout: "hi\n", stderr: "", success: true, exit_code: 0, outputs: [{ type: "result", mimeType: "text/plain", data: "[1, 'two']" }] }],
    [X402ENGINE, { code: "echo $((6 * 7)); exit 3", language: "bash" },
      { stdout: "42\n", stderr: "", success: false, exit_code: 3, outputs: [] }],
    [POCKET, { code: "print(6 * 7)", language: "python" }, { stdout: "42\n", stderr: "", exit_code: 0, lang: "python" }],
  ];
  for (const [dialect, request, wanted] of recorded) {
    await test(`${dialect.name}: ${JSON.stringify(request).slice(0, 50)}`, async () => {
      const failed = wanted.success === false;
      const { answer } = await run(dialect, request, failed ? { status: "EXECUTION_RUNTIME_ERROR" } : {});
      const { execution_time_ms: time, ...json } = answer.json;
      assert.deepEqual(json, wanted);
      if (dialect === X402ENGINE) {
        assert.ok(Number.isInteger(time) && time > 0 && time < 60000);
      } else {
        assert.deepEqual(Object.keys(answer.json), Object.keys(wanted), "in this order");
      }
    });
  }

  for (const dialect of DIALECTS) {
    await test(`${dialect.name}: the 402 asks for its price, whatever the body holds`, async () => {
      for (const body of ["", "{}", "<html>", "[", JSON.stringify({ code: "x".repeat(20000), language: "cobol", timeout: 9999 })]) {
        const answer = await world.send({ path: dialect.path, body });
        assert.equal(answer.status, 402, answer.text);
        assertRequired(answer);
        assert.deepEqual(answer.required.accepts.map(({ amount, payTo }) => [amount, payTo]), [[dialect.amount, info.payTo]]);
        assert.equal(answer.required.resource.url, `${stack.https}${dialect.path}`);
        assert.equal(answer.json.accepts[0].resource, `${stack.https}${dialect.path}`);
        assert.equal(answer.json.details.code, null);
      }
    });

    for (const [version, client] of [[2, payV2], [1, payV1]]) {
      await test(`${dialect.name}: the released v${version} client pays`, async () => {
        const payer = world.nextPayer();
        const body = JSON.stringify({ code: "print('paid')" });
        const { result, ...moved } = await world.moved(payer, () => client({ url: `${stack.https}${dialect.path}`, key: payer.privateKey, ca: stack.ca, body }));
        assert.equal(result.json.stdout, "paid\n");
        await assertReceipt({ ...result, response: result.receipt }, { dialect, body, payer, version });
        assert.deepEqual(moved, { payer: -BigInt(dialect.amount), seller: BigInt(dialect.amount) });
      });
    }

    await test(`${dialect.name}: the same payment, or its key, gets the same bytes and headers`, async () => {
      const key = newKey();
      const first = await run(dialect, { code: "import time\nprint(time.time_ns())" }, { headers: { "Idempotency-Key": key } });
      const again = await world.free(first.payer, async () => [
        await send(dialect, first.body, { headers: { ...first.header, "Idempotency-Key": key } }),
        await send(dialect, first.body, { headers: { "Idempotency-Key": key } }),
        await send(dialect, first.body, { headers: { ...(await paymentFor(dialect, first.payer)), "Idempotency-Key": key } }),
      ]);
      const own = ({ headers: { date, "request-id": id, "idempotency-replayed": replayed, ...rest } }) => rest;
      for (const answer of again) {
        assert.equal(answer.headers["idempotency-replayed"], "true", answer.text);
        assert.ok(answer.bytes.equals(first.answer.bytes), "byte for byte");
        assert.deepEqual(own(answer), own(first.answer));
      }
    });

    await test(`${dialect.name}: its payment buys nothing elsewhere, and none of elsewhere buys it`, async () => {
      const first = await run(dialect, { code: "1" });
      const conflict = (answer) => assert.equal(answer.status, 409, answer.text);
      conflict(await world.free(first.payer, () => send(dialect, { code: "2" }, { headers: first.header })));
      for (const path of ["/execute", ...DIALECTS.map((other) => other.path).filter((path) => path !== dialect.path)]) {
        conflict(await world.free(first.payer, () => world.send({ path, body: first.body, headers: first.header })));
      }
      const small = await world.payment({ payer: first.payer });
      const answer = await world.free(first.payer, () => send(dialect, first.body, { headers: small }));
      assert.equal(answer.status, 402, answer.text);
      assert.equal(answer.json.details.code, "PAYMENT_AMOUNT_INSUFFICIENT");
      assertRequired(answer);
    });

    await test(`${dialect.name}: a quote by its route`, async () => {
      for (const body of ["", "{}", JSON.stringify({ code: "1" })]) {
        const { json } = await world.send({ path: `/quote?route=${encodeURIComponent(dialect.path)}`, body });
        const { accepts, ...rest } = json;
        assert.deepEqual(rest, {
          tier: dialect.name,
          price: dialect.price[0],
          priceUsd: dialect.price[1],
          limits: { timeoutMs: dialect.timeoutMs, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB },
        });
        assert.deepEqual(accepts, [await offerOf(dialect)]);
      }
      assertRefused(await world.send({ path: `/quote?route=${dialect.path}`, body: { language: "cobol" } }), "RUNTIME_UNSUPPORTED");
    });

    await test(`${dialect.name}: no stream, whatever is accepted`, async () => {
      const { answer } = await run(dialect, { code: "print(1)" }, { headers: { Accept: "text/event-stream, application/x-ndjson" } });
      assert.equal(answer.json.stdout, "1\n");
    });
  }

  // ---- languages

  const spellings = {
    python: ["python", "python3", "py"],
    javascript: ["javascript", "js", "node", "nodejs"],
    bash: ["bash", "sh"],
    r: ["r", "R"],
  };
  const programs = { python: "print('ok')", javascript: "console.log('ok')", bash: "echo ok", r: "cat('ok\\n')" };
  const speaks = [[AGENT402, ["python", "javascript"]], [X402ENGINE, ["python", "javascript", "bash", "r"]], [POCKET, ["python"]]];
  for (const [dialect, languages] of speaks) {
    await test(`${dialect.name}: languages and their aliases, told in one form`, async () => {
      await Promise.all(Object.entries(spellings).flatMap(([language, names]) => names.map(async (name) => {
        if (!languages.includes(language)) {
          const answer = await world.send({ path: dialect.path, body: { code: "", language: name }, headers: await paymentFor(dialect, world.nextPayer()) });
          assert.equal(answer.status, 400, answer.text);
          const error = dialect === POCKET ? answer.json.details : answer.json.error;
          assertError(error, "RUNTIME_UNSUPPORTED");
          assert.match(error.message, new RegExp(`offered: ${languages.join(", ")}$`));
          return;
        }
        const { answer, receipt } = await run(dialect, { code: programs[language], language: name });
        assert.equal(answer.json.stdout, "ok\n");
        assert.equal(receipt.runtime, { python: "python3", javascript: "node" }[language] ?? language);
        assert.equal(answer.json.language ?? answer.json.lang ?? language, language);
      })));
    });
  }

  // ---- how it ends

  const ends = [
    ["completes", "print(1)", null, 0, null],
    ["exits with 3", "import sys\nsys.exit(3)", "EXECUTION_RUNTIME_ERROR", 3, "ExitError"],
    ["is killed", "import os\nos.kill(os.getpid(), 9)", "EXECUTION_RUNTIME_ERROR", 137, "SignalError"],
    ["crashes", "import ctypes\nctypes.string_at(0)", "EXECUTION_RUNTIME_ERROR", 139, "SignalError"],
    ["fails", "print('before')\nundefined_name", "EXECUTION_RUNTIME_ERROR", 1, "NameError"],
    ["takes too much memory", "x = bytearray(400 << 20)", "EXECUTION_MEMORY_LIMIT_EXCEEDED", 137, "MemoryLimitExceeded"],
    ["prints too much", "while True: print('x' * 100000)", "EXECUTION_OUTPUT_LIMIT_EXCEEDED", 137, "OutputLimitExceeded"],
  ];
  for (const [name, code, status, exit, error] of ends) {
    await test(`what ${name}`, async () => {
      const [agent, engine, pocket] = await Promise.all(DIALECTS.map((dialect) => run(dialect, { code }, { status })));
      assert.equal(pocket.exit_code, exit);
      assert.equal(engine.exit_code, exit);
      assert.equal(engine.success, status === null);
      assert.equal(agent.error?.name ?? null, error);
      if (agent.error) {
        assert.deepEqual(Object.keys(agent.error), ["name", "message", "traceback"]);
        assert.ok(agent.error.message.length > 0);
        assert.equal(agent.error.traceback === "", error !== "NameError");
        assert.ok(agent.stderr.includes(agent.error.traceback), "the traceback is in stderr too");
      }
      const wanted = { NameError: ["error", agent.error?.traceback], MemoryLimitExceeded: "limit", OutputLimitExceeded: "limit" }[error];
      if (wanted === "limit") {
        assert.deepEqual(engine.outputs.map(({ type, data }) => [type, data.startsWith(`${error}: `)]), [["error", true]]);
      } else {
        assert.deepEqual(text(engine), wanted ? [wanted] : []);
      }
    });
  }

  await test("each has its time", async () => {
    const sleep = { code: "import time\ntime.sleep(60)" };
    const [engine, pocket] = await Promise.all([
      run(X402ENGINE, { ...sleep, timeout: 1.25 }, { status: "SANDBOX_TIMEOUT", timeoutMs: 1250 }),
      run(POCKET, sleep, { status: "SANDBOX_TIMEOUT" }),
    ]);
    assert.deepEqual([engine.exit_code, pocket.exit_code, engine.success], [124, 124, false]);
    assert.ok(engine.execution_time_ms >= 1250, `${engine.execution_time_ms}`);
    assert.match(engine.outputs[0].data, /^TimeoutError: /);
  });

  await test("agent402: what was thrown, in both languages", async () => {
    const nested = await run(AGENT402, { code: "def f():\n  raise KeyError('ä') from ValueError('inner')\nf()" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.deepEqual([nested.error.name, nested.error.message, nested.result], ["KeyError", "'ä'", null]);
    assert.equal(nested.error.traceback, nested.stderr);
    assert.match(nested.stderr, /ValueError: inner[^]*direct cause[^]*File "\/box\/main\.py", line 2, in f/);
    const js = await run(AGENT402, { code: "function f() { null.x }\nf();", language: "js" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.deepEqual([js.error.name, js.error.message], ["TypeError", "Cannot read properties of null (reading 'x')"]);
    assert.match(js.error.traceback, /^TypeError: Cannot read[^]*at f \(\/box\/main\.js:1:\d+\)/);
    assert.ok(js.stderr.includes(js.error.traceback));
    const late = await run(AGENT402, { code: "setTimeout(() => { throw new RangeError('late') }, 1);\n5", language: "js" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.deepEqual([late.error.name, late.error.message, late.result], ["RangeError", "late", null]);
    const syntax = await run(AGENT402, { code: "x = (" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.equal(syntax.error.name, "SyntaxError");
  });

  await test("agent402: the result is what people are shown", async () => {
    const cases = [["'text'", "'text'"], ["None", null], ["x = 1", null], ["float('nan')", "nan"], ["{'a': (1,)}", "{'a': (1,)}"], ["2**70", "1180591620717411303424"], ["'\\ud800'", "'\\ud800'"]];
    await Promise.all(cases.map(async ([code, wanted]) => assert.equal((await run(AGENT402, { code })).result, wanted, code)));
    const js = [["'text'", "'text'"], ["undefined", null], ["new Map([[1, { a: 2 }]])", "Map(1) { 1 => { a: 2 } }"], ["import 'fs';\n10n", "10n"]];
    await Promise.all(js.map(async ([code, wanted]) => assert.equal((await run(AGENT402, { code, language: "js" })).result, wanted, code)));
  });

  await test("a value shares the output limit with what was printed", async () => {
    const code = `import sys\nsys.stdout.write('x' * ${MIB - 4})\n'ä' * 100`;
    assert.equal((await run(AGENT402, { code })).result, "'ä");
    assert.deepEqual(text(await run(X402ENGINE, { code })), [["result", "'ä"]]);
  });

  await test("text that JSON must escape, at its most", async () => {
    const { answer } = await run(AGENT402, { code: "import sys\nsys.stdout.write('\\x01' * 500000)\nsys.stderr.write('\\x02' * 500000)\nraise ValueError('\\x03' * 300000)" }, { status: "EXECUTION_OUTPUT_LIMIT_EXCEEDED" });
    assert.equal(answer.json.stdout.length, 500000);
    const thrown = await run(AGENT402, { code: "raise ValueError('\\x03\\0' * 100000)" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.equal(thrown.error.message, "\u0003\ufffd".repeat(100000));
  });

  // ---- what x402engine hands back

  await test("x402engine: figures of matplotlib and R", async () => {
    const [python, r] = await Promise.all([
      run(X402ENGINE, { code: "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.bar([1], [2])\nprint('drawn')" }),
      run(X402ENGINE, { code: "plot(1:3)\nhist(c(1, 2))", language: "R" }),
    ]);
    assert.equal(python.stdout, "drawn\n");
    for (const { outputs } of [python, r]) {
      const images = outputs.filter(({ type }) => type === "image");
      assert.equal(images.length, 2, JSON.stringify(outputs).slice(0, 300));
      for (const { mimeType, encoding, data, ...rest } of images) {
        assert.deepEqual([mimeType, encoding, rest], ["image/png", "base64", { type: "image" }]);
        const bytes = Buffer.from(data, "base64");
        assert.ok(bytes.subarray(0, 8).equals(PNG) && bytes.length > 1000);
      }
    }
  });

  await test("x402engine: files of /box/outputs, which is there", async () => {
    const code = `import os
print(os.listdir("/box/outputs"))
os.makedirs("/box/outputs/deep")
open("/box/outputs/a.csv", "w").write("ä,1\\n")
open("/box/outputs/deep/b.bin", "wb").write(bytes([0, 255]))
open("/box/outputs/c.txt", "w").truncate(${2 * MIB})
open("/box/other.txt", "w").write("not this")
os.symlink("/etc/passwd", "/box/outputs/link")
7`;
    const { stdout, outputs } = await run(X402ENGINE, { code });
    assert.equal(stdout, "[]\n");
    assert.deepEqual(outputs, [
      { type: "result", mimeType: "text/plain", data: "7" },
      { type: "file", name: "a.csv", mimeType: "text/csv", data: "ä,1\n" },
      { type: "file", name: "c.txt", mimeType: "text/plain", data: null, omitted: "too_large", size: 2 * MIB },
      { type: "file", name: "deep/b.bin", mimeType: "application/octet-stream", data: "AP8=", encoding: "base64" },
    ]);
    const bash = await run(X402ENGINE, { code: "echo hi >outputs/x.log; exit 1", language: "sh" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.deepEqual(bash.outputs, [{ type: "file", name: "x.log", mimeType: "text/plain", data: "hi\n" }]);
  });

  await test("x402engine: what R says when it stops", async () => {
    const { outputs, stderr, exit_code: code } = await run(X402ENGINE, { code: "f <- function() stop('because')\nf()", language: "r" }, { status: "EXECUTION_RUNTIME_ERROR" });
    assert.equal(code, 1);
    assert.equal(outputs.length, 1);
    assert.match(outputs[0].data, /^Error in f\(\) : because\n/);
    assert.ok(stderr.includes(outputs[0].data));
  });

  // ---- refusals

  const refusals = [
    [AGENT402, "[]", "REQUEST_MALFORMED"],
    [AGENT402, "{}", "REQUEST_MALFORMED", /code is missing/],
    [AGENT402, { code: 1 }, "REQUEST_MALFORMED", /code must be a string/],
    [AGENT402, '{"code":"","code":""}', "REQUEST_MALFORMED"],
    [AGENT402, { code: "ä".repeat(10001) }, "SANDBOX_INVALID_REQUEST", /code is over 10000 characters/],
    [AGENT402, { code: "", language: null }, "REQUEST_MALFORMED", /language must be a string/],
    [AGENT402, { code: "", language: "Python" }, "RUNTIME_UNSUPPORTED", /offered: python, javascript$/],
    [X402ENGINE, { code: "", colour: "red" }, "SANDBOX_INVALID_REQUEST", /unknown member "colour"/],
    [X402ENGINE, { code: "", timeout: 0.999 }, "RUNTIME_LIMIT_OUT_OF_RANGE", /timeout is 0\.999; it must be a number from 1 to 300/],
    [X402ENGINE, { code: "", timeout: 300.001 }, "RUNTIME_LIMIT_OUT_OF_RANGE"],
    [X402ENGINE, { code: "", timeout: -1 }, "RUNTIME_LIMIT_OUT_OF_RANGE"],
    [X402ENGINE, { code: "", timeout: "60" }, "REQUEST_MALFORMED", /timeout must be a number/],
    [POCKET, "{}", "REQUEST_MALFORMED", /code is missing/],
    [POCKET, { code: "x".repeat(MIB + 1) }, "SANDBOX_INVALID_REQUEST", /code is over 1 MiB/],
  ];
  for (const [dialect, body, code, message] of refusals) {
    await test(`${dialect.name}: ${JSON.stringify(body).slice(0, 40)} is ${code}, and costs nothing`, async () => {
      const payer = world.nextPayer();
      const headers = await paymentFor(dialect, payer);
      const answer = await world.free(payer, () => send(dialect, body, { headers }));
      if (dialect === POCKET) {
        assert.equal(answer.status, 400, answer.text);
        assert.deepEqual(Object.keys(answer.json), ["error", "details"]);
        assertError(answer.json.details, code);
        assert.equal(answer.json.error, answer.json.details.message);
        assert.match(answer.json.error, message);
      } else {
        assertRefused(answer, code, { message });
      }
      // The payment is still good for what is right.
      assert.equal((await send(dialect, { code: "print(1)" }, { headers })).json?.stdout, "1\n");
    });
  }

  await test("what agent402 and pocket do not know they ignore; 10000 characters are allowed", async () => {
    const more = { session: { a: [{ b: [[1]] }] }, timeout: "soon" };
    assert.equal((await run(AGENT402, { code: `'${"ä".repeat(9998)}'`, ...more })).result, `'${"ä".repeat(9998)}'`);
    assert.equal((await run(POCKET, { code: "print(1)", ...more })).stdout, "1\n");
    const long = await run(X402ENGINE, { code: "print(1)", timeout: 300 }, { timeoutMs: 300000 });
    assert.equal(long.success, true);
    const least = await world.send({ path: `/quote?route=${X402ENGINE.path}`, body: { code: "", timeout: 1 } });
    assert.equal(least.json.limits.timeoutMs, 1000);
  });

  await test("pocket: its form of every error but the 402", async () => {
    const assertForm = (answer, status, code) => {
      assert.equal(answer.status, status, answer.text);
      assertCommon(answer);
      assert.deepEqual(Object.keys(answer.json), ["error", "details"]);
      assertError(answer.json.details, code);
      assert.equal(answer.json.error, answer.json.details.message);
    };
    assertForm(await world.send({ path: "/v1/code", method: "GET" }), 405, "REQUEST_MALFORMED");
    assertForm(await world.send({ path: "/v1/code", base: world.siteUrls.quotesOnly }), 404, "REQUEST_MALFORMED");
    assertForm(await world.send({ path: "/v1/code", headers: { "Content-Encoding": "gzip" }, body: "x" }), 415, "REQUEST_MALFORMED");
    assertForm(await world.send({ path: "/v1/code", headers: { "Idempotency-Key": "short" }, body: "x" }), 400, "SANDBOX_INVALID_REQUEST");
    assertForm(await world.send({ path: "/v1/code", headers: { "X-PAYMENT": "!" }, body: "x" }), 400, "PAYMENT_MALFORMED");
    const payer = world.nextPayer();
    const first = await run(POCKET, { code: "1" }, { payer });
    assertForm(await send(POCKET, { code: "2" }, { headers: first.header }), 409, "PAYMENT_REPLAYED");
    for (const path of ["/api/code-run", "/api/code/run"]) {
      assertRefused(await world.send({ path, method: "PUT" }), "REQUEST_MALFORMED", { status: 405 });
      assertRefused(await world.send({ path, base: world.siteUrls.quotesOnly }), "REQUEST_MALFORMED", { status: 404 });
    }
  });

  await test("pocket: its two free reads", async () => {
    const version = (await world.send({ path: "/version", method: "GET" })).json.version;
    for (const [path, wanted] of [["/v1/health", { status: "ok" }], ["/v1/version", { version }]]) {
      const answer = await world.patiently({ path, method: "GET" });
      assert.equal(answer.status, 200, answer.text);
      assertCommon(answer);
      assert.deepEqual(answer.json, wanted);
      const head = await world.patiently({ path, method: "HEAD" });
      assert.deepEqual([head.status, head.bytes.length], [200, 0]);
      assert.equal((await world.send({ path, method: "POST", body: "{}" })).headers.allow, "GET, HEAD, OPTIONS");
      assert.equal((await world.send({ path, method: "GET", base: world.siteUrls.quotesOnly })).status, 404);
    }
  });

  // ---- sites, and what goes wrong on our side

  await test("a site has its own prices for dialects too", async () => {
    assert.equal((await offerOf(AGENT402, 2, world.siteUrls.owner)).amount, "30000");
    assert.equal((await offerOf(POCKET, 2, world.siteUrls.owner)).amount, "5000", "the others stay");
    const answer = await world.send({ path: "/quote?route=/api/code-run", base: world.siteUrls.owner, body: {} });
    assert.deepEqual([answer.json.price, answer.json.tier], ["$0.0300", "agent402"]);
    // It offers python3 alone.
    assertRefused(await world.send({ path: "/quote?route=/api/code-run", base: world.siteUrls.owner, body: { language: "js" } }), "RUNTIME_UNSUPPORTED", { message: /offered: python$/ });
    assert.equal((await world.send({ path: "/quote?route=/api/code-run", base: world.siteUrls.quotesOnly, body: {} })).status, 404);
  });

  await test("a run that was lost with the boxer is owed, and the dialect's own parser runs it again", async () => {
    const payer = world.nextPayer();
    const body = JSON.stringify({ code: "import subprocess, time\nsubprocess.run(['sleep', '15.125'])\nprint('late')\ntime.time_ns()", language: "py", timeout: 20.5 });
    const headers = await paymentFor(X402ENGINE, payer);
    const { result, ...moved } = await world.moved(payer, async () => {
      const { boxer } = world.processes();
      const lost = send(X402ENGINE, body, { headers });
      await until("the program runs", () => findSleep(world.stack.pid, 15.125));
      process.kill(boxer.pid, "SIGKILL");
      const answer = await lost;
      assert.ok(answer.status === 503 || answer.status === 500, answer.text);
      await until("a new boxer", async () => world.processes().boxer && world.processes().boxer.pid !== boxer.pid && world.health());
      return waking(world.stack.pid, 15.125, async () => [await send(X402ENGINE, body, { headers }), await send(X402ENGINE, body, { headers })]);
    });
    assert.deepEqual(moved, { payer: -5000n, seller: 5000n });
    await assertReceipt(result[0], { dialect: X402ENGINE, body, payer, timeoutMs: 20500 });
    assert.equal(result[0].json.stdout, "late\n");
    assert.match(result[0].json.outputs[0].data, /^\d+$/);
    assert.ok(result[1].bytes.equals(result[0].bytes));
    assert.equal(result[1].headers["tollbox-receipt"], result[0].headers["tollbox-receipt"]);
  });

  await test("a settlement that is refused, and one whose answer is lost", async () => {
    const payer = world.nextPayer();
    const headers = await paymentFor(POCKET, payer);
    const { result, ...moved } = await world.moved(payer, async () => {
      faults.set({ settle: { mode: "refuse", times: 1 } });
      const refused = await send(POCKET, { code: "print(5)" }, { headers });
      assert.equal(refused.status, 402, refused.text);
      assert.equal(refused.json.details.code, "PAYMENT_SETTLEMENT_FAILED");
      assertRequired(refused);
      faults.set({ settle: { mode: "reset-after", times: 1 } });
      const lost = await send(POCKET, { code: "print(5)" }, { headers });
      assert.ok(lost.status === 503 || lost.status === 200, lost.text);
      return send(POCKET, { code: "print(5)" }, { headers });
    });
    assert.equal(result.json.stdout, "5\n", result.text);
    assert.deepEqual(moved, { payer: -5000n, seller: 5000n });
  });
}
