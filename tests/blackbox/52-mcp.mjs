// MCP at /mcp (api.md section 9) with the released client of the MCP SDK, and by hand where that client is too polite.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "../clients/mcp/client.mjs";
import { decodeHeader, encodeHeader, paymentFor } from "../devnet/client.mjs";
import { findSleep, wake, waking } from "../harness/stack.mjs";
import { until } from "./runner.mjs";
import { SAY } from "./streams.mjs";
import { assertCommon, assertError, assertRefused, assertRun } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const ONCE = { payer: -1000n, seller: 1000n };
const PAYMENT = "x402/payment";
const RESPONSE = "x402/payment-response";
const KEY = "tollbox/idempotency-key";

const MIB = 1024 * 1024;

/** How many MiB more the process `pid` held at a time while `work` ran. */
async function grown(pid, work) {
  const highest = () => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
  writeFileSync(`/proc/${pid}/clear_refs`, "5"); // it begins anew
  const before = highest();
  await work();
  return (highest() - before) / 1024;
}

const newKey = () => randomBytes(24).toString("base64url");
const clock = (seconds = 0) => ({ runtime: "python3", source: `import subprocess, time\nsubprocess.run(['sleep', '${seconds}'])\nprint(time.time_ns())` });
/** RFC 8785 for what has no fractions. */
const canonical = (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value)
    ? `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
    : Array.isArray(value) ? `[${value.map(canonical).join(",")}]` : JSON.stringify(value);

export default async function mcp(test, world) {
  const { info } = world;
  const url = `${world.stack.http}/mcp`;
  const seen = [];
  let client = await connect({ url, seen });

  /** A JSON-RPC message by hand → the answer. */
  const post = (message, { headers = {}, ...more } = {}) => world.send({ path: "/mcp", body: message, headers: { Accept: "application/json, text/event-stream", ...headers }, ...more });
  const rpc = async (method, params, { id = 1, ...more } = {}) => {
    const answer = await post({ jsonrpc: "2.0", id, method, params }, more);
    assert.equal(answer.status, 200, answer.text);
    assertCommon(answer);
    assert.match(answer.headers["content-type"], /^application\/json/);
    assert.equal(answer.json.jsonrpc, "2.0");
    assert.deepEqual(answer.json.id, id);
    return answer;
  };
  const call = (args, meta, more) => rpc("tools/call", { name: "execute", arguments: args, ...(meta ? { _meta: meta } : {}) }, more);
  /** The payment object that a header would hold. */
  const payment = async (payer, options = {}) => decodeHeader(Object.values(await world.payment({ payer, ...options }))[0]);

  /** As assertRun, for a tool's result. */
  function assertResult(result, { args, payer, version = 2 }) {
    assert.equal(result.isError, false, JSON.stringify(result).slice(0, 600));
    const json = result.structuredContent;
    const header = version === 2 ? "payment-response" : "x-payment-response";
    const answer = {
      status: 200, json, text: "", response: result._meta[RESPONSE],
      headers: { "content-type": "application/json", "cache-control": "private", "access-control-allow-origin": "*", "request-id": "12345678", [header]: "",
        "access-control-expose-headers": "payment-required, payment-response, x-payment-response, retry-after, request-id, idempotency-replayed" },
    };
    // What the request is known by: tool and arguments in one spelling.
    const body = canonical({ arguments: args, name: "execute" });
    assertRun(answer, { world, body, asked: args, payer, amount: "1000", version });
    return json;
  }
  const assertDemand = (result, code = null) => {
    assert.equal(result.isError, true);
    assert.equal(result.content.length, 1);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, "the same object as text");
    assert.ok(result.structuredContent.accepts.length > 0);
    assert.equal(result._meta["tollbox/error"].code, code, result._meta["tollbox/error"].message);
    assert.equal(result._meta[RESPONSE], undefined);
    return result.structuredContent;
  };
  const assertToolRefused = (result, code, message) => {
    assert.equal(result.isError, true, JSON.stringify(result).slice(0, 400));
    assert.deepEqual(Object.keys(result.structuredContent), ["error"]);
    assertError(result.structuredContent.error, code);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    if (message) {
      assert.match(result.structuredContent.error.message, message);
    }
  };

  // ---- the protocol, by the released client

  await test("the released client connects, pings and lists the tools", async () => {
    assert.equal(client.getServerVersion().name, "tollbox");
    assert.deepEqual(client.getServerCapabilities(), { tools: { listChanged: false } });
    assert.match(client.getInstructions(), /x402/);
    await client.ping();
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name), ["execute", "quote"]);
    const [execute, quote] = tools;
    assert.equal(execute.outputSchema, undefined);
    assert.match(execute.description, /small \$0\.0010, medium \$0\.0050, large \$0\.0200/);
    assert.deepEqual(execute.inputSchema.required.sort(), ["runtime", "source"]);
    assert.deepEqual(Object.keys(execute.inputSchema.properties).sort(), ["args", "env", "evaluate", "files", "limits", "outputs", "runtime", "source", "stdin"]);
    assert.deepEqual(Object.keys(quote.inputSchema.properties).sort(), Object.keys(execute.inputSchema.properties).sort());
    assert.equal(quote.inputSchema.required, undefined);
    assert.deepEqual(seen.find(({ method }) => method === "GET"), { method: "GET", status: 405, type: "application/json" });
    assert.ok(seen.some(({ status }) => status === 202), "the notification after initialize");
  });

  await test("unpaid: what to pay, as structure and as text, the same as /execute asks", async () => {
    const result = await world.free(info.payers[0], () => client.callTool({ name: "execute", arguments: HELLO }));
    const demand = assertDemand(result);
    const http = await world.send({ body: HELLO });
    assert.equal(demand.x402Version, 2);
    assert.deepEqual(demand.accepts, http.required.accepts);
    assert.equal(demand.resource.url, http.required.resource.url.replace(/\/execute$/, "/mcp"));
    const large = await client.callTool({ name: "execute", arguments: { ...HELLO, limits: { timeoutMs: 60_001 } } });
    assert.equal(large.structuredContent.accepts[0].amount, "20000");
    assert.equal((await client.callTool({ name: "execute", arguments: { no: "sense" } })).structuredContent.accepts[0].amount, "1000");
  });

  await test("paid by the released x402 client from what the result says", async () => {
    const payer = world.nextPayer();
    const { structuredContent } = await client.callTool({ name: "execute", arguments: HELLO });
    const [header] = Object.values(await paymentFor(structuredContent, payer.privateKey));
    const { result, ...moved } = await world.moved(payer, () => client.callTool({ name: "execute", arguments: HELLO, _meta: { [PAYMENT]: decodeHeader(header) } }));
    assert.deepEqual(moved, ONCE);
    assert.equal(assertResult(result, { args: HELLO, payer }).stdout, "hello\n");
    assert.deepEqual(result.content, [{ type: "text", text: "hello\n" }]);
  });

  await test("x402 version 1 in _meta", async () => {
    const payer = world.nextPayer();
    const { json } = await call(HELLO, { [PAYMENT]: await payment(payer, { version: 1 }) });
    assertResult(json.result, { args: HELLO, payer, version: 1 });
    const poor = await call(HELLO, { [PAYMENT]: await payment(payer, { version: 1, sign: { value: "1" } }) });
    assert.equal(assertDemand(poor.json.result, "PAYMENT_AMOUNT_INSUFFICIENT").x402Version, 1);
  });

  await test("what the program did: no error of the tool, and told in words", async () => {
    const rows = [
      [{ runtime: "bash", source: "true" }, "completed", [/wrote nothing/]],
      [{ runtime: "bash", source: "echo out; echo err >&2; exit 3" }, "error", [/^out\n$/, /^err\n$/, /3/]],
      [{ runtime: "bash", source: "sleep 9", limits: { timeoutMs: 200 } }, "timeout", [/200 ms/]],
      [{ runtime: "python3", source: 'print("a\\"b\\\\"); 1/0' }, "error", [/^a"b\\\n$/, /ZeroDivisionError/, /./]],
      [{ runtime: "python3", source: "1+1", evaluate: true }, "completed", [/wrote nothing/]],
    ];
    await Promise.all(rows.map(async ([args, outcome, texts]) => {
      const payer = world.nextPayer();
      const result = await client.callTool({ name: "execute", arguments: args, _meta: { [PAYMENT]: await payment(payer) } });
      assert.equal(assertResult(result, { args, payer }).outcome, outcome);
      assert.equal(result.content.length, texts.length, JSON.stringify(result.content));
      texts.forEach((pattern, index) => assert.match(result.content[index].text, pattern));
    }));
  });

  await test("a quote is free and the one of /quote", async () => {
    for (const args of [{}, { limits: { timeoutMs: 30_000 } }, { ...HELLO, limits: { workDirBytes: 1_000_000_000 } }]) {
      const result = await world.free(info.payers[0], () => client.callTool({ name: "quote", arguments: args }));
      assert.equal(result.isError, false);
      assert.deepEqual(result.structuredContent, (await world.send({ path: "/quote?route=/mcp", body: args })).json);
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    }
    const wrong = await client.callTool({ name: "quote", arguments: { limits: { timeoutMs: 1 } } });
    assertToolRefused(wrong, "RUNTIME_LIMIT_OUT_OF_RANGE", /timeoutMs/);
  });

  // ---- paying exactly once

  let first;
  await test("the same payment and arguments under another id, in another order: the same result, byte for byte", async () => {
    const payer = world.nextPayer();
    const args = clock();
    const paid = await payment(payer);
    const answer = await call(args, { [PAYMENT]: paid }, { id: "one" });
    assertResult(answer.json.result, { args, payer });
    first = { payer, args, paid, answer };
    for (const [id, turned] of [[7, args], ["two", { source: args.source, runtime: args.runtime }]]) {
      const again = await world.free(payer, () => call(turned, { [PAYMENT]: paid }, { id }));
      assert.equal(again.text.replace(JSON.stringify(id), '"one"'), answer.text);
      assert.equal(again.headers["idempotency-replayed"], "true");
    }
  });

  await test("used at /mcp, a payment buys nothing else, here or at /execute", async () => {
    const { payer, args, paid } = first;
    assertToolRefused((await world.free(payer, () => call({ ...args, stdin: "x" }, { [PAYMENT]: paid }))).json.result, "PAYMENT_REPLAYED");
    const body = canonical({ arguments: args, name: "execute" });
    for (const elsewhere of [JSON.stringify(args), body]) {
      const answer = await world.free(payer, () => world.send({ body: elsewhere, headers: { "PAYMENT-SIGNATURE": encodeHeader(paid) } }));
      assertRefused(answer, "PAYMENT_REPLAYED");
    }
  });

  await test("a key in _meta or as a header: a new payment is not settled, and none is needed", async () => {
    const payer = world.nextPayer();
    const args = clock();
    const key = newKey();
    const answer = await call(args, { [PAYMENT]: await payment(payer), [KEY]: key });
    assertResult(answer.json.result, { args, payer });
    for (const [meta, headers] of [[{ [PAYMENT]: await payment(payer), [KEY]: key }, {}], [{ [KEY]: key }, {}], [undefined, { "Idempotency-Key": key }]]) {
      const again = await world.free(payer, () => call(args, meta, { headers }));
      assert.deepEqual(again.json.result, answer.json.result);
    }
    assertDemand((await call(args)).json.result);
    assertToolRefused((await call(args, { [KEY]: "short" })).json.result, "SANDBOX_INVALID_REQUEST", /32 to 128/);
    assertToolRefused((await call(args, { [KEY]: key }, { headers: { "Idempotency-Key": newKey() } })).json.result, "SANDBOX_INVALID_REQUEST", /differ/);
  });

  await test("one payment 50 times at once: one charge, one run, 50 equal results", async () => {
    const payer = world.nextPayer();
    const args = clock(0.3);
    const paid = await payment(payer);
    const { result, ...moved } = await world.moved(payer, () => Promise.all(Array.from({ length: 50 }, (_, id) => call(args, { [PAYMENT]: paid }, { id }))));
    assert.deepEqual(moved, ONCE);
    for (const { json } of result) {
      assert.deepEqual(json.result, result[0].json.result);
    }
    assertResult(result[0].json.result, { args, payer });
  });

  await test("the gate dies in the middle: the run is owed, and had uncharged", async () => {
    const payer = world.nextPayer();
    const args = clock(8.75);
    const paid = await payment(payer);
    const { result, ...moved } = await world.moved(payer, async () => {
      const { gate } = world.processes();
      const lost = call(args, { [PAYMENT]: paid }).catch(() => null);
      await until("the program runs", () => findSleep(world.stack.pid, 8.75));
      process.kill(gate.pid, "SIGKILL");
      await lost;
      await until("a new gate", async () => world.processes().gate && world.processes().gate.pid !== gate.pid && world.health());
      return waking(world.stack.pid, 8.75, () => call(args, { [PAYMENT]: paid }));
    });
    assert.deepEqual(moved, ONCE);
    assertResult(result.json.result, { args, payer });
    client = await connect({ url });
  });

  // ---- refusals

  await test("payments that are refused: what to pay, and why", async () => {
    const payer = world.nextPayer();
    const rows = [
      [{ sign: { value: "999" } }, "PAYMENT_AMOUNT_INSUFFICIENT"],
      [{ sign: { to: info.payers[1].address } }, "PAYMENT_INVALID"],
      [{ accepted: { asset: info.payers[1].address } }, "PAYMENT_REQUIREMENTS_MISMATCH"],
    ];
    for (const [options, code] of rows) {
      const { json } = await world.free(payer, async () => call(HELLO, { [PAYMENT]: await payment(payer, options) }));
      assertDemand(json.result, code);
    }
    for (const bad of ["text", 1, [], null]) {
      assertToolRefused((await call(HELLO, { [PAYMENT]: bad })).json.result, "PAYMENT_MALFORMED", /x402\/payment/);
    }
    assertToolRefused((await call(HELLO, { [PAYMENT]: {} })).json.result, "PAYMENT_MALFORMED");
  });

  await test("a payment or key that cannot be read: its place in the call is named, and no header", async () => {
    const payer = world.nextPayer();
    const paid = await payment(payer);
    const old = await payment(payer, { version: 1 });
    const most = 24 * 1024 / 4 * 3;
    const long = (size) => ({ ...paid, more: "x".repeat(size - canonical({ ...paid, more: "" }).length) });
    const rows = [
      [{ ...paid, x402Version: 3 }, "x402Version must be 1 or 2"],
      [{ ...paid, x402Version: 1 }, "accepted is of version 2, but x402Version is 1"],
      [{ ...old, network: info.network }, "network must be a name such as base-sepolia in version 1"],
      [{ ...paid, more: Array(4200).fill(1) }, /^_meta\["x402\/payment"\] does not hold a JSON object: /],
      [long(most + 1), `_meta["x402/payment"] is longer than ${most} bytes`],
      [long(40_000), `_meta["x402/payment"] is longer than ${most} bytes`],
    ];
    for (const [bad, message] of rows) {
      const { result } = (await call(HELLO, { [PAYMENT]: bad })).json;
      assertToolRefused(result, "PAYMENT_MALFORMED");
      const told = result.structuredContent.error.message;
      assert.ok(typeof message === "string" ? told === message : message.test(told), told);
    }
    for (const key of ["short", "x".repeat(129), "x".repeat(1000), `${newKey()} `, 5]) {
      assertToolRefused((await call(HELLO, { [KEY]: key })).json.result, "SANDBOX_INVALID_REQUEST", /^_meta\["tollbox\/idempotency-key"\] must be .*32 to 128/);
    }
    assertResult((await call(HELLO, { [PAYMENT]: long(most) })).json.result, { args: HELLO, payer });
  });

  await test("arguments that are refused, uncharged: the payment stays good", async () => {
    const payer = world.nextPayer();
    const paid = await payment(payer);
    const rows = [
      [{ ...HELLO, sauce: 1 }, "SANDBOX_INVALID_REQUEST", /sauce/],
      [{ runtime: "cobol", source: "" }, "RUNTIME_UNSUPPORTED", /cobol|runtime/],
      [{ source: "x" }, "REQUEST_MALFORMED", /runtime/],
      [{ ...HELLO, limits: { timeoutMs: 1 } }, "RUNTIME_LIMIT_OUT_OF_RANGE", /timeoutMs/],
      [{ ...HELLO, files: { "main.py": "" } }, "RUNTIME_RESERVED_FILE_PATH", /main\.py/],
    ];
    for (const [args, code, message] of rows) {
      assertToolRefused((await world.free(payer, () => call(args, { [PAYMENT]: paid }))).json.result, code, message);
    }
    assertResult((await call(HELLO, { [PAYMENT]: paid })).json.result, { args: HELLO, payer });
  });

  await test("a settlement that fails, and one that is not known", async () => {
    const payer = world.nextPayer();
    const paid = await payment(payer);
    world.faults.set({ settle: { mode: "refuse" } });
    assertDemand((await call(HELLO, { [PAYMENT]: paid })).json.result, "PAYMENT_SETTLEMENT_FAILED");
    world.faults.set({ settle: { mode: "status", code: 500 } });
    assertToolRefused((await call(HELLO, { [PAYMENT]: paid })).json.result, "PAYMENT_SETTLEMENT_INDETERMINATE");
    world.faults.reset();
    assertResult((await call(HELLO, { [PAYMENT]: paid })).json.result, { args: HELLO, payer });
  });

  // ---- progress

  await test("with a progress token the output comes as it is written", async () => {
    const payer = world.nextPayer();
    const args = { runtime: "python3", source: `${SAY}say('one')\nsay('zwei-ü', sys.stderr)\nimport subprocess\nsubprocess.run(['sleep', '8.375'])\nprint('three')` };
    const told = [];
    let woken;
    const paid = await payment(payer);
    const result = await client.callTool({ name: "execute", arguments: args, _meta: { [PAYMENT]: paid } }, undefined, {
      onprogress: (progress) => {
        told.push(progress);
        // The last part is not written before this one has come.
        woken ??= progress.message === "zwei-ü\n" ? wake(world.stack.pid, 8.375) : undefined;
      },
    });
    assertResult(result, { args, payer });
    const texts = told.map(({ message }) => message);
    assert.match(texts[0], /paid/);
    assert.deepEqual(texts.slice(1), ["one\n", "zwei-ü\n", "three\n"]);
    assert.ok(told.every(({ progress }, index) => index === 0 || progress > told[index - 1].progress), "progress grows");
    await woken;
    const again = [];
    const replayed = await client.callTool({ name: "execute", arguments: args, _meta: { [PAYMENT]: paid } }, undefined, { onprogress: (progress) => again.push(progress) });
    assert.deepEqual(replayed, result);
    assert.equal(again.length, 1);
  });

  await test("no stream without a token, without an Accept for it, or before the run has started", async () => {
    const payer = world.nextPayer();
    const paid = await payment(payer);
    assertDemand((await call(HELLO, { progressToken: 5 })).json.result);
    const plain = await call(HELLO, { [PAYMENT]: paid, progressToken: 5 }, { headers: { Accept: "application/json" } });
    assertResult(plain.json.result, { args: HELLO, payer });
    const streamed = await post({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "execute", arguments: HELLO, _meta: { [PAYMENT]: paid, progressToken: "p\"1" } } });
    assert.match(streamed.headers["content-type"], /^text\/event-stream/);
    const events = streamed.text.trim().split("\n\n").map((event) => JSON.parse(event.replace(/^event: message\ndata: /, "")));
    assert.equal(events[0].params.progressToken, "p\"1");
    assert.equal(events.at(-1).id, 3);
    assert.deepEqual(events.at(-1).result, plain.json.result);
  });

  // ---- JSON-RPC

  await test("each fault has its JSON-RPC code, and the id where it can be read", async () => {
    const message = (more) => JSON.stringify({ jsonrpc: "2.0", id: 9, method: "ping", ...more });
    const rows = [
      ["", -32700, null],
      ["{", -32700, null],
      ['{"jsonrpc":"2.0","id":9,"id":9,"method":"ping"}', -32700, null],
      ["[".repeat(100_000), -32700, null],
      [`[${message()}]`, -32600, null],
      ["1", -32600, null],
      [message({ jsonrpc: "1.0" }), -32600, 9],
      [message({ jsonrpc: undefined }), -32600, 9],
      [message({ id: null }), -32600, null],
      [message({ id: {} }), -32600, null],
      [message({ id: true }), -32600, null],
      [message({ id: "x".repeat(5000) }), -32600, null],
      ['{"jsonrpc":"2.0","id":9007199254740999,"method":"ping"}', -32600, null],
      [message({ method: 1 }), -32600, 9],
      [message({ method: undefined }), -32600, 9],
      [message({ method: "resources/list" }), -32601, 9],
      [message({ method: "" }), -32601, 9],
      [message({ params: [] }), -32602, 9],
      [message({ method: "initialize" }), -32602, 9],
      [message({ method: "tools/list", params: { cursor: "x" } }), -32602, 9],
      [message({ method: "tools/call" }), -32602, 9],
      [message({ method: "tools/call", params: { name: "rm" } }), -32602, 9],
      [message({ method: "tools/call", params: { name: "execute", arguments: "x" } }), -32602, 9],
    ];
    for (const [body, code, id] of rows) {
      const answer = await post(body);
      assert.equal(answer.status, 200, body.slice(0, 100));
      assert.equal(answer.json.error?.code, code, `${body.slice(0, 100)} → ${answer.text.slice(0, 300)}`);
      assert.equal(answer.json.id, id, body.slice(0, 100));
      assert.equal(answer.json.result, undefined);
    }
    for (const id of [0, -1, 1.5, "", "ü\u0000\"", 2 ** 53]) {
      await rpc("ping", undefined, { id });
    }
  });

  await test("notifications and responses are taken in silence; versions are negotiated", async () => {
    for (const silent of [{ jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: 4, result: {} },
      { jsonrpc: "2.0", method: "tools/call", params: { name: "execute", arguments: HELLO, _meta: { [PAYMENT]: await payment(info.payers[0]) } } }]) {
      const answer = await world.free(info.payers[0], () => post(silent));
      assert.deepEqual([answer.status, answer.text], [202, ""]);
    }
    for (const [asked, got] of [["2025-06-18", "2025-06-18"], ["2024-11-05", "2024-11-05"], ["1999-01-01", "2025-11-25"]]) {
      assert.equal((await rpc("initialize", { protocolVersion: asked, capabilities: {}, clientInfo: { name: "x", version: "1" } })).json.result.protocolVersion, got);
    }
    const answer = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { headers: { "MCP-Protocol-Version": "1999-01-01" } });
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error.code, -32600);
    assert.deepEqual((await rpc("ping", undefined, { headers: { "MCP-Protocol-Version": "2025-06-18" } })).json.result, {});
  });

  await test("what is no JSON-RPC: method, size, encoding, a site without the route", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const answer = await world.send({ path: "/mcp", method });
      assertRefused(answer, "REQUEST_MALFORMED", { status: 405 });
      assert.equal(answer.headers.allow, "POST, OPTIONS");
    }
    assertRefused(await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { headers: { "Content-Encoding": "gzip" } }), "REQUEST_MALFORMED", { status: 415 });
    assertRefused(await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { base: world.siteUrls.quotesOnly }), "REQUEST_MALFORMED", { status: 404 });
    const preflight = await world.send({ path: "/mcp", method: "OPTIONS" });
    assert.match(preflight.headers["access-control-allow-headers"], /MCP-Protocol-Version/);
  });

  await test("a large call takes hardly more memory than its body at another route", async () => {
    const { gate } = world.processes();
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`file${n}`, "x".repeat(MIB)]));
    const job = JSON.stringify({ runtime: "bash", source: "true", files });
    const called = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":${job}}}`;
    const execute = await grown(gate.pid, async () => assert.equal((await world.send({ body: job })).status, 402));
    const mcp = await grown(gate.pid, async () => assertDemand((await post(called)).json.result));
    assert.ok(execute > 60 && mcp < execute + 20, `${Math.round(execute)} MiB at /execute, ${Math.round(mcp)} at /mcp`);
  });

  await client.close();
}
