// Every runtime does what any runtime must (tests/runtimes/programs.mjs): the four that are shipped; node's folder once more
// with Debian's own Node.js 18 in a root file system of its own; and perl, which is nothing but a folder with a runtime.conf.
// Then what is particular to one. The stack is started again with those two, and once more without them at the end.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LANGUAGES, TEXT } from "../runtimes/programs.mjs";
import { until } from "./runner.mjs";
import { assertRefused } from "./shape.mjs";

const MIB = 1024 * 1024;
/** A time in which each has started for certain, six at once. */
const STARTED_MS = 8000;
const ROOTFS = fileURLToPath(new URL("../runtimes/rootfs.sh", import.meta.url));
const SHIPPED = fileURLToPath(new URL("../../sandbox-scripts", import.meta.url));
const CACHE = fileURLToPath(new URL("../../build/rootfs", import.meta.url));

/** least: the smallest memory that may be asked for, in MiB */
const RUNTIMES = [
  { name: "python3", language: LANGUAGES.python, least: 32 },
  { name: "node", language: LANGUAGES.node, least: 64 },
  { name: "bash", language: LANGUAGES.bash, least: 32 },
  { name: "r", language: LANGUAGES.r, least: 64 },
  { name: "node18", language: LANGUAGES.node, least: 64 },
  { name: "perl", language: LANGUAGES.perl, least: 32 },
];

// Nothing of perl is anywhere in the product.
const PERL = `entry = main.pl
command = /usr/bin/perl {entry}
binds = /etc/perl
env_refused = PERL*
hello = print "hello\\n";
`;

/** Asserts the members named in `wanted`. */
function ended(run, wanted) {
  const told = Object.fromEntries(Object.keys(wanted).map((name) => [name, run[name]]));
  assert.deepEqual(told, wanted, `${run.error?.message} ${run.stderr}`);
}

function failed(run, code, wanted) {
  assert.equal(run.error?.code, code, `${run.error?.message} ${run.stderr}`);
  ended(run, wanted);
}

