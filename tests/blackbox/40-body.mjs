// A bad body with a good payment attached is refused and costs nothing, rule by rule (api.md sections 2 and 4).
import { assertRefused } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const MIB = 1024 * 1024;
const files = (value) => ({ ...HELLO, files: value });
const manyFiles = (count) => files(Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, ""])));
const env = (value) => ({ ...HELLO, env: value });
const limits = (value, runtime = "python3") => ({ runtime, source: "", limits: value });

const CASES = [
  // ---- not a request at all
  ["an empty body", "", "REQUEST_MALFORMED"],
  ["no JSON", "print('hello')", "REQUEST_MALFORMED"],
  ["JSON cut short", '{"runtime":"python3","source":"', "REQUEST_MALFORMED"],
  ["JSON with a tail", `${JSON.stringify(HELLO)} x`, "REQUEST_MALFORMED"],
  ["a list", "[]", "REQUEST_MALFORMED"],
  ["a string", '"print(1)"', "REQUEST_MALFORMED"],
  ["null", "null", "REQUEST_MALFORMED"],
  ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "REQUEST_MALFORMED"],
  ["a lone surrogate", '{"runtime":"python3","source":"\\ud800"}', "REQUEST_MALFORMED"],
  ["a depth of 10000", "[".repeat(10000), "REQUEST_MALFORMED"],
  ["a duplicate key", '{"runtime":"python3","source":"1","source":"2"}', "REQUEST_MALFORMED", /source/],
  ["a duplicate key spelled otherwise", '{"runtime":"python3","source":"1","s\\u006furce":"2"}', "REQUEST_MALFORMED"],
  ["a duplicate key under limits", '{"runtime":"python3","source":"","limits":{"timeoutMs":100,"timeoutMs":200}}', "REQUEST_MALFORMED"],
  ["a duplicate file", '{"runtime":"python3","source":"","files":{"a":"1","a":"2"}}', "REQUEST_MALFORMED"],

  // ---- members missing, unknown, of the wrong type
  ["no source", { runtime: "python3" }, "REQUEST_MALFORMED", /source/],
  ["no runtime", { source: "1" }, "REQUEST_MALFORMED", /runtime/],
  ["an unknown member", { ...HELLO, timeoutMs: 100 }, "SANDBOX_INVALID_REQUEST", /timeoutMs/],
  ["a member in capitals", { runtime: "python3", Source: "1" }, "SANDBOX_INVALID_REQUEST", /Source/],
  ["an unknown limit", limits({ timeout: 100 }), "SANDBOX_INVALID_REQUEST", /timeout/],
  ["source a number", { runtime: "python3", source: 1 }, "REQUEST_MALFORMED", /source/],
  ["source null", { runtime: "python3", source: null }, "REQUEST_MALFORMED", /source/],
  ["runtime a list", { ...HELLO, runtime: ["python3"] }, "REQUEST_MALFORMED", /runtime/],
  ["stdin an object", { ...HELLO, stdin: {} }, "REQUEST_MALFORMED", /stdin/],
  ["files a list", files([]), "REQUEST_MALFORMED", /files/],
  ["a file that is a number", files({ a: 1 }), "REQUEST_MALFORMED", /"a"/],
  ["a file with another member than base64", files({ a: { base64: "", mode: "x" } }), "REQUEST_MALFORMED"],
  ["args a string", { ...HELLO, args: "a" }, "REQUEST_MALFORMED", /args/],
  ["args of numbers", { ...HELLO, args: [1] }, "REQUEST_MALFORMED", /args/],
  ["env a list", env(["A=1"]), "REQUEST_MALFORMED", /env/],
  ["env of numbers", env({ A: 1 }), "REQUEST_MALFORMED", /A/],
  ["limits a number", limits(5), "REQUEST_MALFORMED", /limits/],
  ["a limit that is a string", limits({ timeoutMs: "100" }), "REQUEST_MALFORMED", /timeoutMs/],

  // ---- runtimes
  ["an unknown runtime", { runtime: "cobol", source: "" }, "RUNTIME_UNSUPPORTED", /cobol/],
  ["a runtime in capitals", { runtime: "Python3", source: "" }, "RUNTIME_UNSUPPORTED"],
  ["a runtime that is a path", { runtime: "../python3", source: "" }, "RUNTIME_UNSUPPORTED"],
  ["an empty runtime", { runtime: "", source: "" }, "RUNTIME_UNSUPPORTED"],

  // ---- sizes
  ["source over 1 MiB", { runtime: "python3", source: "#".repeat(MIB + 1) }, "SANDBOX_INVALID_REQUEST", /source/],
  ["stdin over 16 MiB", { ...HELLO, stdin: "x".repeat(16 * MIB + 1) }, "SANDBOX_INVALID_REQUEST", /stdin/],
  ["257 files", manyFiles(257), "SANDBOX_INVALID_REQUEST", /256/],
  ["files over 16 MiB", files({ a: "x".repeat(8 * MIB), b: "x".repeat(8 * MIB + 1) }), "SANDBOX_INVALID_REQUEST", /files/],
  ["files that do not fit the work dir", { ...files({ a: "x".repeat(MIB) }), limits: { workDirBytes: MIB } }, "SANDBOX_INVALID_REQUEST", /workDirBytes/],
  ["65 args", { ...HELLO, args: Array(65).fill("a") }, "SANDBOX_INVALID_REQUEST", /args/],
  ["args over 32 KiB", { ...HELLO, args: ["x".repeat(32 * 1024 + 1)] }, "SANDBOX_INVALID_REQUEST", /args/],
  ["65 variables", env(Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`V${index}`, ""]))), "SANDBOX_INVALID_REQUEST", /env/],
  ["env over 32 KiB", env({ A: "x".repeat(32 * 1024 + 1) }), "SANDBOX_INVALID_REQUEST", /env/],

  // ---- paths
  ...["/etc/passwd", "../x", "a/../../x", "a/..", ".", "./a", "a/./b", "a//b", "a/", "", "x".repeat(256), `${"d/".repeat(16)}x`].map((path) => [
    `a file at ${JSON.stringify(path.length > 40 ? `${path.slice(0, 20)}… (${path.length})` : path)}`, files({ [path]: "x" }), "SANDBOX_INVALID_REQUEST", /files/,
  ]),
  ["a file with a NUL in its name", files({ "a\0b": "x" }), "SANDBOX_INVALID_REQUEST", /files/],
  ["a file that is another's folder", files({ a: "x", "a/b": "y" }), "SANDBOX_INVALID_REQUEST", /folder/],
  ["base64 that is none", files({ a: { base64: "@@@" } }), "SANDBOX_INVALID_REQUEST", /base64/],
  ["the entry file's own name", files({ "main.py": "x" }), "RUNTIME_RESERVED_FILE_PATH", /main\.py/],
  ["the entry file's name as a folder", files({ "main.py/x": "x" }), "RUNTIME_RESERVED_FILE_PATH", /main\.py/],
  ["node's entry file", { runtime: "node", source: "1", files: { "main.js": "x" } }, "RUNTIME_RESERVED_FILE_PATH", /main\.js/],
  ["node's module entry file", { runtime: "node", source: "import 'fs'", files: { "main.mjs": "x" } }, "RUNTIME_RESERVED_FILE_PATH", /main\.mjs/],

  // ---- environment and arguments
  ...["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS"].map((name) => [
    `env ${name}`, env({ [name]: "x" }), "SANDBOX_INVALID_REQUEST", new RegExp(name),
  ]),
  ...["", "1A", "A-B", "A B", "A=B", "Ä"].map((name) => [`env ${JSON.stringify(name)}`, env({ [name]: "x" }), "SANDBOX_INVALID_REQUEST", /env/]),
  ["a NUL in an argument", { ...HELLO, args: ["a\0b"] }, "SANDBOX_INVALID_REQUEST", /args/],
  ["a NUL in a variable", env({ A: "a\0b" }), "SANDBOX_INVALID_REQUEST", /env/],

  // ---- limits; the message names field, value, minimum and maximum
  ...[
    ["timeoutMs", 99, 100, 300000],
    ["timeoutMs", 300001, 100, 300000],
    ["timeoutMs", 0, 100, 300000],
    ["timeoutMs", -1, 100, 300000],
    ["timeoutMs", 1.5, 100, 300000],
    ["timeoutMs", 1e300, 100, 300000],
    ["maxMemoryBytes", 32 * MIB - 1, 32 * MIB, 2048 * MIB],
    ["maxMemoryBytes", 2048 * MIB + 1, 32 * MIB, 2048 * MIB],
    ["maxOutputBytes", 1023, 1024, 16 * MIB],
    ["maxOutputBytes", 16 * MIB + 1, 1024, 16 * MIB],
    ["workDirBytes", MIB - 1, MIB, 1024 * MIB],
    ["workDirBytes", 1024 * MIB + 1, MIB, 1024 * MIB],
  ].map(([field, value, least, most]) => [
    `${field} of ${value}`, limits({ [field]: value }), "RUNTIME_LIMIT_OUT_OF_RANGE", new RegExp(`${field}.*${least}.*${most}`),
  ]),
  ["node with less than 64 MiB", limits({ maxMemoryBytes: 64 * MIB - 1 }, "node"), "RUNTIME_LIMIT_OUT_OF_RANGE", /67108864/],
];

