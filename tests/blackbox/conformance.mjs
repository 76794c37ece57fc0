// api.md as a list: one row for each row of its tables, and for each rule beside them that one request can show. 16 runs the
// list through every web server; the files named after a topic go deeper.
//
// A row is [where in api.md, what it says, the request, what must come]. Requests are made by the functions below; a request that
// stands in several rows is sent once. What must come: a status, the code of a refusal, or an object, see judge() in
// conformance-run.mjs.
import { highS } from "../devnet/client.mjs";
import { HELLO } from "./world.mjs";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const KEY_MEMBER = "Idempotency-Key";

// ---- requests

export const get = (path, more) => ({ path, method: "GET", ...more });
export const post = (path, body, more) => ({ path, method: "POST", body, ...more });
const unpaid = (body, more) => post("/execute", body, more);
/** With a payment of `pay`: amount, version, and what world.payment() takes. */
export const paid = (body, pay = {}, more = {}) => post("/execute", body, { pay, ...more });
const python = (source, more, pay) => paid({ runtime: "python3", source, ...more }, pay);
const bash = (source, more, pay) => paid({ runtime: "bash", source, ...more }, pay);
/** The payment of `other`, once that has its answer. */
const after = (other, request, more) => ({ ...request, after: other, ...more });
/** Headers with a key of this run's own. */
const keyed = (name) => (it) => ({ [KEY_MEMBER]: it.key(name) });
const options = (path) => ({ path, method: "OPTIONS", headers: { Origin: "https://app.example", "Access-Control-Request-Method": "POST" } });
const limit = (limits, runtime = "python3") => paid({ runtime, source: "", limits });
const withFiles = (files) => paid({ ...HELLO, files });
const withEnv = (env) => paid({ ...HELLO, env });
const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`v${index}`, ""]));
const rpc = (method, params, more) => post("/mcp", { jsonrpc: "2.0", id: 1, method, ...(params && { params }) }, more);
const tool = (args, more) => rpc("tools/call", { name: "execute", arguments: args }, more);
const dialect = (path, amount) => (body, more) => post(path, body, { pay: { amount }, ...more });
const agent402 = dialect("/api/code-run", "20000");
const x402engine = dialect("/api/code/run", "5000");
const pocket = dialect("/v1/code", "5000");

const hello = paid(HELLO);
const helloV1 = paid(HELLO, { version: 1 });
const offer = unpaid(HELLO);
const failing = bash("echo out; echo err >&2; exit 3");
const killed = python("import os; os.kill(os.getpid(), 11)");
const timedOut = bash("sleep 9", { limits: { timeoutMs: 200 } });
const flooding = python("import os, time; os.write(1, b'a' * 1023 + '€'.encode()); time.sleep(9)", { limits: { maxOutputBytes: 1024 } });
const greedy = python("x = bytearray(200 << 20)", { limits: { maxMemoryBytes: 64 * MIB } });
const badBytes = python("import os; os.write(1, b'a\\xff\\xe2\\x82b')");
const extras = python("open('a.txt', 'w').write('x'); open('b.bin', 'wb').write(b'\\xff')\n{'six': 6 * 7}", { evaluate: true, outputs: ["*.txt", "b.bin", "gone"] });
const keptByKey = paid({ ...HELLO, stdin: "kept" }, {}, { headers: keyed("kept") });
const health = get("/health", { patient: true });
const quoteOfNothing = post("/quote", {});
const sse = paid(HELLO, {}, { headers: { Accept: "text/event-stream" } });
const ndjson = paid(HELLO, {}, { headers: { Accept: "application/x-ndjson" } });
const environment = python("import os, json; print(json.dumps([os.getcwd(), os.environ['HOME'], os.environ['TMPDIR'], os.environ['TZ'], os.environ.get('LC_ALL') or os.environ['LANG'], sorted(os.listdir('.'))]))");
const fixedLimits = python(
  `import errno, os, resource as r
print(r.getrlimit(r.RLIMIT_NOFILE)[1], r.getrlimit(r.RLIMIT_CORE)[1], r.getrlimit(r.RLIMIT_FSIZE)[1], os.statvfs('.').f_files)
n = 1
try:
  while n < 200:
    if os.fork() == 0: os.read(os.pipe()[0], 1)
    n += 1
except OSError as e:
  print(n, errno.errorcode[e.errno], flush=True)
os.kill(-1, 9)`);
const fullFolder = python("import errno\ntry:\n  open('x', 'wb').write(b'x' * (8 << 20))\nexcept OSError as e:\n  print(errno.errorcode[e.errno])", { limits: { workDirBytes: 4 * MIB } });
const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
const toolHello = tool(HELLO, { pay: {} });
const agentRun = agent402({ code: "print('hi')\n6 * 7" });
const engineRun = x402engine({ code: "open('outputs/a.csv', 'w').write('1,2\\n')\nprint('hi')\n6 * 7", timeout: 9.5 });
const pocketRun = pocket({ code: "print('hi')", language: "py", colour: "red" });

// ---- what comes

const ran = (more) => ({ ran: more });
const refused = (code, message, status) => ({ code, message, status });
const outOfRange = (...words) => refused("RUNTIME_LIMIT_OUT_OF_RANGE", new RegExp(words.join(".*")));
const against = (message) => refused("SANDBOX_INVALID_REQUEST", message);
const malformed = (message, status) => refused("REQUEST_MALFORMED", message, status);
const price = (amount) => ({ status: 402, required: { accepts: [{ amount }] } });
const isOneDecimal = (value) => value > 0 && Math.round(value * 10) / 10 === value;

