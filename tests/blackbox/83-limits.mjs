// Limits for payers and addresses: 429 before anything is charged, each counting only what is its own. A stack of its own,
// with small numbers; every client here is on this host, so addresses come from a proxy that the settings trust.
import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signV2, encodeV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { findSleep, startStack, waking } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { assertRefused } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const IP_LIMITED = "EXECUTE_IP_RATE_LIMITED";
const RATE_LIMITED = "PAYER_RATE_LIMITED";
const BUSY_PAYER = "PAYER_CONCURRENCY_LIMITED";
const BURST = 20; // the least that comes at once (web/quota.c)
const body = JSON.stringify(HELLO);
const slow = JSON.stringify({ runtime: "python3", source: "import subprocess\nsubprocess.run(['sleep', '8.5'])\nprint('slept')" });

export default async function limits(test, world) {
  const { info } = world;
  const faults = await startFaults({ upstream: info.facilitatorUrl });
  const stacks = [];

  async function start(name, service) {
    const file = join(world.folder, `${name}.ini`);
    writeFileSync(file, `[service]\ntrusted_proxies = 127.0.0.1\n${service}`);
    const stderr = openSync(join(world.folder, `${name}.log`), "w");
    const stack = await startStack({
      env: { ...siteSettings(info), TOLLBOX_FACILITATOR_URL: faults.url, TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_TEST_CONF: file },
      stderr,
    });
    closeSync(stderr);
    const sender = createSender(stack.https, stack.ca);
    stacks.push({ stack, sender });
    /** send(request, from): as a client at the address `from`; none: this host itself */
    const send = ({ headers = {}, ...request }, from) => sender({ ...request, headers: { ...headers, ...(from ? { "X-Forwarded-For": from } : {}) } });
    return Object.assign(send, { pid: stack.pid });
  }

  const sign = async (payer, more) => {
    const requirements = await world.requirement();
    return encodeV2({ requirements, payload: await signV2(requirements, payer.privateKey, more) });
  };
  const assertLimited = (answer, code) => {
    assertRefused(answer, code, { status: 429 });
    assert.match(answer.headers["retry-after"], /^[1-9]\d*$/);
  };
  /** Sends until `code` comes; → how many came through before */
  const count = async (send, code, most) => {
    for (let n = 0; n <= most; n += 1) {
      const answer = await send(n);
      if (answer.status === 429) {
        assertLimited(answer, code);
        return n;
      }
    }
    throw new Error(`no ${code} within ${most}`);
  };

  let send = await start("limits", "address_rate = 30\npayer_rate = 6\npayer_runs = 2\nverify_rate = 30\n");

  await test("an address that asks too often gets 429, and no other does", async () => {
    const begin = performance.now();
    const came = await count(() => send({ body }, "203.0.113.1"), IP_LIMITED, BURST + 5);
    const back = Math.ceil((performance.now() - begin) / 2000); // one every 2 s
    assert.ok(came >= BURST && came <= BURST + back, `${came} came through`);
    assertLimited(await send({ path: "/quote", body: {} }, "203.0.113.1"), IP_LIMITED);
    assert.equal((await send({ body }, "203.0.113.2")).status, 402);
    assert.equal((await send({ path: "/health", method: "GET" }, "203.0.113.1")).status, 200, "what is free of limits stays so");
  });

  await test("an IPv6 customer is one, however many addresses he has; what he writes into the header is not believed", async () => {
    await count((n) => send({ body }, `2001:db8:7:7:${n}::1`), IP_LIMITED, BURST + 5);
    assert.equal((await send({ body }, "2001:db8:7:8::1")).status, 402);
    await count((n) => send({ body }, `198.51.100.${n}, 203.0.113.3`), IP_LIMITED, BURST + 5);
  });

  await test("several lines of X-Forwarded-For are one list, of which the last is the proxy's", async () => {
    await count((n) => send({ body }, [`198.51.100.${n}`, "203.0.113.4"]), IP_LIMITED, BURST + 5);
    assert.equal((await send({ body }, ["203.0.113.4", "198.51.100.1, 203.0.113.5"])).status, 402);
  });

  await test("this host itself has no limit", async () => {
    for (let i = 0; i < BURST + 10; i += 1) {
      assert.equal((await send({ body })).status, 402);
    }
  });

  await test("a payer who asks too often gets 429, uncharged; the same payment is good later", async () => {
    const payer = info.payers[10];
    const payments = [];
    const settles = faults.stats().settle.calls;
    const came = await count(async (n) => {
      payments.push(await sign(payer));
      const answer = await send({ body, headers: payments[n] });
      assert.ok([200, 429].includes(answer.status), answer.text);
      return answer;
    }, RATE_LIMITED, BURST + 10);
    assert.ok(came >= BURST, `${came} came through`);
    assert.equal(faults.stats().settle.calls - settles, came, "the one that was refused was not settled");
    // Stored answers have no limit, and others are untouched.
    const again = await send({ body, headers: payments[0] });
    assert.equal(again.status, 200);
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.equal((await send({ body, headers: await sign(info.payers[11]) })).status, 200);
    const late = await until("there is a token again", async () => {
      const answer = await send({ body, headers: payments.at(-1) });
      return answer.status === 429 ? null : answer;
    }, { withinMs: 30_000 });
    assert.deepEqual([late.status, late.json?.stdout, late.json?.payment.payer], [200, "hello\n", payer.address]);
  });

  await test("a payer has so many runs at a time, and a twin that waits is none", async () => {
    const payer = info.payers[12];
    const [first, second, third] = await Promise.all([sign(payer), sign(payer), sign(payer)]);
    const settles = faults.stats().settle.calls;
    const running = [first, first, second].map((headers) => send({ body: slow, headers }));
    await until("both are settled", () => faults.stats().settle.calls === settles + 2);
    await until("one runs", () => findSleep(send.pid, 8.5));
    assertLimited(await send({ body, headers: third }), BUSY_PAYER);
    assert.equal((await send({ body, headers: await sign(info.payers[13]) })).status, 200, "another payer goes on");
    for (const answer of await waking(send.pid, 8.5, () => Promise.all(running))) {
      assert.equal(answer.status, 200, answer.text);
    }
    assert.equal((await send({ body, headers: third })).status, 200);
    assert.equal(faults.stats().settle.calls, settles + 4);
  });

  await test("nobody spends another's budget: forged payments count against their address", async () => {
    const victim = info.payers[14];
    const thief = info.payers[15];
    const { calls } = faults.stats().verify;
    const came = await count(async () => {
      const answer = await send({ body, headers: await sign(thief, { after: { from: victim.address } }) }, "203.0.113.9");
      assert.ok([402, 429].includes(answer.status), answer.text);
      return answer;
    }, IP_LIMITED, BURST + 10);
    assert.ok(came >= BURST, `${came} came through`);
    assert.equal(faults.stats().verify.calls - calls, came);
    assert.equal((await send({ body, headers: await sign(victim) }, "203.0.113.9")).status, 200, "the victim's own is good");
  });

  send = await start("limits-verify", "verify_calls = 1\naddress_rate = 0\npayer_rate = 0\npayer_runs = 0\n");

  await test("calls of verify in flight are bounded, and what needs none goes by", async () => {
    const forged = () => sign(info.payers[16], { spoil: (signature) => `${signature}${"00".repeat(32)}` });
    faults.reset();
    const release = faults.hold({ verify: "none" });
    const waiting = send({ body, headers: await forged() });
    await until("it is being checked", () => faults.stats().verify.active === 1);
    assertRefused(await send({ body, headers: await forged() }), "SERVICE_BUSY");
    assert.equal((await send({ body, headers: await sign(info.payers[16]) })).status, 200);
    release();
    assert.equal((await waiting).status, 402);
    faults.reset();
    assert.equal((await send({ body, headers: await forged() })).status, 402, "the place came back");
  });

  await test("0 is no limit", async () => {
    for (let i = 0; i < 3 * BURST; i += 1) {
      assert.equal((await send({ body }, "203.0.113.1")).status, 402);
    }
  });

  for (const { stack, sender } of stacks) {
    sender.close();
    assert.equal(await stack.stop(), 0);
  }
  await faults.stop();
}
