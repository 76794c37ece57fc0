// SIGHUP: new settings come into force without a run or a waiting request being lost; unsound ones change nothing.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const SLOW = JSON.stringify({ runtime: "python3", source: "import time\ntime.sleep(2)\nprint('run')" });

export default async function reload(test, world) {
  const file = join(dirname(world.stack.ca), "tollbox.ini");
  const original = readFileSync(file, "utf8");
  const price = async () => (await world.send({ path: "/quote", body: {} })).json.price;
  const logFrom = (begin) => readFileSync(world.logFile, "utf8").slice(begin);

  /** Writes the settings, sends the signal and waits for what the log says of it. */
  async function hup(settings, told) {
    const begin = readFileSync(world.logFile, "utf8").length;
    writeFileSync(file, settings);
    process.kill(world.processes().serve.pid, "SIGHUP");
    await until(`the log says ${told}`, () => told.test(logFrom(begin)), { withinMs: 60_000 });
  }

  /** A run at the price of the first test, which assertRun() does not know. */
  async function dear() {
    const body = JSON.stringify(HELLO);
    const header = await world.payment({ payer: world.nextPayer(), amount: "2000" });
    const answer = await world.send({ body, headers: header });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.payment.amount, "2000");
    assert.equal(answer.json.receipt.price, "$0.0020");
    return { answer, body, header };
  }

  await test("a run that goes on ends as it was sold, who asks meanwhile waits and is served with the new settings", async () => {
    const { serve, gate } = world.processes();
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const before = await world.held(payer.address);
    const running = world.send({ body: SLOW, headers });
    await until("it was charged", async () => (await world.held(payer.address)) < before);
    await hup(`${original}\n[tier:small]\nprice = $0.002\n`, /new settings: finishing what runs/);
    assert.equal(await price(), "$0.0020");
    assertRun(await running, { world, body: SLOW, payer, amount: "1000" });
    const now = world.processes();
    assert.equal(now.serve.pid, serve.pid);
    assert.notEqual(now.gate.pid, gate.pid);
    await dear();
  });

  await test("what was answered before is known after it", async () => {
    const { answer, body, header } = await dear();
    await hup(original, /gate: accepts again/);
    const again = await world.send({ body, headers: header });
    assert.equal(again.text, answer.text);
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.equal(await price(), "$0.0010");
  });

  await test("settings that are wrong, or need a restart, leave all as it is", async () => {
    const { gate } = world.processes();
    for (const [settings, told] of [
      [`${original}\n[tier:small]\nprise = $0.002\n`, /settings stay as they are: .*prise/],
      [`${original}\n[runtime:python3]\ncommand = /usr/bin/false {entry}\n`, /settings stay as they are: a runtime does not run/],
      [original.replace("[sandbox]", "[sandbox]\nmemory_limit = meter"), /memory_limit has changed, which needs a restart/],
    ]) {
      await hup(settings, told);
      assert.equal(await price(), "$0.0010");
    }
    assert.equal(world.processes().gate.pid, gate.pid);
    await world.run(HELLO);
  });

  await test("a stop while it changes stops", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const before = await world.held(payer.address);
    const running = world.send({ body: SLOW, headers });
    await until("it was charged", async () => (await world.held(payer.address)) < before);
    await hup(original, /new settings: finishing what runs/);
    process.kill(world.processes().serve.pid, "SIGTERM");
    assertRun(await running, { world, body: SLOW, payer, amount: "1000" });
    // run.sh ends when the service does, and takes nginx with it.
    await world.stack.exited;
    assert.match(readFileSync(world.logFile, "utf8"), /draining[^]*stopped/);
    world.send.close();
    await world.start();
  });
}
