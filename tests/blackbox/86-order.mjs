// The order of checks of api.md section 1: a request that has two faults is told the one that comes first. Each pair of
// neighbouring steps is sent twice, with the second fault alone and with both, so that neither is there in name only.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeHeader, encodeHeader, encodeV2, highS, nowSeconds, signV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { descendants, findSleep, startStack, waking } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { payments } from "./tool.mjs";
import { assertRefused } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const MIB = 1024 * 1024;
const DEAD = "0x000000000000000000000000000000000000dEaD";
const BURST = 20; // the least that comes at once (web/quota.c)
const body = JSON.stringify(HELLO);
const other = JSON.stringify({ ...HELLO, stdin: "another" });
const badBody = JSON.stringify({ ...HELLO, sauce: "x" });
const oversized = `"${"x".repeat(32 * MIB - 1)}"`;

const newKey = () => randomBytes(24).toString("base64url");
const withKey = (key, headers = {}) => ({ ...headers, "Idempotency-Key": key });
const expired = () => nowSeconds() - 3600;

// What an answer is to be: a code of section 7 with its own or another status, `free` the 402 of a request without a
// payment, `kept` a stored answer.
const code = (name, more) => (answer) => assertRefused(answer, name, more);
const missing = code("REQUEST_MALFORMED", { status: 404 });
const wrongMethod = code("REQUEST_MALFORMED", { status: 405 });
const tooLarge = code("REQUEST_MALFORMED", { status: 413 });
const wrongEncoding = code("REQUEST_MALFORMED", { status: 415 });
const badKey = code("SANDBOX_INVALID_REQUEST", { message: /Idempotency-Key/ });
const unknownMember = code("SANDBOX_INVALID_REQUEST", { message: /sauce/ });
const malformed = code("PAYMENT_MALFORMED");
const badSignature = code("PAYMENT_INVALID", { message: /signature/ });
const badRecipient = code("PAYMENT_INVALID", { message: /authorization\.to/ });
const badTime = code("PAYMENT_INVALID", { message: /validBefore/ });
const tooLittle = code("PAYMENT_AMOUNT_INSUFFICIENT");
const mismatch = code("PAYMENT_REQUIREMENTS_MISMATCH");
const keyUsed = code("PAYMENT_REPLAYED", { message: /Idempotency-Key was used for another body/ });
const paymentUsed = code("PAYMENT_REPLAYED", { message: /used for another request/ });
const free = (answer) => {
  assert.equal(answer.status, 402, answer.text);
  assert.equal(answer.json.details.code, null);
};
const kept = (first) => (answer) => {
  assert.equal(answer.status, 200, answer.text);
  assert.ok(answer.bytes.equals(first.bytes));
  assert.equal(answer.headers["idempotency-replayed"], "true");
};

