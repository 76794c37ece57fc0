// Why a program failed, as the sandbox saw it (api.md section 7): through nginx, paid.
import assert from "node:assert/strict";

const NETWORK = "EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED";
const DENIAL = "EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL";

export default async function verdicts(test, world) {
  const fails = async (runtime, source, code, message, more) => {
    const run = await world.run({ runtime, source, ...more });
    assert.equal(run.error?.code, code, `${run.error?.message} ${run.stderr}`);
    assert.match(run.error.message, message);
    return run;
  };

  for (const [runtime, source] of [
    ["python3", "import urllib.request\nurllib.request.urlopen('http://example.com/')"],
    ["node", "fetch('http://example.com/')"],
    ["bash", "exec 3<>/dev/tcp/example.com/80"],
    ["r", "readLines(url('http://example.com/'))"],
  ]) {
    await test(`${runtime}: a program that needs the network is told that there is none`, async () => {
      const run = await fails(runtime, source, NETWORK, /^there is no network: the program tried to reach it \d+ times?, and it ended with exit code 1$/);
      assert.deepEqual([run.outcome, run.exitCode, run.error.category], ["error", 1, "runtime_error"]);
    });
  }
  for (const [runtime, source] of [
    ["python3", "open('/etc/x', 'w')"],
    ["node", "require('fs').writeFileSync('/srv/x', '')"],
    ["bash", "set -e; echo x >/usr/x"],
    ["r", "writeLines('x', '/var/x')"],
  ]) {
    await test(`${runtime}: a program that writes where it may not is told so`, async () => {
      await fails(runtime, source, DENIAL, /tried to write outside \/box and \/tmp 1 time, and it ended with exit code 1$/);
    });
  }
  await test("a refused system call is named", async () => {
    await fails("bash", "unshare -Ur true", DENIAL, /refused a system call \d+ times?, unshare first/);
  });
  await test("a program that copes is no failure", async () => {
    const source = "import socket\ntry: socket.create_connection(('192.0.2.1', 80))\nexcept OSError as e: print(e.strerror)";
    const run = await world.run({ runtime: "python3", source });
    assert.deepEqual([run.outcome, run.stdout, run.error], ["completed", "Network is unreachable\n", null]);
  });
  await test("each limit says how much was used of how much", async () => {
    const limits = { timeoutMs: 700, maxMemoryBytes: 134217728, maxOutputBytes: 2000 };
    const long = { ...limits, timeoutMs: 9000 };
    await fails("bash", "sleep 9", "SANDBOX_TIMEOUT", /^time limit of 700 ms exceeded: ran for \d+ ms$/, { limits });
    await fails("bash", "yes", "EXECUTION_OUTPUT_LIMIT_EXCEEDED", /^output limit of 2000 bytes exceeded: at least \d+ written$/, { limits: long });
    await fails("python3", "x = b'x' * 300000000", "EXECUTION_MEMORY_LIMIT_EXCEEDED", /^memory limit of 134217728 bytes exceeded: .*\d{9} bytes/,
      { limits: long });
  });
}
