// SIGHUP: new settings come into force without a run or a waiting request being lost; unsound ones change nothing.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { decodeHeader } from "../devnet/fetch.mjs";
import { assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const SLOW = JSON.stringify({ runtime: "python3", source: "import time\ntime.sleep(2)\nprint('run')" });

export default async function reload(test, world) {
  const file = join(dirname(world.stack.ca), "tollbox.ini");
  const original = readFileSync(file, "utf8");
  const price = async () => (await world.send({ path: "/quote", body: {} })).json.price;
  const logFrom = (begin) => readFileSync(world.logFile, "utf8").slice(begin);

  /**
   * Writes the settings, sends the signal and waits for what the log says of it → over(): waits for the end of a change. What
   * comes after a change that is not over would take its end for its own.
   */
  async function hup(settings, told) {
    const begin = readFileSync(world.logFile, "utf8").length;
    writeFileSync(file, settings);
    process.kill(world.processes().serve.pid, "SIGHUP");
    const says = (what) => until(`the log says ${what}`, () => what.test(logFrom(begin)));
    await says(told);
    return () => says(/gate: accepts again/);
  }
  const change = async (settings, told = /new settings/) => (await hup(settings, told))();

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
    const over = await hup(`${original}\n[tier:small]\nprice = $0.002\n`, /new settings: finishing what runs/);
    assert.equal(await price(), "$0.0020");
    assertRun(await running, { world, body: SLOW, payer, amount: "1000" });
    const now = world.processes();
    assert.equal(now.serve.pid, serve.pid);
    assert.notEqual(now.gate.pid, gate.pid);
    await over();
    await dear();
  });

  await test("what was answered before is known after it", async () => {
    const { answer, body, header } = await dear();
    await change(original);
    const again = await world.send({ body, headers: header });
    assert.equal(again.text, answer.text);
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.equal(await price(), "$0.0010");
  });

  await test("a route that is offered no more: what was paid there is answered or finished, and nothing else is sold", async () => {
    const FLAT = { path: "/api/code-run", body: JSON.stringify({ code: "print('hello')", language: "python" }), amount: "20000" };
    const NATIVE = { path: "/execute", body: JSON.stringify(HELLO), amount: "1000" };
    const paid = async ({ path, body, amount }, more) => {
      const payer = world.nextPayer();
      return { path, body, payer, headers: { ...(await world.payment({ payer, amount })), ...more } };
    };
    const ask = ({ path, body, headers }) => world.send({ path, body, headers });
    const answered = async (call) => {
      const answer = await ask(call);
      assert.equal(answer.status, 200, answer.text);
      return { ...call, answer };
    };
    /** One whose settle goes as `settle` says. */
    const settledAs = async (settle, status, call) => {
      world.faults.set({ settle: { ...settle, times: 1 } });
      const answer = await ask(call);
      assert.equal(answer.status, status, answer.text);
      return call;
    };
    const key = { "Idempotency-Key": randomBytes(24).toString("hex") };
    const done = [await answered(await paid(FLAT)), await answered(await paid(NATIVE)), await answered(await paid(FLAT, key))];
    const keyOnly = { ...done[2], headers: key };
    const lost = [await settledAs({ mode: "reset-after" }, 503, await paid(FLAT)), await settledAs({ mode: "reset-before" }, 503, await paid(NATIVE))];
    const refused = [await settledAs({ mode: "refuse" }, 402, await paid(FLAT)), await settledAs({ mode: "refuse" }, 402, await paid(NATIVE))];
    const tool = async ({ body, headers }) => {
      const _meta = headers && { "x402/payment": decodeHeader(headers["PAYMENT-SIGNATURE"]) };
      const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "execute", arguments: JSON.parse(body), ...(_meta && { _meta }) } };
      return world.send({ path: "/mcp", body: message });
    };
    const called = await paid(NATIVE);
    const told = await tool(called);
    assert.equal(told.json.result.isError, false, told.text);

    await change(original.replace("[site]", "[site]\nroutes = /v1/code /quote"));
    for (const { answer, payer, ...call } of [...done, { ...keyOnly, answer: done[2].answer }]) {
      const again = await world.free(payer, () => ask(call));
      assert.equal(again.text, answer.text);
      assert.equal(again.headers["idempotency-replayed"], "true");
    }
    const again = await world.free(called.payer, () => tool(called));
    assert.deepEqual(again.json, told.json);
    for (const call of lost) {
      const answer = await until("its run", async () => {
        const now = await ask(call);
        assert.ok([200, 503].includes(now.status), now.text);
        return now.status === 200 && now;
      });
      assert.match(answer.text, /hello/);
    }
    const gone = async (payer, call) => {
      const answer = await world.free(payer, call);
      assert.equal(answer.status, 404, answer.text);
      assert.match(answer.text, /is not offered at this site/);
      assert.equal(answer.required, null);
    };
    for (const sold of [FLAT, NATIVE]) {
      const fresh = await paid(sold);
      const { payer } = fresh;
      const [[name, value]] = Object.entries(fresh.headers);
      await gone(payer, () => ask(fresh));
      await gone(payer, () => ask({ ...fresh, headers: {} }));
      await gone(payer, () => ask({ ...fresh, headers: { [name]: "x" } }));
      await gone(payer, () => ask({ ...fresh, headers: { [name]: `${value.slice(0, -40)}${value.slice(-36)}` } }));
      await gone(payer, () => ask({ ...fresh, headers: { "Idempotency-Key": randomBytes(24).toString("hex") } }));
    }
    for (const call of refused) {
      await gone(call.payer, () => ask(call));
    }
    const fresh = await paid(NATIVE);
    await gone(fresh.payer, () => tool(fresh));
    await gone(fresh.payer, () => tool({ body: fresh.body }));
    const other = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "quote", arguments: {} } };
    for (const message of [other, { ...other, method: "tools/list", params: {} }, { ...other, params: {} }, "[", { ...other, id: undefined }]) {
      await gone(fresh.payer, () => world.send({ path: "/mcp", body: message }));
    }
    await change(original);
    for (const call of refused) {
      await answered(call);
    }
  });

  await test("another public_url while a payment is unknown: the log says what follows, and the old one mends it", async () => {
    const payer = world.nextPayer();
    const call = { body: JSON.stringify(HELLO), headers: await world.payment({ payer }) };
    world.faults.set({ settle: { mode: "reset-before", times: 1 } });
    assert.equal((await world.send(call)).status, 503);
    const [, url] = original.match(/^public_url = (.*)$/m);
    const escaped = url.replaceAll(".", "\\.");
    // One at least: another file's run may be owed.
    const told = new RegExp(`unknown or owed at other sites than ${escaped}/moved: [1-9]\\d*, of ${escaped} for one`);
    try {
      await change(original.replace(url, `${url}/moved`), told);
      assert.equal((await world.free(payer, () => world.send(call))).status, 409);
    } finally {
      await change(original);
    }
    assert.equal((await world.send(call)).status, 200);
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
