// What a run hands back beside its output: the value of the last expression, and files (api.md sections 2, 3 and 6). Each run is
// paid; world.run() checks the whole answer and recomputes extrasDigest.
import assert from "node:assert/strict";
import { canonical } from "../harness/digests.mjs";
import { assertRefused } from "./shape.mjs";

const MIB = 1024 * 1024;
const python = (source, more) => ({ runtime: "python3", source, evaluate: true, ...more });
const node = (source, more) => ({ runtime: "node", source, evaluate: true, ...more });
const files = (source, outputs, more) => ({ runtime: "python3", source, outputs, ...more });

export default async function extras(test, world) {
  const { run } = world;
  const value = async (job) => {
    const result = await run(job);
    assert.equal(result.outcome, "completed", result.stderr);
    assert.equal(result.stderr, "");
    return result.result;
  };

  // ---- the value
  const values = [
    [python, [
      ["6*7", { json: 42 }],
      ["print('out')\n[1, 2.5, None, True, {'ä': '\"\\n\\0🧰'}]", { json: [1, 2.5, null, true, { ä: '"\n\0🧰' }] }],
      ["x = 5", null],
      ["None", null],
      ["1\nfor i in []: pass", null],
      ["'just text'", { json: "just text" }],
      ["float('nan')", { repr: "nan" }],
      ["[float('inf')]", { repr: "[inf]" }],
      ["2**53", { json: 2 ** 53 }],
      ["2**53 + 1", { repr: "9007199254740993" }],
      ["-0.0", { repr: "-0.0" }],
      ["1e300", { json: 1e300 }],
      ["(1, 2)", { repr: "(1, 2)" }],
      ["{1: 2}", { repr: "{1: 2}" }],
      ["'\\ud800'", { repr: "'\\ud800'" }],
      ["class A:\n  def __repr__(self): return 'an A'\nA()", { repr: "an A" }],
      ["", null],
    ]],
    [node, [
      ["6*7;", { json: 42 }],
      ["const f = () => [1, 2.5, null, true, { ä: '\"\\n\\0🧰' }];\nf();", { json: [1, 2.5, null, true, { ä: '"\n\0🧰' }] }],
      ["const x = 5", null],
      ["undefined", null],
      ["null", { json: null }],
      ["0/0", { repr: "NaN" }],
      ["2**53 + 2", { repr: "9007199254740994" }],
      ["10n", { repr: "10n" }],
      ["new Map([[1, 2]])", { repr: "Map(1) { 1 => 2 }" }],
      ["(async () => 1)()", { repr: "Promise { 1 }" }],
      ["const p = Promise.reject(new Error('x'));\np.catch(() => 0);\np", { repr: "Promise { <rejected> [Error: x] }" }],
      ["let x; x = { a: 1 }", { json: { a: 1 } }],
      ["'use strict'; // c ; d", { json: "use strict" }],
      ["import fs from 'fs';\nconst n = await Promise.resolve(5);\nn + fs.constants.R_OK;", { json: 9 }],
    ]],
  ];
  for (const [runtime, list] of values) {
    for (const [source, wanted] of list) {
      await test(`value in ${runtime("").runtime}: ${JSON.stringify(source).slice(0, 60)}`, async () => {
        const told = await value(runtime(source));
        assert.equal(canonical(told), canonical(wanted));
      });
    }
  }
  await test("without evaluate there is no value", async () => {
    assert.equal("result" in (await run({ runtime: "python3", source: "1", evaluate: false })), false);
  });
  await test("a value goes with arguments, environment, stdin and files", async () => {
    const more = { args: ["a b", "ñ"], env: { GREET: "żółć", TZ: "Asia/Tokyo" }, stdin: "in", files: { "m.py": "X = 1" } };
    const source = "import sys, os, m, time\n[sys.argv, os.environ['GREET'], sys.stdin.read(), m.X, time.strftime('%Z')]";
    assert.deepEqual(await value(python(source, more)), { json: [["main.py", "a b", "ñ"], "żółć", "in", 1, "JST"] });
    const js = "[process.argv.slice(2), process.env.GREET, require('fs').readFileSync(0, 'utf8')]";
    assert.deepEqual(await value(node(js, more)), { json: [["a b", "ñ"], "żółć", "in"] });
  });
  await test("a value of any size within maxOutputBytes comes back", async () => {
    const told = await value(python("'x' * 1000000"));
    assert.equal(told.json.length, 1000000);
  });
  await test("a value that does not fit is shown cut", async () => {
    const told = await value(python("'ä' * 2000", { limits: { maxOutputBytes: 1025 } }));
    assert.equal(told.repr, `'${"ä".repeat(512)}`);
  });
  await test("a value shares maxOutputBytes with what was printed", async () => {
    const told = await value(python("print('x' * 1000, end='')\n'abcdefghijklmnopqrstuvwxyz'", { limits: { maxOutputBytes: 1024 } }));
    assert.equal(told.repr.length, 24);
  });
  await test("a value that the program forges is only its own", async () => {
    for (const [text, wanted] of [
      ["j{\"a\":1,\"a\":2}", { repr: "{\"a\":1,\"a\":2}" }],
      ["j[1e400]", { repr: "[1e400]" }],
      ["j{\"b\": 1.0, \"a\" : 2}", { json: { a: 2, b: 1 } }],
      ["r\\xff\\x00", { repr: "\ufffd\0" }],
      [`j${"[".repeat(3000)}`, { repr: "[".repeat(3000) }],
    ]) {
      const source = `import os\nos.ftruncate(197, 0)\nos.pwrite(197, b'${text}', 0)\nos.close(197)\n5`;
      assert.equal(canonical(await value(python(source))), canonical(wanted));
    }
  });
  await test("a value of other processes, of a closed or of a reused descriptor does not count", async () => {
    assert.equal(await value(python("import os\nos.closerange(3, 256)\nfor i in range(240): os.open('main.py', os.O_RDWR)\n5")), null);
    assert.deepEqual(await value(python("import os\nif os.fork() == 0:\n  pass\nelse:\n  os.wait()\nos.getpid() == 2 and 'parent' or 'child'")), { json: "parent" });
  });
  for (const runtime of [python, node]) {
    const failing = {
      python3: ["1/0", "def f():\n  raise ValueError('x')\nf()", "def", "import sys\nsys.exit(3)\n1", "print('x')\nundefined", "next(iter([]))", "import os\nos.abort()"],
      node: ["nope", "function f() {\n  throw new Error('x');\n}\nf();", "let x = ;", "process.exit(3);\n1", "null.x", "Promise.reject(new Error('x'))", "import './nope.mjs';\n1"],
    }[runtime("").runtime];
    await test(`${runtime("").runtime}: what fails looks the same with evaluate and without`, async () => {
      for (const source of failing) {
        const [plain, asked] = await Promise.all([run({ ...runtime(source), evaluate: false }), run(runtime(source))]);
        for (const member of ["stdout", "stderr", "exitCode", "signal", "outcome"]) {
          assert.equal(asked[member], plain[member], source);
        }
        assert.equal(asked.error.code, plain.error.code, source);
        assert.notEqual(asked.outcome, "completed", source);
      }
    });
  }
  await test("python3: the program sees itself as in a plain run", async () => {
    const source = `import sys, os, traceback, inspect
print(sys.argv, sys.orig_argv, sys.path[0], sorted(sys.modules), sorted(globals()), __file__, len(inspect.stack()), sorted(os.environ))
traceback.print_stack(file=sys.stdout)
print(open(__file__).read() == "".join(inspect.getsourcelines(sys.modules["__main__"])[0]), os.listdir("/etc/python3.11"))
0`;
    const [plain, asked] = await Promise.all([run({ ...python(source), evaluate: false }), run(python(source))]);
    assert.equal(asked.stdout, plain.stdout);
    assert.deepEqual(asked.result, { json: 0 });
  });
  await test("node: the program sees itself as in a plain run", async () => {
    const source = `console.log(process.argv, process.execArgv, Object.keys(require.cache), require.main === module, Object.getOwnPropertyNames(globalThis),
  process.env, require("fs").readFileSync(__filename, "utf8"), require("fs").readFileSync.name, new Error("here").stack);
0;`;
    const [plain, asked] = await Promise.all([run({ ...node(source), evaluate: false }), run(node(source))]);
    assert.equal(asked.stdout, plain.stdout);
    assert.deepEqual(asked.result, { json: 0 });
  });

  // ---- files
  const listed = (outputs) => outputs.map(({ path, size }) => `${path} ${size}`);
  await test("files come back sorted, text as it is and bytes as base64", async () => {
    const source = `import os
os.makedirs("out/deep")
open("out/b.csv", "w").write("ä,1\\n")
open("out/deep/p.png", "wb").write(bytes([137, 80, 78, 71, 255, 0]))
open("out/a.JSON", "w").write("{}")
open("out/empty", "w")`;
    const { outputs } = await run(files(source, ["out/**"]));
    assert.deepEqual(outputs, [
      { path: "out/a.JSON", mimeType: "application/json", size: 2, content: "{}" },
      { path: "out/b.csv", mimeType: "text/csv", size: 5, content: "ä,1\n" },
      { path: "out/deep/p.png", mimeType: "image/png", size: 6, base64: "iVBOR/8A" },
      { path: "out/empty", mimeType: "application/octet-stream", size: 0, content: "" },
    ]);
  });
  await test("paths and globs", async () => {
    const source = `import os
for path in ["a.txt", "b.txt", "ab.txt", ".hid.txt", "d/a.txt", "d/e/a.txt", "d/.h/a.txt", "x[1].txt", "é.txt"]:
  os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
  open(path, "w")`;
    const cases = [
      [["a.txt"], ["a.txt"]],
      [["nope", "d"], []],
      [["?.txt"], ["a.txt", "b.txt", "é.txt"]],
      [["[!a].txt", "[a-b].txt"], ["a.txt", "b.txt", "é.txt"]],
      [["*.txt", "a.txt", "a*"], ["a.txt", "ab.txt", "b.txt", "x[1].txt", "é.txt"]],
      [[".*"], [".hid.txt"]],
      [["**/a.txt"], ["a.txt", "d/a.txt", "d/e/a.txt"]],
      [["d/*/*"], ["d/e/a.txt"]],
      [["d/.h/*"], ["d/.h/a.txt"]],
      [["x[1].txt"], ["x[1].txt"]],
      [["**/**/**/**/**/**/**/*b*b*"], []],
      [["main.p?"], ["main.py"]],
    ];
    await Promise.all(cases.map(async ([outputs, wanted]) => {
      const result = await run(files(source, outputs));
      assert.deepEqual(result.outputs.map(({ path }) => path), wanted, outputs.join());
    }));
  });
  await test("no outputs asked for, none given", async () => {
    assert.deepEqual((await run(files("1", []))).outputs, []);
  });
  await test("a file that does not fit is named, smaller ones still come", async () => {
    const source = "for name, n in [('a', 900), ('b', 900), ('c', 100), ('d', 24), ('e', 1)]:\n  open(name, 'w').write('x' * n)";
    const { outputs } = await run(files(source, ["?"], { limits: { maxOutputBytes: 1024 } }));
    assert.deepEqual(listed(outputs), ["a 900", "b 900", "c 100", "d 24", "e 1"]);
    assert.deepEqual(outputs[1], { path: "b", mimeType: "application/octet-stream", size: 900, omitted: "too_large" });
    assert.deepEqual(outputs.map((file) => "content" in file), [true, false, true, true, false]);
  });
  await test("at most 64 files, the first in order", async () => {
    const source = "for i in range(2000):\n  open(f'{i:04}', 'w').write(str(i))";
    const { outputs } = await run(files(source, ["*"]));
    assert.deepEqual(outputs.map(({ content }) => content), Array.from({ length: 64 }, (_, index) => `${index}`));
  });
  await test("1 MiB of control characters, and of bytes, come back", async () => {
    const { outputs } = await run(files(`open("a", "w").write("\\x01" * ${MIB / 2})\nopen("b", "wb").write(b"\\xff" * ${MIB / 2})`, ["?"]));
    assert.equal(outputs[0].content, "\u0001".repeat(MIB / 2));
    assert.equal(outputs[1].base64, Buffer.alloc(MIB / 2, 255).toString("base64"));
  });
  await test("links, pipes, sockets and folders are no files (faults 35, 36)", async () => {
    const source = `import os, socket
os.symlink("/etc/passwd", "a-link")
os.symlink("/proc/self/environ", "b-link")
os.symlink("../../etc", "c-folder-link")
os.symlink("real", "d-link")
os.mkfifo("e-pipe")
s = socket.socket(socket.AF_UNIX); s.bind("f-socket")
os.mkdir("g-folder")
os.mkdir("h-closed"); open("h-closed/x", "w"); os.chmod("h-closed", 0)
open("i-closed", "w"); os.chmod("i-closed", 0)
open("real", "w").write("x"); os.link("real", "hard")
try: os.link("/etc/passwd", "j-host")
except OSError: pass
open(b"k-\\xff", "w"); open("l\\nm", "w")`;
    const { outputs } = await run(files(source, ["**", "c-folder-link/passwd", "a-link", "e-pipe", "h-closed/x"]));
    assert.deepEqual(outputs.map(({ path }) => path), ["hard", "l\nm", "main.py", "real"]);
  });
  await test("links that are swapped in by what outlives the program change nothing (fault 35)", async () => {
    const source = `import os, sys
open("swap", "w").write("mine")
if os.fork() == 0:
  os.setsid()
  while True:
    for make in (lambda: os.symlink("/etc/passwd", "t"), lambda: open("t", "w").write("mine")):
      make(); os.rename("t", "swap")`;
    const { outputs } = await run(files(source, ["swap"]));
    assert.ok(outputs.every(({ content }) => content === "mine" || content === ""), JSON.stringify(outputs));
  });
  await test("a hole counts what it reads as (fault 37)", async () => {
    const { outputs } = await run(files("import os\nos.truncate(os.open('hole', os.O_CREAT | os.O_RDWR), 32 << 20)\nos.truncate(os.open('small', os.O_CREAT | os.O_RDWR), 5)", ["hole", "small"]));
    assert.deepEqual(outputs[0], { path: "hole", mimeType: "application/octet-stream", size: 32 * MIB, omitted: "too_large" });
    assert.equal(outputs[1].content, "\0\0\0\0\0");
  });
  await test("a deep tree and a wide one end the search, not the run (faults 39, 41)", async () => {
    const deep = "import os\nfor i in range(5000):\n  os.mkdir('d' * 200)\n  os.chdir('d' * 200)\nopen('x', 'w')";
    const wide = "for i in range(16000):\n  open(f'{i:05}', 'w')";
    for (const source of [deep, wide]) {
      const result = await run(files(source, ["**/x", "00007"]));
      assert.equal(result.outcome, "completed", result.stderr);
      assert.deepEqual(listed(result.outputs), source === wide ? ["00007 0"] : []);
    }
  });
  await test("files of a program that failed, or was stopped, come back too", async () => {
    const failed = await run(files("open('x', 'w').write('part')\n1/0", ["x"]));
    assert.equal(failed.error.code, "EXECUTION_RUNTIME_ERROR");
    assert.equal(failed.outputs[0].content, "part");
    const stopped = await run(files("f = open('x', 'w'); f.write('part'); f.flush()\nwhile True: pass", ["x"], { limits: { timeoutMs: 8000 } }));
    assert.equal(stopped.error.code, "SANDBOX_TIMEOUT");
    assert.equal(stopped.outputs[0].content, "part");
    const flooded = await run(files("f = open('x', 'w'); f.write('part'); f.flush()\nwhile True: print('y' * 1000)", ["x"]));
    assert.equal(flooded.error.code, "EXECUTION_OUTPUT_LIMIT_EXCEEDED");
    assert.equal(flooded.outputs[0].content, "part");
  });
  await test("16 MiB of files and 16 MiB of output together", async () => {
    const source = "import sys\nopen('big', 'wb').write(b'x' * (16 << 20))\nsys.stdout.write('y' * (16 << 20))";
    const result = await run(files(source, ["big"], { limits: { maxOutputBytes: 16 * MIB, workDirBytes: 128 * MIB, timeoutMs: 60_000 } }), { amount: "20000" });
    assert.equal(result.outcome, "completed", result.stderr);
    assert.equal(result.outputs[0].content.length, 16 * MIB);
    assert.equal(result.stdout.length, 16 * MIB);
  });
  await test("value and files together, in the other runtimes", async () => {
    const result = await run(node("require('fs').writeFileSync('x.md', '# hi');\n[1];", { outputs: ["*.md"] }));
    assert.deepEqual([result.result, result.outputs], [{ json: [1] }, [{ path: "x.md", mimeType: "text/markdown", size: 4, content: "# hi" }]]);
    const shell = await run({ runtime: "bash", source: "echo hi >a.log; echo out", outputs: ["*.log"] });
    assert.deepEqual([shell.stdout, shell.outputs[0].content], ["out\n", "hi\n"]);
  });
  await test("a replay is the same answer", async () => {
    const first = await run(python("open('x', 'w').write('1')\n[0]", { outputs: ["x"] }));
    const again = await world.send({ body: first.body, headers: first.header });
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.equal(again.text, first.answer.text);
  });

  // ---- refusals, free
  const refusals = [
    [{ evaluate: 1 }, "REQUEST_MALFORMED", /evaluate/],
    [{ evaluate: true, runtime: "bash" }, "SANDBOX_INVALID_REQUEST", /evaluate.*bash/],
    [{ outputs: "x" }, "REQUEST_MALFORMED", /outputs/],
    [{ outputs: [1] }, "REQUEST_MALFORMED", /outputs/],
    [{ outputs: [""] }, "SANDBOX_INVALID_REQUEST", /outputs/],
    [{ outputs: ["/etc/passwd"] }, "SANDBOX_INVALID_REQUEST", /outputs.*\/etc\/passwd/],
    [{ outputs: ["../x"] }, "SANDBOX_INVALID_REQUEST", /outputs/],
    [{ outputs: ["a/./b"] }, "SANDBOX_INVALID_REQUEST", /outputs/],
    [{ outputs: ["a\0b"] }, "SANDBOX_INVALID_REQUEST", /outputs/],
    [{ outputs: Array(65).fill("x") }, "SANDBOX_INVALID_REQUEST", /outputs.*64/],
    [{ outputs: ["x".repeat(256)] }, "SANDBOX_INVALID_REQUEST", /outputs/],
    [{ outputs: ["a/".repeat(16) + "b"] }, "SANDBOX_INVALID_REQUEST", /outputs/],
  ];
  await test("what cannot be asked for is refused and costs nothing", async () => {
    const payer = world.nextPayer();
    await world.free(payer, async () => {
      for (const [members, code, message] of refusals) {
        const headers = await world.payment({ payer });
        const answer = await world.send({ body: { runtime: "python3", source: "1", ...members }, headers });
        assertRefused(answer, code, { message });
      }
    });
  });
}