export default async function order(test, world) {
  const { faults, info } = world;
  const payer = world.nextPayer();
  const sign = (more) => world.payment({ payer, ...more });

  /** `both` has the first fault and the second, `second` the second alone. Nothing of it costs anything. */
  async function pair(name, { both, second }, [first, then]) {
    await test(name, () =>
      world.free(payer, async () => {
        then(await world.send(second));
        first(await world.send(both));
      }));
  }

  /** A run with its payment, and with a key if `key` is given. */
  async function ran(key) {
    const headers = { ...(await sign()), ...(key ? withKey(key) : {}) };
    const answer = await world.send({ body, headers });
    assert.equal(answer.status, 200, answer.text);
    return { headers, answer };
  }

  const keyedRun = { key: newKey() };
  const plainRun = {};
  await test("two runs to come back to, one with a key", async () => {
    Object.assign(keyedRun, await ran(keyedRun.key));
    Object.assign(plainRun, await ran());
  });
  const byKey = withKey(keyedRun.key);
  const keptByKey = kept(keyedRun.answer);
  const keptByPayment = kept(plainRun.answer);

  // ---- 1: path, method, size, encoding, form of the key

  await pair("path, then method", { both: { method: "GET", path: "/nothing" }, second: { method: "GET" } }, [missing, wrongMethod]);
  await pair("path, then size", { both: { path: "/Execute", body: oversized }, second: { body: oversized } }, [missing, tooLarge]);
  await pair("method, then size", { both: { method: "PUT", body: oversized }, second: { body: oversized } }, [wrongMethod, tooLarge]);
  await pair("size, then form of the key", {
    both: { body: oversized, headers: withKey("short") },
    second: { body, headers: withKey("short") },
  }, [tooLarge, badKey]);
  await pair("encoding, then form of the key", {
    both: { body, headers: withKey("short", { "Content-Encoding": "gzip" }) },
    second: { body, headers: withKey("short") },
  }, [wrongEncoding, badKey]);

  // ---- 1 before 2: what is no sound request gets no answer, whoever has the key

  await pair("path, then a key that answers", { both: { path: "/Execute", body, headers: byKey }, second: { body, headers: byKey } }, [missing, keptByKey]);
  await pair("encoding, then a key that answers", {
    both: { body, headers: { ...byKey, "Content-Encoding": "gzip" } },
    second: { body, headers: byKey },
  }, [wrongEncoding, keptByKey]);
  await pair("form of the key, then no payment", { both: { body, headers: withKey("short") }, second: { body } }, [badKey, free]);
  const rubbish = { "PAYMENT-SIGNATURE": "%%%" };
  await pair("form of the key, then decoding", {
    both: { body, headers: withKey("short", rubbish) },
    second: { body, headers: rubbish },
  }, [badKey, malformed]);

  // ---- 2 before 3, 3 before all that looks at the body

  await pair("a key that answers, then no payment", { both: { body, headers: byKey }, second: { body, headers: withKey(newKey()) } }, [keptByKey, free]);
  const wrongBody = { body: badBody, headers: await sign() };
  await pair("no payment, then the body", { both: { body: badBody }, second: wrongBody }, [free, unknownMember]);

  // ---- 4: decoding, signature, a key known for this payer

  const alter = (headers, change) => {
    const payment = decodeHeader(headers["PAYMENT-SIGNATURE"]);
    change(payment);
    return { "PAYMENT-SIGNATURE": encodeHeader(payment) };
  };
  const spoiled = await sign({ sign: { spoil: highS } });
  const spoiledAndNoPayment = alter(spoiled, (payment) => {
    payment.payload.authorization.value = 1000;
  });
  await pair("decoding, then the signature", { both: { body, headers: spoiledAndNoPayment }, second: { body, headers: spoiled } }, [malformed, badSignature]);
  const fresh = await sign();
  const keyed = (headers) => ({ body: other, headers: withKey(keyedRun.key, headers) });
  await pair("decoding, then a key of another body", { both: keyed(rubbish), second: keyed(fresh) }, [malformed, keyUsed]);
  await pair("the signature, then a key of another body", { both: keyed(spoiled), second: keyed(fresh) }, [badSignature, keyUsed]);

  // ---- 4 before 5

  const spoiledUsed = alter(plainRun.headers, (payment) => {
    payment.payload.signature = highS(payment.payload.signature);
  });
  const brokenUsed = alter(plainRun.headers, (payment) => {
    delete payment.payload.authorization.to;
  });
  const usedElsewhere = { body: other, headers: plainRun.headers };
  await pair("decoding, then a payment used elsewhere", { both: { ...usedElsewhere, headers: brokenUsed }, second: usedElsewhere }, [malformed, paymentUsed]);
  await pair("the signature, then a payment used elsewhere", { both: { ...usedElsewhere, headers: spoiledUsed }, second: usedElsewhere }, [badSignature, paymentUsed]);

  const otherRun = { key: newKey() };
  await test("a key of another body, then the payment's own stored answer", async () => {
    const headers = withKey(otherRun.key, await sign());
    assert.equal((await world.send({ body: other, headers })).status, 200);
    await world.free(payer, async () => {
      const request = { body, headers: plainRun.headers };
      keptByPayment(await world.send(request));
      keyUsed(await world.send({ ...request, headers: withKey(otherRun.key, request.headers) }));
    });
  });

  // ---- 5 before 6, 7 and 8: a claim that exists decides

  await pair("a payment used elsewhere, then the body", { both: { body: badBody, headers: plainRun.headers }, second: wrongBody }, [paymentUsed, unknownMember]);
  const elsewhere = { payTo: DEAD };
  await pair("a stored answer, then requirements", {
    both: { body, headers: alter(plainRun.headers, ({ accepted }) => Object.assign(accepted, elsewhere)) },
    second: { body, headers: await sign({ accepted: elsewhere }) },
  }, [keptByPayment, mismatch]);
  await pair("a stored answer, then the amount", {
    both: { body, headers: alter(plainRun.headers, ({ accepted }) => Object.assign(accepted, { amount: "1" })) },
    second: { body, headers: await sign({ accepted: { amount: "1" } }) },
  }, [keptByPayment, tooLittle]);

  await test("a stored answer, then the time window", async () => {
    // As short as is taken: 10 seconds are asked for, and some may go by until it is looked at.
    const validBefore = nowSeconds() + 20;
    const headers = await sign({ sign: { validBefore } });
    const answer = await world.send({ body, headers });
    assert.equal(answer.status, 200, answer.text);
    await until("its time is over", () => nowSeconds() > validBefore, { withinMs: 30_000 });
    await world.free(payer, async () => {
      kept(answer)(await world.send({ body, headers }));
      badTime(await world.send({ body, headers: await sign({ sign: { validBefore } }) }));
    });
  });

  // ---- 6 before 7

  const doubts = [
    ["requirements", { accepted: elsewhere }, mismatch],
    ["the recipient", { sign: { to: DEAD } }, badRecipient],
    ["the amount", { amount: "999" }, tooLittle],
    ["the time window", { sign: { validBefore: expired() } }, badTime],
  ];
  for (const [name, more, then] of doubts) {
    const headers = await sign(more);
    await pair(`the body, then ${name}`, { both: { body: badBody, headers }, second: { body, headers } }, [unknownMember, then]);
  }

  // ---- 7: requirements, recipient, amount, time window

  const both = async (name, one, two, expected) =>
    pair(name, { both: { body, headers: await sign(one) }, second: { body, headers: await sign(two) } }, expected);
  for (const [name, accepted] of [["asset", { asset: DEAD }], ["payTo", elsewhere], ["network", { network: "eip155:8453" }]]) {
    await both(`requirements (${name}), then the recipient`, { accepted, sign: { to: DEAD } }, { sign: { to: DEAD } }, [mismatch, badRecipient]);
  }
  await both("the recipient, then the signed value", { sign: { to: DEAD, value: "999" } }, { sign: { value: "999" } }, [badRecipient, tooLittle]);
  await both("the recipient, then the accepted amount", { accepted: { amount: "999" }, sign: { to: DEAD } }, { accepted: { amount: "999" } }, [badRecipient, tooLittle]);
  await both("the amount, then the time window", { amount: "999", sign: { validBefore: expired() } }, { sign: { validBefore: expired() } }, [tooLittle, badTime]);

  // ---- 8: limits, claim, run slot, settle, run. A stack with small numbers; clients' addresses come from a trusted proxy.

  const proxy = await startFaults({ upstream: info.facilitatorUrl });
  const file = join(world.folder, "order.ini");
  writeFileSync(file, "[service]\ntrusted_proxies = 127.0.0.1\naddress_rate = 2\npayer_rate = 2\nqueue_ms = 1000\n[facilitator:default]\nrefresh_s = 1\ntimeout_ms = 6000\n");
  const stderr = openSync(join(world.folder, "order.log"), "w");
  const folder = join(world.folder, "order");
  mkdirSync(folder);
  const stack = await startStack({
    env: { ...siteSettings(info), TOLLBOX_FACILITATOR_URL: proxy.url, TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_STATE_DIR: join(folder, "state"), TOLLBOX_TEST_CONF: file },
    stderr,
  });
  closeSync(stderr);
  const sender = createSender(stack.https, stack.ca);
  // What comes back in a minute is little, so that nobody who is slow meets it; who is not to be limited is somebody new each time.
  let others = 0;
  const send = (request, from = `2001:db8:0:${(others += 1).toString(16)}::1`) => sender({ ...request, headers: { ...request.headers, "X-Forwarded-For": from } });
  const pay = async (by, more) => {
    const requirements = await world.requirement();
    return encodeV2({ requirements, payload: await signV2(requirements, by.privateKey, more) });
  };
  const [spent, patient] = [info.payers[17], info.payers[18]];
  const EXHAUSTED = "203.0.113.7";
  const WHILE_S = 10; // of 30; whatever the two are apart, it holds for both a third of the time
  const boxer = () => descendants(stack.pid).find(({ command }) => /tollbox boxer|\bboxer$/.test(command)).pid;
  const payerLimited = code("PAYER_RATE_LIMITED");
  const addressLimited = code("EXECUTE_IP_RATE_LIMITED");
  const noSlot = code("SANDBOX_UNAVAILABLE");
  const refusedSettlement = code("PAYMENT_SETTLEMENT_FAILED");

  const first = { body, headers: withKey(newKey(), await pay(spent)) };
  await test("a payer and an address that have used up what they may ask", async () => {
    first.answer = await send(first);
    assert.equal(first.answer.status, 200, first.answer.text);
    await until("the payer's limit", async () => (await send({ body, headers: await pay(spent) })).status === 429, { withinMs: 60_000, everyMs: 0 });
    for (let n = 0; n < BURST + 5; n += 1) {
      await send({ body }, EXHAUSTED);
    }
  });
  /** Each has a token every 30 s: what is to be limited is so just before, and no token comes for a while. */
  const drained = async (work) => {
    await until("payer and address are limited for a while", async () => {
      const answers = [await send({ body, headers: await pay(spent) }), await send({ body }, EXHAUSTED)];
      return answers.every(({ status, headers }) => status === 429 && Number(headers["retry-after"]) >= WHILE_S);
    }, { withinMs: 90_000, everyMs: 50 });
    return work();
  };

  await test("a key that answers, then 429 by address", () =>
    drained(async () => {
      kept(first.answer)(await send({ body, headers: withKey(first.headers["Idempotency-Key"]) }, EXHAUSTED));
      addressLimited(await send({ body, headers: withKey(newKey()) }, EXHAUSTED));
    }));
  await test("429 by address, then no payment", () =>
    drained(async () => {
      addressLimited(await send({ body: badBody }, EXHAUSTED));
      free(await send({ body: badBody }, "203.0.113.8"));
    }));
  await test("a stored answer, then 429", () =>
    drained(async () => {
      kept(first.answer)(await send(first, EXHAUSTED));
      payerLimited(await send({ body, headers: await pay(spent) }));
    }));
  await test("the body, then 429", () =>
    drained(async () => {
      unknownMember(await send({ body: badBody, headers: await pay(spent) }));
      payerLimited(await send({ body, headers: await pay(spent) }));
    }));
  await test("the time window, then 429", () =>
    drained(async () => {
      badTime(await send({ body, headers: await pay(spent, { validBefore: expired() }) }, EXHAUSTED));
      payerLimited(await send({ body, headers: await pay(spent) }));
    }));

  /** Nothing can start while `work` runs. */
  const stopped = async (work) => {
    const pid = boxer();
    process.kill(pid, "SIGSTOP");
    try {
      return await work();
    } finally {
      process.kill(pid, "SIGCONT");
    }
  };
  const claimed = () => payments({ folder }, "claimed");

  await test("429, then the run slot", () =>
    drained(() =>
      stopped(async () => {
        payerLimited(await send({ body, headers: await pay(spent) }));
        assert.deepEqual(await claimed(), [], "nothing was claimed for it");
        noSlot(await send({ body, headers: await pay(patient) }));
      })));
  await test("the claim, then the run slot: it is on record while it waits, and gone when there was none", () =>
    stopped(async () => {
      const answer = send({ body, headers: await pay(patient) });
      await until("a claim", async () => (await claimed()).length === 1, { everyMs: 10 });
      noSlot(await answer);
      assert.deepEqual(await claimed(), []);
    }));
  await test("the run slot, then settle", async () => {
    const headers = await pay(patient);
    proxy.reset();
    proxy.set({ settle: "refuse" });
    await stopped(async () => noSlot(await send({ body, headers })));
    assert.equal(proxy.stats().settle.calls, 0);
    const answer = await until("a slot", async () => {
      const got = await send({ body, headers });
      return got.status !== 503 && got;
    }, { withinMs: 30_000 });
    refusedSettlement(answer);
    proxy.reset();
  });
  await test("settle, then the run: no program starts before its payment is settled", async () => {
    const headers = await pay(patient);
    const sleeping = () => findSleep(stack.pid, 7.0625);
    const slow = JSON.stringify({ runtime: "python3", source: "import subprocess\nsubprocess.run(['sleep', '7.0625'])\nprint('ran')" });
    const release = proxy.hold({ settle: "none" });
    const answer = send({ body: slow, headers });
    await until("it is being settled", () => proxy.stats().settle.active === 1, { everyMs: 5 });
    for (const end = performance.now() + 1500; performance.now() < end; ) {
      assert.ok(!sleeping(), "the program runs before the payment is settled");
      await new Promise((resolve) => setImmediate(resolve));
    }
    release();
    await until("the program runs", sleeping, { everyMs: 5 });
    assert.equal((await waking(stack.pid, 7.0625, () => answer)).json.stdout, "ran\n");
    proxy.reset();
  });

  await test("503 while no facilitator offers anything, then no payment; a key that answers comes before", async () => {
    proxy.set({ supported: { mode: "status", code: 200, body: { kinds: [] } } });
    await until("nothing is offered", async () => (await send({ body })).status === 503, { withinMs: 20_000 });
    code("PAYMENT_FACILITATOR_UNAVAILABLE")(await send({ body: badBody }));
    kept(first.answer)(await send({ body, headers: withKey(first.headers["Idempotency-Key"]) }));
    kept(first.answer)(await send(first));
    proxy.reset();
    await until("it is offered again", async () => (await send({ body })).status === 402, { withinMs: 20_000 });
  });

  sender.close();
  assert.equal(await stack.stop(), 0);
  await proxy.stop();
  faults.reset();
}