export default async function runtimes(test, world) {
  const folder = join(world.folder, "runtimes");
  const rootfs = join(world.folder, "node18");
  // The cache may lie where only root can read.
  const made = execFileSync(ROOTFS, [CACHE, "nodejs", "18."], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  cpSync(made.trim(), rootfs, { recursive: true, verbatimSymlinks: true });
  cpSync(SHIPPED, folder, { recursive: true, filter: (path) => !/\.[ch]$/.test(path) });
  cpSync(join(folder, "node"), join(folder, "node18"), { recursive: true });
  appendFileSync(join(folder, "node18", "runtime.conf"), `rootfs = ${rootfs}\n`);
  mkdirSync(join(folder, "perl"));
  writeFileSync(join(folder, "perl", "runtime.conf"), PERL);
  process.env.TOLLBOX_RUNTIMES_DIR = folder;
  try {
    await world.restart();
    for (const runtime of RUNTIMES) {
      await refusals(test, world, runtime);
    }
    // Side by side, since most of each is waiting; these look at no balance but their own answer's.
    const one = async () => {
      for (let runtime = queue.shift(); runtime; runtime = queue.shift()) {
        await common(test, world, runtime);
      }
    };
    const queue = [...RUNTIMES];
    await Promise.all([one(), one(), one()]);
    await nodes(test, world);
    await shell(test, world);
    await r(test, world);
    await packages(test, world);
  } finally {
    delete process.env.TOLLBOX_RUNTIMES_DIR;
    await world.restart();
    rmSync(rootfs, { recursive: true, force: true });
  }
}

/** What is refused before there is a run, uncharged. */
async function refusals(test, world, { name, language, least }) {
  const refused = async (member, code, message) => {
    const payer = world.nextPayer();
    const header = await world.payment({ payer });
    const body = JSON.stringify({ runtime: name, source: language.hello, ...member });
    assertRefused(await world.free(payer, () => world.send({ body, headers: header })), code, { message });
  };
  await test(`${name}: less memory than it needs, ${language.refused}, and its entry file are refused`, async () => {
    await refused({ limits: { maxMemoryBytes: least * MIB - 1 } }, "RUNTIME_LIMIT_OUT_OF_RANGE", new RegExp(`maxMemoryBytes.*\\b${least * MIB}\\b`));
    await refused({ env: { [language.refused]: "/box/x" } }, "SANDBOX_INVALID_REQUEST", new RegExp(language.refused));
    await refused({ files: { [language.entry]: "" } }, "RUNTIME_RESERVED_FILE_PATH", new RegExp(language.entry.replace(".", "\\.")));
  });
}

/** What holds for all. */
async function common(test, world, { name, language, least }) {
  const run = (program, more) => world.run({ runtime: name, source: language[program], ...more });
  const it = (what, work) => test(`${name}: ${what}`, work);

  await it("hello, and nothing on stderr", async () => {
    ended(await run("hello"), { outcome: "completed", stdout: "hello\n", stderr: "", exitCode: 0, signal: null, error: null });
  });
  await it(`hello in the least memory, ${least} MiB, and in the smallest work dir`, async () => {
    const limits = { maxMemoryBytes: least * MIB, workDirBytes: MIB };
    ended(await run("hello", { limits }), { outcome: "completed", stdout: "hello\n", stderr: "" });
  });
  await it("hello with the work dir full of files", async () => {
    // Some room for folders and the pages that files end in.
    const files = { big: "x".repeat(MIB - 128 * 1024) };
    const full = await run("hello", { files, limits: { workDirBytes: MIB } });
    ended(full, { outcome: "completed", stdout: "hello\n", stderr: "" });
  });
  await it("text beyond ASCII, in the source, on both streams and in a file's name", async () => {
    ended(await run("text"), { outcome: "completed", stdout: `${TEXT}\n${language.entry}\n${TEXT}\n`, stderr: `${TEXT}\n` });
  });
  await it("stdin byte for byte, without one its end", async () => {
    const stdin = `${TEXT}\u0000\r\n`.repeat(30_000) + "no line's end";
    ended(await run("copy", { stdin }), { outcome: "completed", stdout: stdin, stderr: "" });
    ended(await run("copy"), { outcome: "completed", stdout: "", stderr: "" });
  });
  await it("arguments, a variable and a file", async () => {
    const args = ["", "a b", "--help", "-e", "ñ", "--version", "'\"$HOME`"];
    const given = await run("given", { args, env: { GREET: "żółć" }, files: { "päth/f.txt": "ß" } });
    ended(given, { outcome: "completed", stdout: `${[...args, "żółć"].map((s) => `[${s}]`).join("")}ß\n`, stderr: "" });
  });
  await it("an exit code", async () => {
    failed(await run("seven"), "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: 7, signal: null, stderr: "" });
  });
  await it("a signal", async () => {
    failed(await run("crash"), "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: null, signal: "SIGSEGV" });
  });
  await it("an error of the language, and what came before it", async () => {
    const result = await run("error");
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", stdout: "before\n", signal: null });
    assert.ok(result.exitCode > 0 && result.stderr.includes(TEXT), result.stderr);
  });
  await it("a program that cannot be understood", async () => {
    const result = await run("syntax");
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", stdout: "", signal: null });
    assert.ok(result.exitCode > 0);
    assert.match(result.stderr, language.misread);
  });
  await it("over its time, asleep and awake: what it wrote is there", async () => {
    const results = await Promise.all(["sleeps", "burns"].map((program) => run(program, { limits: { timeoutMs: STARTED_MS } })));
    for (const result of results) {
      failed(result, "SANDBOX_TIMEOUT", { outcome: "timeout", stdout: "on\n", exitCode: null, signal: null });
    }
  });
  await it("over its memory", async () => {
    const result = await run("eats", { limits: { maxMemoryBytes: 100 * MIB } });
    failed(result, "EXECUTION_MEMORY_LIMIT_EXCEEDED", { outcome: "error" });
  });
  await it("over its output", async () => {
    const result = await run("floods", { limits: { maxOutputBytes: 65536 } });
    failed(result, "EXECUTION_OUTPUT_LIMIT_EXCEEDED", { outcome: "error", exitCode: null, signal: null });
    assert.equal(Buffer.byteLength(result.stdout), 65536);
  });
  await it("a full work dir is the program's own error", async () => {
    const result = await run("fills", { limits: { workDirBytes: 4 * MIB } });
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: 3, signal: null });
    assert.match(result.stderr, /No space left on device|ENOSPC/);
    assert.match(result.error.message, /no room was left for files/);
  });
  await it("a program of its own", async () => {
    ended(await run("child"), { outcome: "completed", stdout: "child\n", stderr: "" });
  });
}

/** Both versions of node. */
async function nodes(test, world) {
  for (const [name, major] of [["node", Number(process.versions.node.split(".")[0])], ["node18", 18]]) {
    const run = (source, more) => world.run({ runtime: name, source, ...more });
    const it = (what, work) => test(`${name}: ${what}`, work);

    await it("its version, its place", async () => {
      const source = "console.log(process.versions.node.split('.')[0], process.cwd(), __filename, os = require('os').userInfo().username, process.getuid())";
      ended(await run(source), { stdout: `${major} /box /box/main.js sandbox 1000\n`, stderr: "" });
    });
    await it("ES modules, with files and top-level await", async () => {
      const source = "import { readFileSync } from 'node:fs';\nimport x from './x.mjs';\nconsole.log(readFileSync('t').toString(), x, typeof require, import.meta.url, await Promise.resolve(5))";
      const files = { t: "text", "x.mjs": "export default 7" };
      ended(await run(source, { files }), { stdout: "text 7 undefined file:///box/main.mjs 5\n", stderr: "" });
    });
    await it("an error in an ES module", async () => {
      const result = await run("import 'node:fs';\nthrow new TypeError('no')");
      failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: 1, signal: null });
      assert.match(result.stderr, /main\.mjs:2[\s\S]*TypeError: no/);
    });
    await it("workers, WebAssembly, crypto and Intl", async () => {
      const source = `const { Worker } = require("worker_threads");
new WebAssembly.Memory({ initial: 1 });
console.log(require("crypto").createHash("sha256").update("x").digest("hex").slice(0, 8), new Intl.NumberFormat("de").format(1234.5));
new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true }).on("message", console.log);`;
      ended(await run(source), { outcome: "completed", stdout: "2d711642 1.234,5\n42\n", stderr: "" });
    });
    await it("a heap over the memory", async () => {
      const result = await run("const a = []; for (;;) a.push(new Array(1e5).fill({}))", { limits: { maxMemoryBytes: 100 * MIB } });
      failed(result, "EXECUTION_MEMORY_LIMIT_EXCEEDED", { outcome: "error" });
    });
  }
  await test("node18: is started ahead in its root file system, perl without a hook is not", async () => {
    await until("one waits", async () => (await world.health())?.pool.node18.warm > 0);
    const { pool } = await until("it is healthy", world.health);
    assert.deepEqual(pool.perl, { warm: 0, starting: 0 });
  });
  await test("node18: sees its own root file system, read-only, and nothing of the host's", async () => {
    const source = `const fs = require("fs");
const has = (path) => fs.existsSync(path);
let write; try { fs.writeFileSync("/usr/x", ""); write = "open" } catch (e) { write = e.code }
console.log(has("/bin/sh"), has("/usr/bin/python3"), has("/usr/bin/bash"), has("/var"), fs.readFileSync("/etc/passwd", "utf8").split("\\n").length, write, fs.readdirSync("/").join(" "));`;
    const result = await world.run({ runtime: "node18", source });
    ended(result, { stdout: "true false false false 4 EROFS bin box dev etc lib lib64 proc sbin tmp usr\n", stderr: "" });
  });
}

