// Starts what the tests need, runs the files in order, looks after each whether all is still there, and counts.
//   node run.mjs [--keep] [PREFIX …]      PREFIX: the beginnings of the files' names to run, default all
import "../harness/webcrypto.mjs";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRunner } from "./runner.mjs";
import { createWorld } from "./world.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const { values, positionals } = parseArgs({ allowPositionals: true, options: { keep: { type: "boolean", default: false } } });
const files = readdirSync(here)
  .filter((name) => /^\d\d-.*\.mjs$/.test(name))
  .filter((name) => positionals.length === 0 || positionals.some((prefix) => name.startsWith(prefix)))
  .sort();

const runner = createRunner();
let world;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await world?.close(values);
    process.exit(1);
  });
}

world = await createWorld();
const logged = () => readFileSync(world.logFile, "utf8").length;

// A sanitizer's report, or a part that died without being killed by a test, is a failure wherever it came from.
function assertHealthyLog(text) {
  const bad = /^.*(AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|runtime error:|Assertion .* failed|stack smashing).*$/m.exec(text);
  assert.equal(bad, null, bad && text.slice(Math.max(0, bad.index - 200), bad.index + 3000));
}

/** A payment that is left unknown is settled some time later, and a test of another file sees money move that is not its own. */
async function assertNothingUnknown() {
  const open = async () => {
    const { stdout } = await world.tollbox("payments");
    return stdout.split("\n").filter((line) => / {2}(claimed|settling|unknown) {2}/.test(line) && !/paid on the chain/.test(line));
  };
  if ((await open()).length > 0) {
    // Asks the chain once more; it settles nothing that is unused.
    await world.tollbox("reconcile", "--all");
  }
  assert.deepEqual(await open(), [], "payments are left whose money may still move");
}

for (const file of files) {
  runner.prefix = `${file.slice(0, 2)} `;
  console.log(`-- ${file}`);
  const logBegin = logged();
  const serve = world.processes().serve?.pid;
  try {
    const { default: run } = await import(join(here, file));
    await run(runner.test, world);
  } catch (error) {
    await runner.test(`${file} goes through`, () => {
      throw error;
    });
  }
  await runner.test("all parts are alive, nothing is left over", async () => {
    world.faults.reset();
    world.rpcFaults.set(null);
    const { serve: now, gate, boxer } = world.processes();
    assert.ok(serve && now && gate && boxer, "supervisor, gate and boxer are there");
    await world.idle();
    await assertNothingUnknown();
    assertHealthyLog(readFileSync(world.logFile, "utf8").slice(logBegin));
  });
}

runner.prefix = "";
await runner.test("stopping ends with 0 and leaves nothing", async () => {
  const logBegin = logged();
  assert.equal(await world.stop(), 0);
  assertHealthyLog(readFileSync(world.logFile, "utf8").slice(logBegin));
});
if (runner.failed > 0) {
  console.log(`the stack's log: ${world.logFile}`);
}
await world.close({ keep: values.keep || runner.failed > 0 });
console.log(`${runner.passed} passed, ${runner.failed} failed`);
process.exit(runner.failed === 0 && runner.passed > 0 ? 0 : 1);
