// A host without memory cgroups (a mount namespace without any): nothing weaker is taken unasked, and the meter holds what it
// promises when it is asked for by name.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { payV2 } from "../devnet/client.mjs";
import { startStack } from "../harness/stack.mjs";
import { until } from "./runner.mjs";
import { siteSettings } from "./world.mjs";

const MIB = 1024 * 1024;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TOLLBOX = join(ROOT, process.env.TOLLBOX_TEST_B ?? "build", "tollbox");
const WITHOUT = [
  "unshare", "--mount", "--propagation", "private", "--", "sh", "-c",
  `awk '/ - cgroup2? / { print $5 }' /proc/self/mountinfo | sort -r | xargs -r umount && exec "$@"`, "sh",
];
const ANY_PORT = { TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0" };

/** All bombs take far more than their 100 MiB, in other ways, and wait to be seen. */
const BOMBS = {
  "a heap": "x = []\nwhile True: x.append(bytearray(1 << 20))",
  "children that are each within the limit": `import os, time
for _ in range(8):
  if os.fork() == 0:
    x = bytearray(40 << 20); time.sleep(60)
time.sleep(60)`,
  "a shared mapping": "import mmap, time\nm = mmap.mmap(-1, 300 << 20)\nfor i in range(0, 300 << 20, 4096): m[i] = 1\ntime.sleep(60)",
};

export default async function meter(test, world) {
  const env = { ...siteSettings(world.info), ...ANY_PORT };
  const file = join(world.folder, "meter.log");
  const start = async (more) => {
    const stderr = openSync(file, "w");
    try {
      return await startStack({ env: { ...env, ...more }, stderr, through: WITHOUT });
    } finally {
      closeSync(stderr);
    }
  };
  const log = () => readFileSync(file, "utf8");
  // As in the stack's own file, as far as the check needs it.
  const conf = join(world.folder, "meter.ini");
  writeFileSync(conf, `[sandbox]\ninit = ${join(world.stack.ca, "../lib/sandbox-init")}\nruntimes_dir = ${join(world.stack.ca, "../lib/runtimes")}\n[site]\npublic_url = https://meter.example\n`);
  // Not waited for in the usual way: the facilitator that it asks is in this process.
  const check = (more) =>
    new Promise((resolve) => {
      const [program, ...args] = [...WITHOUT, TOLLBOX, "check", "-c", conf];
      execFile(program, args, { env: { ...process.env, ...env, ...more } }, (error, stdout, stderr) => {
        resolve({ status: error?.code ?? 0, stdout, stderr });
      });
    });

  await test("without a cgroup, and the meter not asked for, it does not start and says what to do", async () => {
    for (const memory of ["auto", "cgroup1", "cgroup2"]) {
      await assert.rejects(start({ TOLLBOX_MEMORY_LIMIT: memory }), /ended \(1\)/, memory);
      assert.match(log(), memory === "auto" ? /no cgroup can limit memory here.*memory_limit in \[sandbox\] to meter/ : new RegExp(`${memory} is asked for`));
    }
  });
  await test("tollbox check says so too", async () => {
    const { status, stdout, stderr } = await check({ TOLLBOX_MEMORY_LIMIT: "auto" });
    assert.equal(status, 1, stderr);
    assert.match(stdout, /^FAIL {2}memory limit: no cgroup can limit memory here.* to meter$/m);
  });
  await test("tollbox check names the meter, tries each runtime's hello, and each attack is refused", async () => {
    const { status, stdout, stderr } = await check({ TOLLBOX_MEMORY_LIMIT: "meter" });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^ok {4}memory limit: meter: sampled, and passed by what is fast$/m);
    const hellos = [...stdout.matchAll(/^ok {4}runtime: (\S+): said hello in \d+ ms$/gm)].map(([, name]) => name);
    assert.deepEqual(hellos.sort(), ["bash", "node", "python3", "r"]);
    assert.equal(stdout.match(/^ok {4}attack: .*: refused$/gm).length, 9);
    assert.doesNotMatch(stdout, /^FAIL/m);
  });

  await test("with the meter: log and health name it, a run within its limits is not disturbed, bombs end in the memory verdict", async () => {
    const stack = await start({ TOLLBOX_MEMORY_LIMIT: "meter" });
    try {
      assert.match(log(), /memory limit: meter: sampled/);
      const health = await until("it is healthy", async () => {
        const answer = await fetch(`${stack.http}/health`);
        return answer.ok && answer.json();
      });
      assert.equal(health.memoryLimit, "meter");
      const run = async (source, memory) => {
        const body = { runtime: "python3", source, limits: { maxMemoryBytes: memory } };
        const { json, status, text } = await payV2({ url: `${stack.https}/execute`, key: world.nextPayer().privateKey, ca: stack.ca, body });
        assert.equal(status, 200, text);
        return json;
      };
      const fine = await run("x = bytearray(60 << 20)\nimport time; time.sleep(0.5)\nprint(len(x) >> 20)", 100 * MIB);
      assert.deepEqual([fine.outcome, fine.stdout, fine.error], ["completed", "60\n", null]);
      for (const [name, source] of Object.entries(BOMBS)) {
        const { error, outcome } = await run(source, 100 * MIB);
        assert.equal(error?.code, "EXECUTION_MEMORY_LIMIT_EXCEEDED", `${name}: ${error?.message}`);
        assert.equal(outcome, "error");
        assert.match(error.message, /104857600 bytes exceeded: \d{9,} bytes in use/);
      }
    } finally {
      assert.equal(await stack.stop(), 0);
    }
  });
}