async function shell(test, world) {
  const run = (source, more) => world.run({ runtime: "bash", source, ...more });
  await test("bash: no warnings of locale or terminal, no history, not interactive", async () => {
    ended(await run("echo $- $0 $# ${#HISTFILE} $PWD $LANG; locale 2>&1 | grep -c warning; shopt -o posix"), {
      stdout: "hB main.sh 0 0 /box C.UTF-8\n0\nposix          \toff\n",
      stderr: "",
    });
  });
  await test("bash: pipes, here documents, process substitution, jobs", async () => {
    const source = "cat <<E | tr a-z A-Z\nhere\nE\ncat <(echo sub)\nsleep 0.1 & wait $!; echo $?\ncoproc cat; echo co >&${COPROC[1]}; read -ru ${COPROC[0]} x; echo $x";
    ended(await run(source), { outcome: "completed", stdout: "HERE\nsub\n0\nco\n", stderr: "" });
  });
}

async function r(test, world) {
  const run = (source, more) => world.run({ runtime: "r", source, ...more });
  await test("r: the default packages, the time zone, no noise at any of it", async () => {
    const source = 'cat(search(), sep = " "); cat("\\n", Sys.timezone(), l10n_info()[["UTF-8"]], getwd(), R.home(), "\\n")\nx <- format(Sys.time()); invisible(sessionInfo())';
    const result = await run(source);
    ended(result, {
      outcome: "completed",
      stderr: "",
      stdout: ".GlobalEnv package:stats package:graphics package:grDevices package:utils package:datasets package:methods Autoloads package:base\n UTC TRUE /box /usr/lib/R \n",
    });
  });
  await test("r: linear algebra, a model", async () => {
    const source = 'print(solve(matrix(c(2, 1, 1, 3), 2)))\nprint(round(coef(lm(mpg ~ wt, mtcars)), 2))';
    ended(await run(source), {
      outcome: "completed",
      stderr: "",
      stdout: "     [,1] [,2]\n[1,]  0.6 -0.2\n[2,] -0.2  0.4\n(Intercept)          wt \n      37.29       -5.34 \n",
    });
  });
  await test("r: png with fonts, and nothing else in the work dir", async () => {
    const source = `png("a.png"); plot(1:3, main = "${TEXT}"); invisible(dev.off())\nwriteLines(c(readBin("a.png", "character"), list.files(all.files = TRUE, no.. = TRUE)))\ncat(sprintf("%02x", as.integer(readBin("a.png", "raw", 4L))), file.size("a.png") > 2000)`;
    const result = await run(source);
    assert.equal(result.stderr, "");
    assert.match(result.stdout, /a\.png\nmain\.R\n89 50 4e 47 TRUE$/);
  });
  await test("r: a warning and an error are on stderr", async () => {
    const result = await run('warning("wärm"); f <- function() stop("ko"); f()');
    failed(result, "EXECUTION_RUNTIME_ERROR", { outcome: "error", exitCode: 1, stdout: "" });
    assert.match(result.stderr, /wärm[\s\S]*Error in f\(\) : ko/);
  });
  await test("r: a vector that cannot be had", async () => {
    const result = await run("x <- numeric(1e10); print(sum(x))");
    assert.equal(result.outcome, "error");
    assert.ok(["EXECUTION_MEMORY_LIMIT_EXCEEDED", "EXECUTION_RUNTIME_ERROR"].includes(result.error.code));
    if (result.error.code === "EXECUTION_RUNTIME_ERROR") {
      assert.match(result.stderr, /cannot allocate vector/);
    }
  });
  await test("r: a job's own .Rprofile and .Renviron", async () => {
    const files = { ".Rprofile": 'options(own = "profile"); own_search <- length(search())\n', ".Renviron": "OWN=environ\n" };
    ended(await run('cat(getOption("own"), Sys.getenv("OWN"), own_search, "\\n")', { files }), { stdout: "profile environ 4 \n", stderr: "" });
  });
}