export default async function bodies(test, world) {
  // One payment serves them all: none of these requests may use it up.
  const payer = world.nextPayer();
  const header = await world.payment({ payer });

  for (const [name, body, code, message] of CASES) {
    await test(`${name}: ${code}`, async () => {
      assertRefused(await world.free(payer, () => world.send({ body, headers: header })), code, { message });
    });
  }

  await test("one byte over 32 MiB: 413 by the daemon", async () => {
    const body = `"${"x".repeat(32 * MIB - 1)}"`;
    assertRefused(await world.free(payer, () => world.send({ body, headers: header })), "REQUEST_MALFORMED", { status: 413 });
  });

  await test("over 33 MiB: 413 by nginx, in the same form", async () => {
    const body = Buffer.alloc(33 * MIB + 1, "x");
    assertRefused(await world.free(payer, () => world.send({ body, headers: header })), "REQUEST_MALFORMED", { status: 413 });
  });

  for (const encoding of ["gzip", "br", "deflate, gzip"]) {
    await test(`content encoding ${encoding}: 415`, async () => {
      const headers = { ...header, "Content-Encoding": encoding };
      assertRefused(await world.free(payer, () => world.send({ body: HELLO, headers })), "REQUEST_MALFORMED", { status: 415 });
    });
  }

  for (const key of ["short", "x".repeat(31), "x".repeat(129), `${"x".repeat(20)} ${"x".repeat(20)}`]) {
    await test(`Idempotency-Key of ${key.length} characters, ${key.includes(" ") ? "one a blank" : "no blank"}: SANDBOX_INVALID_REQUEST`, async () => {
      const headers = { ...header, "Idempotency-Key": key };
      assertRefused(await world.free(payer, () => world.send({ body: HELLO, headers })), "SANDBOX_INVALID_REQUEST", { message: /Idempotency-Key/ });
    });
  }

  await test("after all that the payment is still good", async () => {
    const { result, ...moved } = await world.moved(payer, () =>
      world.send({ body: HELLO, headers: { ...header, "Content-Encoding": "identity" } }));
    if (result.status !== 200 || moved.payer !== -1000n || moved.seller !== 1000n) {
      throw new Error(`${result.status} ${result.text} ${JSON.stringify(moved, (_, value) => String(value))}`);
    }
  });
}
