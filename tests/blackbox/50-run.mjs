// What programs can do and how they end (api.md sections 2 to 4). Each run is paid, and world.run() checks the whole answer.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { SAY } from "./streams.mjs";

const MIB = 1024 * 1024;
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const python = (source, more) => ({ runtime: "python3", source, ...more });
const node = (source, more) => ({ runtime: "node", source, ...more });

/** Asserts the members named in `wanted`. */
function ended(run, wanted) {
  const told = Object.fromEntries(Object.keys(wanted).map((name) => [name, run[name]]));
  assert.deepEqual(told, wanted, run.stderr);
}

const failed = (run, code, wanted) => {
  assert.equal(run.error?.code, code, `${run.error?.message} ${run.stderr}`);
  ended(run, wanted);
};

export default async function runs(test, world) {
  const { run } = world;

  // ---- exit
  await test("python3: hello", async () => {
    ended(await run(python("print('hello')")), { outcome: "completed", stdout: "hello\n", stderr: "", exitCode: 0, signal: null });
  });
  await test("node: hello", async () => {
    ended(await run(node("console.log('hello'); console.error('err')")), { outcome: "completed", stdout: "hello\n", stderr: "err\n", exitCode: 0 });
  });
  await test("an empty program", async () => {
    ended(await run(python("")), { outcome: "completed", stdout: "", stderr: "", exitCode: 0 });
  });
  for (const [source, exitCode] of [["import sys; sys.exit(3)", 3], ["import sys; sys.exit(255)", 255], ["import os; os._exit(139)", 139]]) {
    await test(`exit status ${exitCode}`, async () => {
      failed(await run(python(source)), "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode, signal: null });
    });
  }
  await test("an exception in python3", async () => {
    const result = await run(python("print('before')\n1/0"));
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", stdout: "before\n", exitCode: 1, signal: null });
    assert.match(result.stderr, /main\.py", line 2[\s\S]*ZeroDivisionError/);
  });
  await test("an exception in node", async () => {
    const result = await run(node("throw new TypeError('no')"));
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: 1 });
    assert.match(result.stderr, /main\.js:1[\s\S]*TypeError: no/);
  });
  await test("a syntax error", async () => {
    const result = await run(python("def"));
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: 1 });
    assert.match(result.stderr, /SyntaxError/);
  });
  for (const [signal, number] of [["SIGSEGV", 11], ["SIGABRT", 6], ["SIGKILL", 9], ["SIGTERM", 15]]) {
    await test(`ended by its own ${signal}`, async () => {
      const source = `import os, signal\nsignal.signal(15, signal.SIG_DFL)\nos.kill(os.getpid(), ${number})\nimport time; time.sleep(5)`;
      failed(await run(python(source)), "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: null, signal });
    });
  }
  await test("a real segmentation fault", async () => {
    failed(await run(python("import ctypes; ctypes.string_at(0)")), "EXECUTION_RUNTIME_ERROR", { exitCode: null, signal: "SIGSEGV" });
  });

  // ---- limits
  await test("a program that sleeps over its time", async () => {
    const result = await run(python("print('on', flush=True)\nimport time; time.sleep(60)", { limits: { timeoutMs: 8000 } }));
    failed(result, "SANDBOX_TIMEOUT", { outcome: "timeout", stdout: "on\n", exitCode: null, signal: null });
    assert.ok(result.durationMs >= 8000 && result.durationMs < 40_000, `${result.durationMs} ms`);
    assert.match(result.error.message, /\b8000\b/);
  });
  await test("a program that computes over its time", async () => {
    const result = await run(node("for (;;);", { limits: { timeoutMs: 4000 } }));
    failed(result, "SANDBOX_TIMEOUT", { outcome: "timeout", exitCode: null, signal: null });
    // One thread of node's computes, some others help it to start.
    assert.ok(result.usage.cpuMs > 100 && result.usage.cpuMs < 1.5 * result.durationMs, `${result.usage.cpuMs} ms of CPU in ${result.durationMs} ms`);
  });
  await test("a program that ignores signals over its time", async () => {
    const source = "import signal, time\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\ntime.sleep(60)";
    failed(await run(python(source, { limits: { timeoutMs: 500 } })), "SANDBOX_TIMEOUT", { outcome: "timeout", exitCode: null, signal: null });
  });
  await test("a run may take longer than the fast ones", async () => {
    const result = await run(python("import time; time.sleep(2); print('done')"));
    ended(result, { outcome: "completed", stdout: "done\n" });
    assert.ok(result.durationMs >= 2000);
  });
  await test("output of exactly the limit", async () => {
    const result = await run(python("import os\nos.write(1, b'a' * 1000)\nos.write(2, b'b' * 24)", { limits: { maxOutputBytes: 1024 } }));
    ended(result, { outcome: "completed", stdout: "a".repeat(1000), stderr: "b".repeat(24), truncated: { stdout: false, stderr: false } });
  });
  await test("output of one byte more", async () => {
    const result = await run(python("import os, time\nos.write(1, b'a' * 1025)\ntime.sleep(60)", { limits: { maxOutputBytes: 1024 } }));
    failed(result, "EXECUTION_OUTPUT_LIMIT_EXCEEDED", { outcome: "error", stdout: "a".repeat(1024), exitCode: null, signal: null, truncated: { stdout: true, stderr: false } });
    assert.ok(result.durationMs < 10000, "it was ended there");
  });
  await test("one budget for both streams", async () => {
    const result = await run(python(`${SAY}import os\nos.write(2, b'b' * 600)\ntaken(2)\nos.write(1, b'a' * 600)\ntime.sleep(60)`, { limits: { maxOutputBytes: 1024 } }));
    failed(result, "EXECUTION_OUTPUT_LIMIT_EXCEEDED", { stdout: "a".repeat(424), stderr: "b".repeat(600), truncated: { stdout: true, stderr: false } });
  });
  await test("a flood of output", async () => {
    const result = await run(python("while True: print('y' * 1000)"));
    failed(result, "EXECUTION_OUTPUT_LIMIT_EXCEEDED", { outcome: "error", exitCode: null, signal: null });
    assert.equal(Buffer.byteLength(result.stdout), MIB);
  });
  await test("16 MiB of output come back whole", async () => {
    const result = await run(python("import sys\nsys.stdout.write('x' * (16 << 20))", { limits: { maxOutputBytes: 16 * MIB, timeoutMs: 60_000 } }), { amount: "20000" });
    ended(result, { outcome: "completed", truncated: { stdout: false, stderr: false } });
    assert.equal(result.stdout.length, 16 * MIB);
  });
  await test("memory over the limit", async () => {
    const result = await run(python("x = bytearray(200 << 20)\nprint(len(x))", { limits: { maxMemoryBytes: 64 * MIB } }));
    failed(result, "EXECUTION_MEMORY_LIMIT_EXCEEDED", { outcome: "error", signal: null });
  });
  await test("memory within the limit", async () => {
    const result = await run(python("x = bytearray(150 << 20)\nprint(len(x) >> 20)"));
    ended(result, { outcome: "completed", stdout: "150\n" });
    assert.ok(result.usage.maxMemoryBytes >= 150 * MIB, `${result.usage.maxMemoryBytes}`);
  });
  await test("a full work dir is an error of the program's, not a kill", async () => {
    const source = "try:\n  open('big', 'wb').write(b'x' * (3 << 20))\nexcept OSError as e:\n  print(e.strerror)";
    ended(await run(python(source, { limits: { workDirBytes: 2 * MIB } })), { outcome: "completed", stdout: "No space left on device\n" });
  });
  await test("a fork bomb stays inside", async () => {
    const result = await run(python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", { limits: { timeoutMs: 1000 } }));
    assert.ok(["SANDBOX_TIMEOUT", "EXECUTION_MEMORY_LIMIT_EXCEEDED"].includes(result.error?.code), JSON.stringify(result.error));
  });
  await test("children that outlive the program", async () => {
    const source = "import subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\nprint('parent done')";
    const result = await run(python(source));
    ended(result, { outcome: "completed", stdout: "parent done\n" });
  });

  // ---- text
  await test("unicode in source, arguments, environment, stdin, files and output", async () => {
    const text = "Grüße 🧰 你好 \u0000\u007f\u2028 ́";
    const source = `import sys, os\nprint("ä🧰", sys.argv[1], os.environ["GREET"], sys.stdin.read(), open("päth/f🙂.txt").read(), sep="|", end="")`;
    const result = await run(python(source, { args: ["ñ"], env: { GREET: "żółć" }, stdin: text, files: { "päth/f🙂.txt": "ß" } }));
    ended(result, { outcome: "completed", stdout: `ä🧰|ñ|żółć|${text}|ß` });
  });
  const illFormed = [
    ["a lone continuation byte", [0x61, 0x80, 0x62], "a\ufffdb"],
    ["a sequence cut short", [0xe2, 0x82, 0x41], "\ufffdA"],
    ["an overlong form", [0xc0, 0xaf], "\ufffd\ufffd"],
    ["a surrogate", [0xed, 0xa0, 0x80], "\ufffd\ufffd\ufffd"],
    ["beyond U+10FFFF", [0xf4, 0x90, 0x80, 0x80], "\ufffd\ufffd\ufffd\ufffd"],
    ["an end in mid-sequence", [0x61, 0xf0, 0x9f, 0xa7], "a\ufffd"],
    ["0xff", [0xff, 0xfe, 0x41], "\ufffd\ufffdA"],
  ];
  await test("ill-formed UTF-8 becomes U+FFFD as in the WHATWG rule", async () => {
    for (const [name, bytes, text] of illFormed) {
      assert.equal(new TextDecoder().decode(Buffer.from(bytes)), text, `${name}: the test itself`);
    }
    const lines = illFormed.map(([, bytes]) => `os.write(1, bytes([${bytes}]) + b"\\n")`);
    const result = await run(python(`import os\n${lines.join("\n")}`));
    assert.deepEqual(result.stdout.split("\n").slice(0, -1), illFormed.map(([, , text]) => text));
  });
  await test("a code point cut by the limit is dropped", async () => {
    const result = await run(python("import os, time\nos.write(1, b'a' * 1022 + '🧰'.encode())\ntime.sleep(60)", { limits: { maxOutputBytes: 1024 } }));
    failed(result, "EXECUTION_OUTPUT_LIMIT_EXCEEDED", { stdout: "a".repeat(1022), truncated: { stdout: true, stderr: false } });
  });
  await test("NUL and all other bytes below 128 come back", async () => {
    const all = String.fromCharCode(...Array(128).keys());
    ended(await run(python("import os\nos.write(1, bytes(range(128)))")), { stdout: all });
  });

  // ---- input
  await test("10 MiB of stdin arrive as they were sent", async () => {
    const stdin = "0123456789abcdef".repeat((10 * MIB) / 16);
    const result = await run(python("import sys, hashlib\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())", { stdin }));
    ended(result, { outcome: "completed", stdout: `${sha256(stdin)}\n` });
  });
  await test("stdin that is not read does no harm", async () => {
    ended(await run(python("print('done')", { stdin: "x".repeat(MIB) })), { outcome: "completed", stdout: "done\n" });
  });
  await test("without stdin it is at its end", async () => {
    ended(await run(python("import sys; print(repr(sys.stdin.read()))")), { stdout: "''\n" });
  });
  await test("files, text and base64, in folders", async () => {
    const bytes = Buffer.from([0, 255, 254, 10, 0]);
    const files = { "data/a.txt": "alpha", "data/deep/b.bin": { base64: bytes.toString("base64") }, helper: "", "mod.py": "X = 42" };
    const source = "import os, mod\nprint(open('data/a.txt').read(), open('data/deep/b.bin', 'rb').read().hex(), mod.X, sorted(set(os.listdir('.')) - {'__pycache__'}))";
    ended(await run(python(source, { files })), { stdout: `alpha ${bytes.toString("hex")} 42 ['data', 'helper', 'main.py', 'mod.py']\n`, stderr: "" });
  });
  await test("256 files of 16 parts", async () => {
    const files = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`${"d/".repeat(14)}${index}/f`, "x"]));
    ended(await run(python("import glob\nprint(len(glob.glob('d/**/f', recursive=True)))", { files })), { stdout: "256\n" });
  });
  await test("arguments and environment as they are", async () => {
    const args = ["", "a b", "--help", "'\"$HOME`", "-c"];
    const source = "import sys, os, json\nprint(json.dumps([sys.argv[1:], os.environ['A_1'], os.environ['_b']]))";
    const result = await run(python(source, { args, env: { A_1: "x=y", _b: "" } }));
    assert.deepEqual(JSON.parse(result.stdout), [args, "x=y", ""]);
  });
  await test("64 arguments of 512 bytes less their ends", async () => {
    const args = Array(64).fill("x".repeat(511));
    ended(await run(python("import sys; print(len(sys.argv), sum(map(len, sys.argv[1:])))", { args })), { stdout: `65 ${64 * 511}\n` });
  });
  await test("the place: /box, UTF-8, UTC, uid 1000", async () => {
    const source = `import os, sys, time, locale
e = os.environ
print(os.getcwd(), e["HOME"], e["TMPDIR"], e.get("TZ"), e["LANG"], sys.stdout.encoding, time.strftime("%Z"), os.getuid(), os.getgid())
print(sys.argv[0], os.access("/box", os.W_OK), os.access("/tmp", os.W_OK), os.access("/usr", os.W_OK))`;
    const result = await run(python(source));
    assert.equal(result.stderr, "");
    assert.match(result.stdout, /^\/box \/box \/tmp UTC C\.UTF-8 utf-8 UTC 1000 1000\n(\/box\/)?main\.py True True False\n$/);
  });
  await test("a clean environment and descriptors", async () => {
    const source = "import os, json\nprint(json.dumps([sorted(os.environ), sorted(int(fd) for fd in os.listdir('/proc/self/fd'))]))";
    const [names, descriptors] = JSON.parse((await run(python(source))).stdout);
    const allowed = ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "MPLCONFIGDIR", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "SHLVL", "TMPDIR", "TZ", "USER"];
    assert.deepEqual(names.filter((name) => !allowed.includes(name)), []);
    assert.deepEqual(descriptors.slice(0, 3), [0, 1, 2]);
    assert.ok(descriptors.length <= 4, `${descriptors}`); // the fourth is the listing itself
  });

  // ---- node's two kinds of modules
  await test("node: CommonJS", async () => {
    ended(await run(node("const os = require('node:os'); console.log(typeof os.cpus, require.main === module, __filename)")), {
      stdout: "function true /box/main.js\n",
    });
  });
  await test("node: an import makes it a module", async () => {
    const source = "import { readFileSync } from 'node:fs';\nimport x from './x.mjs';\nconsole.log(readFileSync('t').toString(), x, typeof require, import.meta.url)";
    ended(await run(node(source, { files: { t: "text", "x.mjs": "export default 7" } })), { stdout: "text 7 undefined file:///box/main.mjs\n" });
  });
  await test("node: top-level await makes it a module", async () => {
    ended(await run(node("const n = await Promise.resolve(5);\nconsole.log(n)")), { stdout: "5\n" });
  });
  await test("node: the words alone do not", async () => {
    const source = "// import x from 'y'\nconst s = 'export default await'; async function f() { await null; return typeof require }\nf().then(console.log)";
    ended(await run(node(source)), { stdout: "function\n" });
  });

  // ---- no way out
  await test("no network", async () => {
    const source = `import socket
try:
  socket.create_connection(("1.1.1.1", 53), timeout=3)
  print("connected")
except OSError as e:
  print("refused", e.errno)
try:
  print(socket.getaddrinfo("example.com", 80))
except OSError as e:
  print("no name")
print(open("/proc/net/dev").read().count(":"))`;
    const result = await run(python(source));
    assert.match(result.stdout, /^refused \d+\nno name\n[01]\n$/);
  });
  await test("the daemon's loopback is not the program's", async () => {
    const port = new URL(world.stack.http).port;
    const source = `import socket\ns = socket.socket()\nprint(s.connect_ex(("127.0.0.1", ${port})) != 0)`;
    ended(await run(python(source)), { stdout: "True\n" });
  });
  await test("nothing of the daemon's or the host's secrets can be read", async () => {
    const source = `import os
for path in ["/etc/shadow", ${JSON.stringify(world.folder)}, "/root", "/run/tollbox", "/var/lib/tollbox", "/proc/1/environ", "/proc/1/root", "/proc/1/mem"]:
  try:
    print(path, os.listdir(path) if os.path.isdir(path) else len(open(path, "rb").read()))
  except OSError:
    pass`;
    assert.equal((await run(python(source))).stdout.replace(/^\/(proc\/1\/environ 0|root \[\])\n/gm, ""), "");
  });
  await test("one run leaves nothing for the next", async () => {
    await run(python("open('/box/left', 'w').write('x'); open('/tmp/left', 'w').write('x'); open('/dev/shm/left', 'w').write('x')"));
    ended(await run(python("import os\nprint(os.listdir('/box'), os.listdir('/tmp'), os.listdir('/dev/shm'))")), { stdout: "['main.py'] [] []\n" });
  });
}