const ROUTES = [
  ["1 POST /execute", "is paid: the native dialect", offer, 402],
  ["1 POST /quote", "is free", quoteOfNothing, 200],
  ["1 POST /api/code-run", "is paid: dialect agent402", post("/api/code-run", {}), price("20000")],
  ["1 POST /api/code/run", "is paid: dialect x402engine", post("/api/code/run", {}), price("5000")],
  ["1 POST /v1/code", "is paid: dialect pocket", post("/v1/code", {}), price("5000")],
  ["1 GET /v1/health", "{status: \"ok\"}", get("/v1/health", { patient: true }), { members: ["status"], json: { status: "ok" } }],
  ["1 GET /v1/version", "{version}", get("/v1/version"), { members: ["version"], json: { version: /./ } }],
  ["1 POST /mcp", "tools/call of execute is paid", tool(HELLO), { json: { result: { isError: true, structuredContent: { accepts: [{ amount: "1000" }] } } } }],
  ["1 GET /health", "liveness, queue depth, pool, memory limit", health, {
    members: ["memoryLimit", "pool", "queue", "slots", "status", "version"],
    json: { status: "ok", queue: Number.isInteger, slots: (n) => n > 0, memoryLimit: /^(cgroup2|cgroup1|meter)$/, pool: { python3: { warm: Number.isInteger, starting: Number.isInteger } } },
  }],
  ["1 GET /version", "{name, version, commit}", get("/version"), { members: ["commit", "name", "version"], json: { name: "tollbox" } }],
  ["1 GET /openapi.json", "discovery", get("/openapi.json"), { json: { openapi: /^3\.1\./, paths: { "/execute": {} } } }],
  ["1 GET /.well-known/x402", "discovery", get("/.well-known/x402"), { json: { x402Version: 2, resources: (list) => list.length >= 4 } }],
  ["1 GET /.well-known/x402.json", "the same", get("/.well-known/x402.json"), { json: { x402Version: 2 } }],
  ["1 GET /llms.txt", "discovery", get("/llms.txt"), { headers: { "content-type": /^text\/markdown/ }, text: /\/execute/ }],
  ["1 GET /.well-known/jwks.json", "the receipt keys", get("/.well-known/jwks.json"), { json: { keys: (keys) => keys.length === 2 && keys.every(({ crv }) => crv === "Ed25519") } }],
  ["1 GET /.well-known/did.json", "the receipt keys", get("/.well-known/did.json"), { json: { id: /^did:web:/, verificationMethod: (list) => list.length === 2 } }],
  ["1 GET /metrics", "Prometheus text, loopback only", get("/metrics"), { text: /^# TYPE tollbox_/m, bare: true, only: "nginx" }],
  ["1 GET /", "the page for people", get("/"), { headers: { "content-type": /^text\/html/ }, text: /<html/, bare: true, only: "nginx" }],
  ["1", "an unknown path is 404", get("/nothing"), { ...malformed(/./, 404), whole: true }],
  ["1", "a wrong method is 405 with Allow", get("/execute"), { ...malformed(/./, 405), headers: { allow: /POST/ } }],
  ["1", "a wrong method is 405 with Allow, for a read too", post("/version", {}), { ...malformed(/./, 405), headers: { allow: /GET, HEAD/ } }],
  ["1", "HEAD works where GET does", { path: "/openapi.json", method: "HEAD" }, { status: 200, text: /^$/ }],
  ...["/execute", "/quote", "/api/code-run", "/api/code/run", "/v1/code", "/v1/health", "/mcp", "/health", "/version", "/openapi.json", "/.well-known/x402", "/llms.txt"].map((path) =>
    ["1", `OPTIONS ${path} answers a preflight, and allows every header`, options(path), { status: 204, headers: { "access-control-allow-headers": /(?=.*payment-signature)(?=.*x-payment)(?=.*idempotency-key)(?=.*accept)/i } }]),
  ["1", "the query string is ignored", post("/execute?utm_source=x&limits=1", HELLO), price("1000")],
  ["1", "but on /quote", post("/quote?route=/api/code-run", {}), { json: { tier: "agent402" } }],
  ["1", "a body is JSON whatever its content type says", paid(HELLO, {}, { headers: { "Content-Type": "text/plain" } }), ran({ stdout: "hello\n" })],
  ["1", "a content encoding other than identity is 415", unpaid(HELLO, { headers: { "Content-Encoding": "gzip" } }), malformed(/gzip|encoding/i, 415)],
  ["1", "one 402 serves all: v2 in the header, v1 in the body", offer, {
    status: 402, required: { x402Version: 2, accepts: [{ amount: "1000", network: "eip155:84532" }] }, json: { x402Version: 1, accepts: [{ maxAmountRequired: "1000", network: "base-sepolia" }] },
  }],

  // The first fault wins: each of these has a later one too.
  ["1 order 1", "path (404) first", paid("{", {}, { path: "/nothing" }), { ...malformed(/./, 404), whole: true }],
  ["1 order 1", "then size (413)", paid(Buffer.alloc(32 * MIB + 1, "x"), { raw: "rubbish!" }), malformed(/./, 413)],
  ["1 order 1", "then the form of Idempotency-Key (400)", unpaid("{", { headers: { [KEY_MEMBER]: "short" } }), against(/32/)],
  ["1 order 2", "a key that answers needs no payment", after(keptByKey, unpaid({ ...HELLO, stdin: "kept" }, { headers: keyed("kept") }), { free: true }), { status: 200, headers: { "idempotency-replayed": "true" } }],
  ["1 order 3", "no payment is 402, whatever the body holds", unpaid("", {}), price("1000")],
  ["1 order 3", "priced by the body's own limits where it parses", unpaid({ ...HELLO, limits: { timeoutMs: 60000 } }), price("5000")],
  ["1 order 3", "else at the base price", unpaid("{"), price("1000")],
  ["1 order 4", "the payment is decoded before the body", paid("{", { raw: "rubbish!" }), "PAYMENT_MALFORMED"],
  ["1 order 4", "the signature is checked before the body", paid("{", { sign: { spoil: highS } }), "PAYMENT_INVALID"],
  ["1 order 5", "a claim that exists decides, before the body", after(hello, unpaid("{")), "PAYMENT_REPLAYED"],
  ["1 order 5", "…and before expiry, price and rate: the stored answer", after(hello, unpaid(HELLO)), { status: 200, headers: { "idempotency-replayed": "true" } }],
  ["1 order 6", "the body, before the requirements", paid({ ...HELLO, runtime: "cobol" }, { accepted: { network: "eip155:1" } }), "RUNTIME_UNSUPPORTED"],
  ["1 order 7", "requirements before the amount", paid(HELLO, { accepted: { network: "eip155:1", amount: "1" } }), "PAYMENT_REQUIREMENTS_MISMATCH"],
  ["1 order 7", "the amount before the time window", paid(HELLO, { amount: "999", sign: { validBefore: 1000000000 } }), "PAYMENT_AMOUNT_INSUFFICIENT"],
  ["1 order 7", "the time window", paid(HELLO, { sign: { validBefore: 1000000000 } }), refused("PAYMENT_INVALID", /validBefore/)],
];

const REQUEST = [
  ["2", "a JSON object", paid("[]"), "REQUEST_MALFORMED"],
  ["2", "unknown members are refused", paid({ ...HELLO, timeoutMs: 5 }), against(/timeoutMs/)],
  ["2", "unknown members under limits are refused", limit({ timeout: 5 }), against(/timeout/)],
  ["2", "duplicate keys are refused", paid('{"runtime":"bash","source":"1","source":"2"}'), malformed(/source/)],
  ["2 source", "required", paid({ runtime: "bash" }), malformed(/source/)],
  ["2 source", "a string", paid({ runtime: "bash", source: 1 }), malformed(/source/)],
  ["2 source", "at most 1 MiB", paid({ runtime: "bash", source: "#".repeat(MIB + 1) }), against(/source/)],
  ["2 source", "1 MiB is fine", bash(`#${"x".repeat(MIB - 1)}`), ran({ outcome: "completed" })],
  ["2 runtime", "required", paid({ source: "" }), malformed(/runtime/)],
  ["2 runtime", "one of those offered", paid({ runtime: "cobol", source: "" }), refused("RUNTIME_UNSUPPORTED", /cobol/)],
  ["2 runtime", "python3: main.py", python("print(__file__.split('/')[-1])"), ran({ stdout: "main.py\n" })],
  ["2 runtime", "node: main.js", paid({ runtime: "node", source: "console.log(require('path').basename(__filename))" }), ran({ stdout: "main.js\n" })],
  ["2 runtime", "node with import, export or top-level await: main.mjs", paid({ runtime: "node", source: "import p from 'path'; console.log(p.basename(import.meta.url))" }), ran({ stdout: "main.mjs\n" })],
  ["2 runtime", "bash: main.sh", bash("echo *"), ran({ stdout: "main.sh\n" })],
  ["2 runtime", "r: main.R", paid({ runtime: "r", source: "cat(dir(), '\\n')" }), ran({ stdout: /main\.R/ })],
  ["2", "working directory /box, empty but for the entry file; HOME, TMPDIR, TZ, locale", environment, ran({ stdout: /^\["\/box", "\/box", "\/tmp", "UTC", "C\.UTF-8", \["main\.py"\]\]\n$/ })],
  ["2 stdin", "given to the program, then closed", bash("cat; echo end", { stdin: "in" }), ran({ stdout: "inend\n" })],
  ["2 stdin", "default empty", bash("cat; echo end"), ran({ stdout: "end\n" })],
  ["2 stdin", "at most 16 MiB", paid({ ...HELLO, stdin: "x".repeat(16 * MIB + 1) }), against(/stdin/)],
  ["2 files", "text and base64, in folders", bash("cat d/a; od -An -tx1 b", { files: { "d/a": "text\n", b: { base64: "AP8=" } } }), ran({ stdout: "text\n 00 ff\n" })],
  ["2 files", "at most 256", withFiles(many(257)), against(/256/)],
  ["2 files", "at most 16 MiB in all", withFiles({ a: "x".repeat(16 * MIB + 1) }), against(/files/)],
  ...["/etc/passwd", "../x", "./x", "a//b", "a\0b", "x".repeat(256), `${"d/".repeat(16)}x`].map((path) => ["2 files", `no path like ${JSON.stringify(path.slice(0, 16))}`, withFiles({ [path]: "" }), against(/files/)]),
  ["2 files", "must fit workDirBytes with the source", paid({ ...HELLO, files: { a: "x".repeat(MIB) }, limits: { workDirBytes: MIB } }), against(/workDirBytes/)],
  ["2 files", "none is another's folder", withFiles({ a: "", "a/b": "" }), against(/folder/)],
  ["2 files", "not the entry file's name", withFiles({ "main.py": "" }), refused("RUNTIME_RESERVED_FILE_PATH", /main\.py/)],
  ["2 args", "argv after the entry file", bash('echo "$1-$2"', { args: ["a b", "c"] }), ran({ stdout: "a b-c\n" })],
  ["2 args", "at most 64", paid({ ...HELLO, args: Array(65).fill("") }), against(/args/)],
  ["2 args", "at most 32 KiB in all", paid({ ...HELLO, args: ["x".repeat(32769)] }), against(/args/)],
  ["2 env", "added to the environment", bash("echo $A_1", { env: { A_1: "x" } }), ran({ stdout: "x\n" })],
  ["2 env", "names [A-Za-z_][A-Za-z0-9_]*", withEnv({ "1A": "x" }), against(/1A/)],
  ["2 env", "at most 64", withEnv(many(65)), against(/env/)],
  ["2 env", "at most 32 KiB in all", withEnv({ A: "x".repeat(32769) }), against(/env/)],
  ...["LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "R_PROFILE_USER", "R_ENVIRON"].map((name) => ["2 env", `${name} is refused`, withEnv({ [name]: "x" }), against(new RegExp(name))]),
  ["2 limits", "an object", limit(5), malformed(/limits/)],
  ["2 outputs", "relative paths or globs, handed back", extras, ran({ outputs: [{ path: "a.txt" }, { path: "b.bin" }] })],
  ["2 outputs", "no path out of /box", paid({ ...HELLO, outputs: ["../x"] }), against(/outputs/)],
  ["2 evaluate", "the last expression's value as result", extras, ran({ result: { json: { six: 42 } } })],
  ["2 evaluate", "refused for other runtimes than python3 and node", paid({ runtime: "bash", source: "1", evaluate: true }), against(/evaluate/)],
];

const RESPONSE = [
  ["3", "200 whenever the run started, whatever its outcome", failing, ran({ outcome: "error" })],
  ["3 outcome", "completed only with exit code 0", hello, ran({ outcome: "completed", exitCode: 0 })],
  ["3 outcome", "timeout", timedOut, ran({ outcome: "timeout" })],
  ["3 outcome", "error", failing, ran({ outcome: "error", exitCode: 3 })],
  ["3 stdout, stderr", "strings", failing, ran({ stdout: "out\n", stderr: "err\n" })],
  ["3 stdout, stderr", "what is not UTF-8 becomes U+FFFD, one per ill-formed part", badBytes, ran({ stdout: "a\ufffd\ufffdb" })],
  ["3 stdout, stderr", "a cut never splits a code point", flooding, ran({ stdout: "a".repeat(1023) })],
  ["3 exitCode", "null when the program did not exit by itself", killed, ran({ exitCode: null })],
  ["3 signal", "the one that ended it, when we did not send it", killed, ran({ signal: "SIGSEGV" })],
  ["3 signal", "null when our limit did", timedOut, ran({ signal: null, exitCode: null })],
  ["3 durationMs", "one decimal", hello, ran({ durationMs: isOneDecimal })],
  ["3 truncated", "true for each stream that lost bytes", flooding, ran({ truncated: { stdout: true, stderr: false } })],
  ["3 error", "null exactly when completed", hello, ran({ error: null })],
  ["3 error", "else {code, message, billable, category}", failing, ran({ error: { code: "EXECUTION_RUNTIME_ERROR", message: /3/, billable: true, category: "runtime_error" } })],
  ["3 payment", "{payer, amount, asset, network, transaction}", hello, ran({ payment: { amount: "1000", transaction: /^0x[0-9a-f]{64}$/ } })],
  ["3 receipt", "section 6", hello, ran({ receipt: { tier: "small" } })],
  ["3 result", "null where there is no last expression", python("x = 1", { evaluate: true }), ran({ result: null })],
  ["3 result", "{json: value}", extras, ran({ result: { json: { six: 42 } } })],
  ["3 result", "NaN, infinities and integers beyond 2^53 as repr", python("[float('nan'), 2 ** 53 + 1]", { evaluate: true }), ran({ result: { repr: "[nan, 9007199254740993]" } })],
  ["3 outputs", "{path, mimeType, size, content or base64}", extras, ran({
    outputs: [{ path: "a.txt", mimeType: "text/plain", size: 1, content: "x" }, { path: "b.bin", mimeType: "application/octet-stream", size: 1, base64: "/w==" }],
  })],
  ["3 outputs", "what does not fit is listed as omitted", bash("head -c 2000 /dev/zero | tr '\\0' x >f", { outputs: ["f"], limits: { maxOutputBytes: 1024 } }), ran({ outputs: [{ path: "f", size: 2000, omitted: "too_large" }] })],
  ["3 outputs", "never follows a link", bash("ln -s /etc/passwd f", { outputs: ["f"] }), ran({ outputs: [] })],
  ["3 usage", "{cpuMs, maxMemoryBytes}", hello, ran({ usage: { cpuMs: (n) => n >= 0, maxMemoryBytes: (n) => n > 0 } })],
  ["3", "PAYMENT-RESPONSE for v2", hello, { status: 200, headers: { "payment-response": /./ } }],
  ["3", "X-PAYMENT-RESPONSE for v1, CAIP-2 networks in the body all the same", helloV1, { ...ran({ payment: { network: "eip155:84532" } }), headers: { "x-payment-response": /./ } }],
  ["3", "Accept: text/event-stream: started, stdout, result", sse, { status: 200, text: /^event: started\ndata: \{"payment":[^]*event: stdout\ndata: \{"data":"hello\\n"\}\n\n[^]*event: result\ndata: \{/ }],
  ["3", "Accept: application/x-ndjson: the same as one object a line", ndjson, { status: 200, text: /^\{"type":"started","payment":.*\n(.*\n)*\{"type":"stdout","data":"hello\\n"\}\n(.*\n)*\{"type":"result","data":\{.*\n$/ }],
  ["3", "what fails before the start is an ordinary status with JSON", paid({ runtime: "cobol", source: "" }, {}, { headers: { Accept: "text/event-stream" } }), "RUNTIME_UNSUPPORTED"],
  ["3", "a replay streams started, then result", after(sse, unpaid(HELLO, { headers: { Accept: "text/event-stream" } })), { status: 200, text: /^event: started\n[^\n]*\n\nevent: result\n[^\n]*\n\n$/ }],
];

const field = (name, least, most, odd) => [
  [`4 ${name}`, `minimum ${least}, and the message says all`, limit({ [name]: least - 1 }), outOfRange(name, least - 1, least, most)],
  [`4 ${name}`, `maximum ${most}, and the message says all`, limit({ [name]: most + 1 }), outOfRange(name, most + 1, least, most)],
  [`4 ${name}`, "an integer, never clamped", limit({ [name]: odd }), outOfRange(name)],
  [`4 ${name}`, "its minimum and maximum are in range", post("/quote", { limits: { [name]: least } }), { json: { limits: { [name]: least } } }],
  [`4 ${name}`, "its maximum is in range", post("/quote", { limits: { [name]: most } }), { json: { tier: "large", limits: { [name]: most } } }],
];
const tier = (name, cost, amount, limits) => [
  [`4 ${name}`, `costs ${cost}, and holds these limits`, post("/quote", { limits }), { json: { tier: name, price: cost, accepts: [{ amount }] } }],
  ...Object.entries(limits).map(([limitName, most]) => [
    `4 ${name}`, `holds no more ${limitName}`, post("/quote", { limits: { ...limits, [limitName]: most + 1 } }),
    name === "large" ? outOfRange(limitName) : { json: { tier: (next) => next !== name } },
  ]),
];

const LIMITS = [
  ...field("timeoutMs", 100, 300000, 100.5),
  ...field("maxMemoryBytes", 32 * MIB, 2 * GIB, 32 * MIB + 0.5),
  ["4 maxMemoryBytes", "minimum 64 MiB for node", limit({ maxMemoryBytes: 64 * MIB - 1 }, "node"), outOfRange("maxMemoryBytes", 64 * MIB)],
  ["4 maxMemoryBytes", "minimum 64 MiB for r", limit({ maxMemoryBytes: 64 * MIB - 1 }, "r"), outOfRange("maxMemoryBytes", 64 * MIB)],
  ...field("maxOutputBytes", 1024, 16 * MIB, 1024.5),
  ...field("workDirBytes", MIB, GIB, MIB + 0.5),
  ["4", "the defaults", quoteOfNothing, { json: { limits: { timeoutMs: 10000, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB } } }],
  ["4", "1e4 and 10000.0 are integers", post("/quote", '{"limits":{"timeoutMs":1e4,"maxOutputBytes":10000.0}}'), { json: { limits: { timeoutMs: 10000, maxOutputBytes: 10000 } } }],
  ...tier("small", "$0.0010", "1000", { timeoutMs: 10000, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB }),
  ...tier("medium", "$0.0050", "5000", { timeoutMs: 60000, maxMemoryBytes: 512 * MIB, maxOutputBytes: 4 * MIB, workDirBytes: 256 * MIB }),
  ...tier("large", "$0.0200", "20000", { timeoutMs: 300000, maxMemoryBytes: 2 * GIB, maxOutputBytes: 16 * MIB, workDirBytes: GIB }),
  ["4", "64 processes, 256 open files, no core dumps, files of workDirBytes, 16384 inodes", fixedLimits, ran({ stdout: /^256 [01] 67108864 1638\d\n6[0-4] EAGAIN\n$/, stderr: "" })],
  ["4", "CPU time over the limit is SANDBOX_TIMEOUT too", python("import threading\nfor i in range(2): threading.Thread(target=lambda: sum(iter(int, 1))).start()", { limits: { timeoutMs: 400 } }), ran({ error: { code: "SANDBOX_TIMEOUT" } })],
  ["4", "output of exactly the limit is fine", bash("printf %1000s; printf %24s >&2", { limits: { maxOutputBytes: 1024 } }), ran({ outcome: "completed", truncated: { stdout: false, stderr: false } })],
  ["4", "a full work dir is ENOSPC, not a kill", fullFolder, ran({ outcome: "completed", stdout: "ENOSPC\n" })],
];

const QUOTE = [
  ["5", "{tier, price, priceUsd, limits, accepts}", quoteOfNothing, { members: ["accepts", "limits", "price", "priceUsd", "tier"], json: { tier: "small", price: "$0.0010", priceUsd: 0.001, accepts: [{ scheme: "exact", amount: "1000" }] } }],
  ["5", "the error that /execute would give", post("/quote", { runtime: "cobol" }), "RUNTIME_UNSUPPORTED"],
  ["5", "source and runtime may be missing, with limits", post("/quote", { limits: { timeoutMs: 20000 } }), { json: { tier: "medium" } }],
  ...[["/api/code-run", "agent402"], ["/api/code/run", "x402engine"], ["/v1/code", "pocket"], ["/mcp", "small"]].map(([route, name]) =>
    ["5", `?route=${route} quotes that route`, post(`/quote?route=${route}`, {}), { json: { tier: name } }]),
];

const hex = /^[0-9a-f]{64}$/;
const RECEIPT = [
  ["6", "its digests hold and its signature is by a published key", hello, ran({})],
  ["6 requestDigest", "lower-case hex", hello, ran({ receipt: { requestDigest: hex } })],
  ["6 payment", "{payer, amount, asset, network, reference}", hello, ran({ receipt: { payment: { amount: "1000", network: "eip155:84532", reference: /^0x/ } } })],
  ["6 priceUsd, price", "a dollar sign and at least four decimals", hello, ran({ receipt: { priceUsd: 0.001, price: "$0.0010" } })],
  ["6 tier, limits", "what was sold", timedOut, ran({ receipt: { tier: "small", limits: { timeoutMs: 200, maxOutputBytes: MIB } } })],
  ["6 usage", "{outcome, durationMs, exitCode, truncated}", failing, ran({ receipt: { usage: { outcome: "error", durationMs: isOneDecimal, exitCode: 3, truncated: { stdout: false, stderr: false } } } })],
  ["6 status", "code null and category success when completed", hello, ran({ receipt: { status: { code: null, category: "success", billable: true } } })],
  ["6 status", "the code of what failed", timedOut, ran({ receipt: { status: { code: "SANDBOX_TIMEOUT", category: "timeout", billable: true } } })],
  ["6 outputDigest", "lower-case hex", failing, ran({ receipt: { outputDigest: hex } })],
  ["6 extrasDigest", "where evaluate or outputs was asked for", extras, ran({ receipt: { extrasDigest: hex } })],
  ["6 extrasDigest", "and only there", hello, ran({ receipt: { extrasDigest: undefined } })],
  ["6 runtime", "which one ran", hello, ran({ receipt: { runtime: "python3" } })],
  ["6 issuedAt, issuer", "Unix seconds; a did:web", hello, ran({ receipt: { issuedAt: Number.isInteger, issuer: /^did:web:127\.0\.0\.1%3A\d+$/ } })],
  ["6 signature", "detached, its header exactly alg, kid, typ", hello, ran({ receipt: { signature: (jws) => /^\{"alg":"EdDSA","kid":"did:web:[^"]+#[^"]+","typ":"tollbox-receipt"\}$/.test(Buffer.from(jws.split(".")[0], "base64url")) && jws.split(".")[1] === "" } })],
  ["6", "the x402 extension: signed offers in the 402", offer, { status: 402, required: { extensions: { "offer-receipt": { info: { offers: (list) => list.length === 1 } } } } }],
  ["6", "the x402 extension: a signed receipt in PAYMENT-RESPONSE", hello, { status: 200, response: { extensions: { "offer-receipt": { info: { receipt: { signature: /./ } } } } } }],
];

const MALFORMED = [paid("null"), paid('{"runtime":"bash","runtime":"bash","source":""}'), paid({ runtime: "bash" }), paid({ runtime: "bash", source: [] })];
/** Those that one request makes; the others are at the end of the list, and in 16. */
const CODES = [
  ...MALFORMED.map((request, index) => [`7 REQUEST_MALFORMED`, ["not an object", "duplicate key", "member missing", "wrong type"][index], request, "REQUEST_MALFORMED"]),
  ["7 SANDBOX_INVALID_REQUEST", "unknown member", paid({ ...HELLO, colour: "red" }), against(/colour/)],
  ["7 SANDBOX_INVALID_REQUEST", "malformed Idempotency-Key", paid(HELLO, {}, { headers: { [KEY_MEMBER]: "x" } }), against(/Idempotency-Key/)],
  ["7 RUNTIME_RESERVED_FILE_PATH", "the entry file", paid({ runtime: "node", source: "", files: { "main.js": "" } }), "RUNTIME_RESERVED_FILE_PATH"],
  ["7 RUNTIME_UNSUPPORTED", "not offered", paid({ runtime: "", source: "" }), "RUNTIME_UNSUPPORTED"],
  ["7 RUNTIME_LIMIT_OUT_OF_RANGE", "out of its range", limit({ timeoutMs: 0 }), "RUNTIME_LIMIT_OUT_OF_RANGE"],
  ...[["not base64", "%"], ["not JSON", "aGVsbG8="], ["wrong shape", "e30="]].map(([name, raw]) => ["7 PAYMENT_MALFORMED", name, paid(HELLO, { raw }), "PAYMENT_MALFORMED"]),
  ["7 PAYMENT_INVALID", "signature", paid(HELLO, { sign: { chainId: 1 } }), "PAYMENT_INVALID"],
  ["7 PAYMENT_INVALID", "time window", paid(HELLO, { sign: { validAfter: 4000000000, validBefore: 4100000000 } }), "PAYMENT_INVALID"],
  ["7 PAYMENT_INVALID", "authorization.to", paid(HELLO, { sign: { to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" } }), "PAYMENT_INVALID"],
  ["7 PAYMENT_AMOUNT_INSUFFICIENT", "accepted.amount below the price", paid(HELLO, { amount: "999" }), "PAYMENT_AMOUNT_INSUFFICIENT"],
  ["7 PAYMENT_AMOUNT_INSUFFICIENT", "signed value below the price", paid(HELLO, { sign: { value: "999" } }), "PAYMENT_AMOUNT_INSUFFICIENT"],
  ...[["scheme", "upto"], ["network", "eip155:1"], ["asset", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"], ["payTo", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"]].map(([name, value]) =>
    ["7 PAYMENT_REQUIREMENTS_MISMATCH", `${name} not offered`, paid(HELLO, { accepted: { [name]: value } }), "PAYMENT_REQUIREMENTS_MISMATCH"]),
  ["7 PAYMENT_REQUIREMENTS_MISMATCH", "amount above the price", paid(HELLO, { amount: "1001" }), "PAYMENT_REQUIREMENTS_MISMATCH"],
  ["7 PAYMENT_REPLAYED", "the payment was used for another request", after(hello, unpaid({ ...HELLO, stdin: "x" })), "PAYMENT_REPLAYED"],
  ["7 SANDBOX_TIMEOUT", "200, billable", timedOut, ran({ error: { code: "SANDBOX_TIMEOUT", category: "timeout", billable: true } })],
  ["7 EXECUTION_MEMORY_LIMIT_EXCEEDED", "200, billable", greedy, ran({ error: { code: "EXECUTION_MEMORY_LIMIT_EXCEEDED", category: "memory_exceeded", billable: true } })],
  ["7 EXECUTION_OUTPUT_LIMIT_EXCEEDED", "200, billable", flooding, ran({ error: { code: "EXECUTION_OUTPUT_LIMIT_EXCEEDED", category: "output_limit_exceeded", billable: true } })],
  ["7 EXECUTION_RUNTIME_ERROR", "200, billable", failing, ran({ error: { code: "EXECUTION_RUNTIME_ERROR", category: "runtime_error", billable: true } })],
  ["7 EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED", "200, billable", bash("exec 3<>/dev/tcp/192.0.2.1/80"), ran({ error: { code: "EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED", category: "runtime_error", billable: true } })],
  ["7 EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL", "200, billable", python("open('/etc/x', 'w')"), ran({ error: { code: "EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL", category: "runtime_error", billable: true } })],
  ["7", "on 402 the body is v1's, with the error object under details, code null while nothing was paid", offer, { status: 402, json: { error: /./, details: { code: null, billable: false, category: "payment_required" } } }],
];

const has = (names, json) => ({ status: 200, members: names, json, headers: { "tollbox-receipt": /^[\w-]+$/, "payment-response": /./ } });
const DIALECTS = [
  ["8 agent402", "{language, stdout, stderr, result, error}", agentRun, has(["error", "language", "result", "stderr", "stdout"], { language: "python", stdout: "hi\n", stderr: "", result: "42", error: null })],
  ["8 agent402", "javascript, by its alias", agent402({ code: "({ a: 1 })", language: "node", colour: "red" }), { json: { language: "javascript", result: "{ a: 1 }" } }],
  ["8 agent402", "error {name, message, traceback}", agent402({ code: "1 / 0" }), { json: { result: null, error: { name: "ZeroDivisionError", message: /zero/, traceback: /main\.py/ } } }],
  ["8 agent402", "limits are errors too", agent402({ code: "x = bytearray(400 << 20)" }), { json: { error: { name: "MemoryLimitExceeded" } } }],
  ["8 agent402", "code at most 10000 code points", agent402({ code: "#".repeat(10001) }), against(/code/)],
  ["8 agent402", "$0.02, 30 s, receipt.tier its name", agentRun, { receipt: { tier: "agent402", price: "$0.0200", limits: { timeoutMs: 30000, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB } } }],
  ["8 x402engine", "{stdout, stderr, success, exit_code, execution_time_ms, outputs}", engineRun, has(["execution_time_ms", "exit_code", "outputs", "stderr", "stdout", "success"], {
    stdout: "hi\n", success: true, exit_code: 0, execution_time_ms: Number.isInteger, outputs: [{ type: "result", mimeType: "text/plain", data: "42" }, { type: "file", name: "a.csv", mimeType: "text/csv", data: "1,2\n" }],
  })],
  ["8 x402engine", "timeout in seconds, with fractions; $0.005", engineRun, { receipt: { tier: "x402engine", price: "$0.0050", limits: { timeoutMs: 9500 } } }],
  ["8 x402engine", "the exception (error)", x402engine({ code: "1 / 0" }), { json: { success: false, exit_code: 1, outputs: [{ type: "error", data: /ZeroDivisionError/ }] } }],
  ["8 x402engine", "bash, by an alias; 128 + N for a signal", x402engine({ code: "kill -9 $$", language: "sh" }), { json: { exit_code: 137 } }],
  ["8 x402engine", "124 for time", x402engine({ code: "sleep 9", language: "bash", timeout: 1 }), { json: { exit_code: 124, success: false } }],
  ["8 x402engine", "r, default timeout 60", x402engine({ code: "cat(6 * 7)", language: "R" }), { json: { stdout: "42" }, receipt: { limits: { timeoutMs: 60000 } } }],
  ["8 x402engine", "timeout from 1 to 300", x402engine({ code: "", timeout: 300.5 }), outOfRange("timeout", 1, 300)],
  ["8 x402engine", "other members are refused", x402engine({ code: "", colour: "red" }), against(/colour/)],
  ["8 pocket", "{stdout, stderr, exit_code, lang}; other members ignored; an alias", pocketRun, has(["exit_code", "lang", "stderr", "stdout"], { stdout: "hi\n", stderr: "", exit_code: 0, lang: "python" })],
  ["8 pocket", "$0.005, 5 s", pocketRun, { receipt: { tier: "pocket", price: "$0.0050", limits: { timeoutMs: 5000 } } }],
  ["8 pocket", "137 for memory", pocket({ code: "x = bytearray(400 << 20)" }), { json: { exit_code: 137 } }],
  ["8 pocket", "errors {error: string, details}", pocket({ code: "", language: "javascript" }), { status: 400, members: ["details", "error"], json: { error: /javascript/, details: { code: "RUNTIME_UNSUPPORTED", billable: false } } }],
];

const answers = (error) => ({ status: 200, json: { jsonrpc: "2.0", error } });
const MCP = [
  ["9", "initialize", rpc("initialize", initialize), { status: 200, json: { result: { protocolVersion: "2025-06-18", serverInfo: { name: "tollbox" }, capabilities: { tools: {} } } } }],
  ["9", "ping", rpc("ping"), { status: 200, json: { id: 1, result: {} } }],
  ["9", "tools/list: execute and quote, no outputSchema on the paid one", rpc("tools/list"), { json: { result: { tools: [{ name: "execute", outputSchema: undefined, inputSchema: { properties: { source: {} } } }, { name: "quote" }] } } }],
  ["9", "notifications are 202", post("/mcp", { jsonrpc: "2.0", method: "notifications/initialized" }), { status: 202, text: /^$/ }],
  ["9", "GET /mcp is 405", get("/mcp"), malformed(/./, 405)],
  ["9", "-32700 for what is no JSON", post("/mcp", "{"), { json: { error: { code: -32700 } } }],
  ["9", "-32600 for what is no request", post("/mcp", { id: 1 }), { json: { error: { code: -32600 } } }],
  ["9", "-32601 for an unknown method", rpc("tools/burn"), answers({ code: -32601 })],
  ["9", "-32602 for an unknown tool", rpc("tools/call", { name: "burn", arguments: {} }), answers({ code: -32602 })],
  ["9 quote", "free", rpc("tools/call", { name: "quote", arguments: {} }), { json: { result: { isError: false, structuredContent: { tier: "small" } } } }],
  ["9 execute", "unpaid: PaymentRequired as structure and as text", tool(HELLO), { json: { result: { isError: true, structuredContent: { x402Version: 2, accepts: [{ amount: "1000" }] }, content: [{ type: "text", text: /"accepts"/ }] } } }],
  ["9 execute", "paid: the object of section 3, its stdout, the settlement in _meta", toolHello, { json: { result: { isError: false, structuredContent: { outcome: "completed", stdout: "hello\n" }, content: [{ text: "hello\n" }], _meta: { "x402/payment-response": { success: true } } } } }],
  ["9 execute", "isError false even when the program failed", tool({ runtime: "bash", source: "exit 3" }, { pay: {} }), { json: { result: { isError: false, structuredContent: { outcome: "error", exitCode: 3 } } } }],
  ["9 execute", "a refusal: isError with the error object", tool({ ...HELLO, runtime: "cobol" }, { pay: {} }), { json: { result: { isError: true, structuredContent: { error: { code: "RUNTIME_UNSUPPORTED", billable: false } } } } }],
  ["9 execute", "PaymentRequired where HTTP would say 402", tool(HELLO, { pay: { sign: { chainId: 1 } } }), { json: { result: { isError: true, structuredContent: { accepts: [{}] }, _meta: { "tollbox/error": { code: "PAYMENT_INVALID" } } } } }],
  ["9 execute", "with a progressToken: progress notifications, then the answer",
    rpc("tools/call", { name: "execute", arguments: HELLO, _meta: { progressToken: "p" } }, { pay: {}, headers: { Accept: "application/json, text/event-stream" } }),
    { status: 200, text: /notifications\/progress[^]*"progressToken":"p"[^]*hello[^]*"result"/ }],
  ["9", "requestDigest is that of {arguments, name}", after(toolHello, rpc("tools/call", { arguments: { source: HELLO.source, runtime: HELLO.runtime }, name: "execute" })), { status: 200, headers: { "idempotency-replayed": "true" } }],
];

// For long enough to be seen and killed.
const lostOnce = { ...bash("sleep 8.03125"), losses: 1 };
const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
/** Those that need a fault: of the facilitator, of our own sandbox, or of the settings. Each is sent alone. */
const FAULTS = [
  ["7 PAYMENT_SETTLEMENT_FAILED", "the facilitator refuses; success: false in the payment response", paid({ ...HELLO, stdin: "no" }, {}, { facilitator: "refuse" }), { ...refused("PAYMENT_SETTLEMENT_FAILED"), response: { success: false, transaction: "" } }],
  [`7 ${INDETERMINATE}`, "the facilitator's answer is lost", paid({ ...HELLO, stdin: "lost" }, {}, { facilitator: "reset-before" }), INDETERMINATE],
  ["7 PAYMENT_FACILITATOR_UNAVAILABLE", "the facilitator turns us away", paid({ ...HELLO, stdin: "away" }, {}, { facilitator: { mode: "status", code: 403 } }), "PAYMENT_FACILITATOR_UNAVAILABLE"],
  ["7 SERVICE_INTERNAL_FAILURE", "the site's settings are wrong", unpaid(HELLO, { site: "broken" }), "SERVICE_INTERNAL_FAILURE"],
  ["7 SANDBOX_UNAVAILABLE", "the sandboxes are gone in mid-run", lostOnce, "SANDBOX_UNAVAILABLE"],
  ["7 SANDBOX_SETUP_FAILED", "the same again: all three starts were lost", after(lostOnce, { ...lostOnce, pay: undefined, losses: 2 }), "SANDBOX_SETUP_FAILED"],
];

const rows = (list, more = {}) => list.map(([at, says, request, wanted]) => ({ at, says, request, wanted: typeof wanted === "object" ? wanted : typeof wanted === "number" ? { status: wanted } : { code: wanted }, ...more }));

/** {at, says, request, wanted}; `core`: through the CGI bridge too; `alone`: nothing else may be under way */
export const TABLE = [
  ...rows(ROUTES, { core: true }),
  ...rows(REQUEST),
  ...rows(RESPONSE, { core: true }),
  ...rows(LIMITS),
  ...rows(QUOTE, { core: true }),
  ...rows(RECEIPT, { core: true }),
  ...rows(CODES, { core: true }),
  ...rows(DIALECTS, { core: true }),
  ...rows(MCP, { core: true }),
  ...rows(FAULTS, { alone: true }),
];

/** Codes that need small limits, and so a service of their own: 16 makes them. */
export const ELSEWHERE = ["SERVICE_BUSY", "PAYER_RATE_LIMITED", "PAYER_CONCURRENCY_LIMITED", "EXECUTE_IP_RATE_LIMITED"];

/** Section 11: name, a value for it, and what it is without one. */
export const SETTINGS = [
  ["TOLLBOX_FACILITATOR_URL", "http://127.0.0.1:1"],
  ["TOLLBOX_NETWORK", "eip155:84532"],
  ["TOLLBOX_ASSET", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"],
  ["TOLLBOX_ASSET_NAME", "USDC"],
  ["TOLLBOX_ASSET_VERSION", "2"],
  ["TOLLBOX_ASSET_DECIMALS", "6"],
  ["TOLLBOX_PAY_TO", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
  ["TOLLBOX_RPC_URL", "http://127.0.0.1:2"],
  ["TOLLBOX_PUBLIC_URL", "https://run.example.com"],
  ["TOLLBOX_STATE_DIR", "/var/lib/elsewhere"],
  ["TOLLBOX_MAX_RUNS", "7", /^service\.max_runs = \d+  # from the host$/m],
  ["TOLLBOX_MEMORY_BYTES", "5G", /^service\.memory_bytes = \d+[KMG]?  # from the host$/m],
  ["TOLLBOX_ANSWER_BYTES", "3G", /^service\.answer_bytes = 1G  # default$/m],
  ["TOLLBOX_STORE", "sqlite:/var/lib/elsewhere.db"],
];
export const COMMANDS = ["serve", "check", "config", "payments", "reconcile", "verify-receipt", "version"];
