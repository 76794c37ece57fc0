// A second stack beside the first, told by TOLLBOX_* settings to use a facilitator, a chain and a recipient of its own, as
// `make run` is used by those who have them; and the stack with a chain of its own, as `make run` starts without settings.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { payV1 } from "../clients/v1/client.mjs";
import { balance, payV2 } from "../devnet/client.mjs";
import { startDevnet } from "../devnet/devnet.mjs";
import { descendants, findSleep, startStack, stillAlive } from "../harness/stack.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const ANY_PORT = { TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0" };

export default async function elsewhere(test, world) {
  await test("settings name another facilitator, chain and recipient: both released clients pay there", async () => {
    const other = await startDevnet({ payers: 2 });
    const payTo = world.info.payers[7].address; // not the chain's usual seller
    let stack;
    try {
      stack = await startStack({ env: { ...siteSettings({ ...other.info, payTo }), ...ANY_PORT, TOLLBOX_ASSET_DECIMALS: "6" }, stderr: "ignore" });
      assert.equal(stack.told.payer, undefined, "no chain of its own was started");
      const held = () => balance(other.info.rpcUrl, other.info.asset, payTo);
      const before = await held();
      const url = `${stack.https}/execute`;
      for (const [index, client] of [payV2, payV1].entries()) {
        const answer = await client({ url, key: other.info.payers[index].privateKey, ca: stack.ca, body: HELLO });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.json.stdout, "hello\n");
        assert.equal((await held()) - before, 1000n * BigInt(index + 1));
      }
    } finally {
      await stack?.stop();
      await other.stop();
    }
  });

  await test("without settings it starts a chain of its own, and leaves nothing at SIGINT", async () => {
    const stack = await startStack({ env: ANY_PORT, stderr: "ignore" });
    const processes = descendants(stack.pid);
    try {
      const [address, , key] = stack.told.payer.split(" ");
      const answer = await payV2({ url: `${stack.https}/execute`, key, ca: stack.ca, body: HELLO });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.payment.payer, address);
    } finally {
      assert.equal(await stack.stop("SIGINT"), 0);
    }
    await until("all are gone", () => stillAlive(processes).length === 0);
    assert.ok(!existsSync(dirname(stack.ca)), "the temporary folder is gone");
  });

  await test("a second SIGINT ends all in haste, whatever runs", async () => {
    const stack = await startStack({ env: ANY_PORT, stderr: "ignore" });
    const processes = descendants(stack.pid);
    const [, , key] = stack.told.payer.split(" ");
    const slow = { runtime: "python3", source: "import subprocess; subprocess.run(['sleep', '59'])", limits: { timeoutMs: 60_000 } };
    const running = payV2({ url: `${stack.https}/execute`, key, ca: stack.ca, body: slow }).catch(() => null);
    await until("the program runs", () => findSleep(stack.pid, 59));
    const begin = performance.now();
    const stopped = stack.stop("SIGINT");
    await sleep(500);
    process.kill(stack.pid, "SIGINT");
    assert.equal(await stopped, 0);
    assert.ok(performance.now() - begin < 30_000, "it did not wait for the program");
    await until("all are gone", () => stillAlive(processes).length === 0);
    await running;
  });

  await test("run.sh killed: its children end by themselves", async () => {
    const stack = await startStack({ env: ANY_PORT, stderr: "ignore" });
    const processes = descendants(stack.pid);
    try {
      await stack.stop("SIGKILL");
      await until("all are gone", () => stillAlive(processes).length === 0);
    } finally {
      rmSync(dirname(stack.ca), { recursive: true, force: true });
    }
  });

  await test("a port that is taken is said, a state folder that was given is kept", async () => {
    const { port } = new URL(world.stack.https);
    await assert.rejects(startStack({ env: { ...ANY_PORT, TOLLBOX_TLS_PORT: port }, stderr: "ignore" }), /ended \(1\)/);
    const folder = mkdtempSync(join(tmpdir(), "tollbox-test."));
    chmodSync(folder, 0o755);
    try {
      const stack = await startStack({ env: { ...ANY_PORT, TOLLBOX_STATE_DIR: join(folder, "state") }, stderr: "ignore" });
      assert.equal(await stack.stop(), 0);
      assert.ok(existsSync(join(folder, "state", "ledger.db")));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