/** What the operator installs (here: Debian's python3-numpy and python3-matplotlib). */
async function packages(test, world) {
  const run = (source, more, paid) => world.run({ runtime: "python3", source, ...more }, paid);
  await test("python3: numpy's linear algebra, on one thread", async () => {
    const source = `import numpy as np
a = np.random.default_rng(7).normal(size=(300, 300))
u, s, v = np.linalg.svd(a)
print(np.allclose((u * s) @ v, a), np.allclose(np.linalg.inv(a) @ a, np.eye(300)), np.linalg.eigvals(a).shape)
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("Threads")])`;
    const result = await run(source);
    ended(result, { outcome: "completed", stdout: "True True (300,)\n1\n", stderr: "" });
  });
  await test("python3: a matplotlib figure as PNG, within 256 MiB and 64 tasks, and nothing else in the work dir", async () => {
    const source = `import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt, os
fig, ax = plt.subplots()
ax.plot([1, 2, 3], label="${TEXT[0]}")
ax.legend(); ax.set_title("$\\\\sum_i x_i^2$")
fig.savefig("figure.png")
data = open("figure.png", "rb").read()
print(data[:4], len(data) > 5000, sorted(os.listdir("/box")))`;
    // Within the time of the next tier: on a busy machine it takes several seconds.
    const result = await run(source, { limits: { timeoutMs: 30000 } }, { amount: "5000" });
    ended(result, { outcome: "completed", stdout: "b'\\x89PNG' True ['figure.png', 'main.py']\n", stderr: "" });
    assert.ok(result.usage.maxMemoryBytes < 256 * MIB);
    console.log(`     first figure after ${result.durationMs} ms, ${(result.usage.maxMemoryBytes / MIB).toFixed(0)} MiB`);
  });
}
