// Two hosts with a ledger each (docs/payments.md, "Two hosts"): with payees of their own, and with one payee and nothing but the
// facilitator to ask. What was paid at one of them buys nothing at the other, and nobody pays twice.
import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFaults } from "../devnet/faults.mjs";
import { startStack } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { assertRefused } from "./shape.mjs";
import { OWNER, siteSettings } from "./world.mjs";

const ONCE = { payer: -1000n, seller: 1000n };
const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
// Every run prints something else.
const body = JSON.stringify({ runtime: "python3", source: "import time\nprint(time.time_ns())" });

export default async function hosts(test, world) {
  const { info } = world;

  async function start(name, conf, env = {}) {
    const faults = await startFaults({ upstream: info.facilitatorUrl });
    const file = join(world.folder, `${name}.ini`);
    writeFileSync(file, `[facilitator:default]\ntimeout_ms = 6000\n${conf}`);
    const stderr = openSync(join(world.folder, `${name}.log`), "w");
    const stack = await startStack({
      env: { ...siteSettings(info), TOLLBOX_FACILITATOR_URL: faults.url, TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_TEST_CONF: file, ...env },
      stderr,
    });
    closeSync(stderr);
    const send = createSender(stack.https, stack.ca);
    return {
      faults,
      ask: (headers) => send({ body, headers }),
      async stop() {
        send.close();
        assert.equal(await stack.stop(), 0);
        await faults.stop();
      },
    };
  }

  const [one, two] = [await start("one", ""), await start("two", "")];
  const own = await start("own", `[chain:default]\nrpc_url = ${info.rpcUrl}\nconfirmations = 1\n`, { TOLLBOX_PAY_TO: OWNER });
  const used = (answer) => assertRefused(answer, "PAYMENT_REPLAYED", { message: /used elsewhere/ });
  const ran = (answer) => assert.equal(answer.status, 200, answer.text);

  /** One payment by which `work` comes to an answer of `host`: it was charged once, and is had again there. */
  async function pays(host, work) {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { result, ...moved } = await world.moved(payer, async () => {
      const answer = await work(headers);
      return [answer, await host.ask(headers)];
    });
    assert.deepEqual(moved, ONCE);
    result.forEach(ran);
    assert.ok(result[0].bytes.equals(result[1].bytes));
  }

  await test("a payee of its own: another host's payment is not for it, before, while and after that one sells", () =>
    pays(one, async (headers) => {
      const foreign = (answer) => assertRefusedHere(answer, "PAYMENT_REQUIREMENTS_MISMATCH");
      foreign(await own.ask(headers));
      const [answer, refused] = await Promise.all([one.ask(headers), own.ask(headers)]);
      foreign(refused);
      foreign(await own.ask(headers));
      assert.equal(own.faults.stats().settle.calls, 0);
      return answer;
    }));

  await test("one payee, paid at one: 409 at the other however often it is asked, and the answer where it was paid", () =>
    pays(one, async (headers) => {
      const answer = await one.ask(headers);
      used(await two.ask(headers));
      // After its own refusal "used" leaves a doubt, and without the chain that stays.
      for (let i = 0; i < 2; i += 1) {
        assertRefused(await two.ask(headers), INDETERMINATE);
      }
      return answer;
    }));

  await test("one payee, at both at once: one of them sells, the other never does", async () => {
    for (let i = 0; i < 8; i += 1) {
      const payer = world.nextPayer();
      const headers = await world.payment({ payer });
      const { result, ...moved } = await world.moved(payer, async () => {
        const both = await Promise.all([one.ask(headers), two.ask(headers)]);
        return [both, await Promise.all([one.ask(headers), two.ask(headers)])];
      });
      assert.deepEqual(moved, ONCE);
      for (const [index, both] of result.entries()) {
        const [sold, other] = both.sort((a, b) => a.status - b.status);
        ran(sold);
        assert.ok(other.status === 409 || other.status === 503, `${index}: ${other.text}`);
      }
      assert.ok(result[0][0].bytes.equals(result[1][0].bytes), "the same host's one run");
    }
  });

  await test("one payee, refused at one for want of money, then paid at the other: the first sells nothing for it", () =>
    pays(two, async (headers) => {
      one.faults.set({ settle: { mode: "refuse", reason: "insufficient_funds", times: 1 } });
      assertRefused(await one.ask(headers), "PAYMENT_SETTLEMENT_FAILED");
      one.faults.reset();
      const answer = await two.ask(headers);
      for (let i = 0; i < 2; i += 1) {
        assertRefused(await one.ask(headers), INDETERMINATE);
      }
      return answer;
    }));

  for (const host of [one, two, own]) {
    await host.stop();
  }
}

/** The other host's payee is not the world's, which is what shape.mjs goes by for a 402. */
function assertRefusedHere(answer, code) {
  assert.equal(answer.status, 402, answer.text);
  assert.equal(answer.json.details.code, code);
}
