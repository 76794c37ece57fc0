// A settlement whose answer was lost: found out from the chain or the facilitator, on the caller's retry, in the background
// and by `tollbox reconcile`. Money is counted on the chain; what was paid is run once, and nothing is paid twice.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { decodeHeader, nowSeconds } from "../devnet/client.mjs";
import { rpc } from "../devnet/rpc.mjs";
import { cancelAuthorization } from "../devnet/token.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
const ONCE = { payer: -1000n, seller: 1000n };
const FREE = { payer: 0n, seller: 0n };
const LOST_BEFORE = "reset-before"; // no money moves
const LOST_AFTER = "reset-after"; // the money moves, its answer is lost
const SOON_OVER_S = 20; // an authorization must be good for 10 s when it is looked at

export default async function reconcile(test, world) {
  const { faults, rpcFaults, info } = world;
  const body = JSON.stringify(HELLO);

  /** A payment whose settlement is unknown → {payer, headers, nonce, send, before} */
  async function lost(fault, { sign, prepare } = {}) {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer, sign });
    const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
    const before = [await world.held(payer.address), await world.held(info.payTo)];
    const send = (more) => world.send({ body, headers, ...more });
    await prepare?.(headers);
    if (fault !== null) {
      faults.set({ settle: { ...(typeof fault === "string" ? { mode: fault } : fault), times: 1, of: nonce } });
    }
    assertRefused(await send(), INDETERMINATE);
    faults.reset();
    const moved = async () => ({
      payer: (await world.held(payer.address)) - before[0],
      seller: (await world.held(info.payTo)) - before[1],
    });
    return { payer, headers, nonce, send, moved, row: () => row(nonce) };
  }

  /** What `tollbox payments` says of the payment with this nonce. */
  async function row(nonce) {
    const { status, stdout, stderr } = await world.tollbox("payments");
    assert.equal(status, 0, stderr);
    const line = stdout.split("\n").find((text) => text.includes(nonce));
    const [identity, , , , state, created, transaction, age, next, evidence] = (line ?? "").split("  ");
    return { identity, state, created, age, next, transaction, evidence };
  }

  const inState = (payment, state, more) =>
    until(`the payment is ${state}`, async () => {
      const found = await payment.row();
      return found.state === state && found;
    }, { withinMs: 30_000, everyMs: 200, ...more });

  const settles = () => faults.stats().settle.calls;

  /** What makes all blocks but the newest so much older. */
  const older = (seconds) => ({
    eth_getBlockByNumber: (block, [wanted]) =>
      wanted === "latest" ? block : { ...block, timestamp: `0x${(BigInt(block.timestamp) - BigInt(seconds)).toString(16)}` },
  });

  function assertServed(answer, payment) {
    assertRun(answer, { world, body, payer: payment.payer, amount: "1000" });
  }

  // A stranger who has seen the signature hands it in: the real facilitator behind the proxy is one.
  async function submit(headers) {
    const paymentPayload = decodeHeader(headers["PAYMENT-SIGNATURE"]);
    const answer = await fetch(`${info.facilitatorUrl}/settle`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: await world.requirement() }),
    });
    assert.equal((await answer.json()).success, true);
  }

  /** The newest block is of a second that is over, by the clock too from which the service reads its seconds: that one is late. */
  async function nextSecond() {
    const { timestamp } = await rpc(info.rpcUrl, "eth_getBlockByNumber", ["latest", false]);
    await until("the block is in the past", () => Date.now() >= (Number(timestamp) + 1) * 1000 + 200);
  }

  await test("paid, the answer lost: the retry is served without asking anybody to settle", async () => {
    const payment = await lost(LOST_AFTER);
    assert.deepEqual(await payment.moved(), ONCE);
    const before = settles();
    const answer = await payment.send();
    assertServed(answer, payment);
    assert.equal(settles(), before, "settle was called");
    const receipt = await rpc(info.rpcUrl, "eth_getTransactionReceipt", [answer.json.payment.transaction]);
    assert.equal(receipt.status, "0x1");
    assert.ok((await payment.send()).bytes.equals(answer.bytes));
    assert.deepEqual(await payment.moved(), ONCE);
  });

  await test("paid, the answer lost: found in the background, run owed", async () => {
    const payment = await lost(LOST_AFTER);
    const found = await inState(payment, "settled");
    assert.match(found.transaction, /^0x[0-9a-f]{64}$/);
    const before = settles();
    assertServed(await payment.send(), payment);
    assert.equal(settles(), before);
    assert.deepEqual(await payment.moved(), ONCE);
  });

  await test("not paid, the answer lost: nobody is charged in the background; the retry is", async () => {
    const payment = await lost(LOST_BEFORE);
    const found = await until("it was looked at", async () => {
      const now = await payment.row();
      return /unused/.test(now.evidence) && now;
    }, { withinMs: 30_000, everyMs: 200 });
    assert.equal(found.state, "unknown");
    assert.match(found.next, /^(in \d+s|now)$/);
    assert.deepEqual(await payment.moved(), FREE);
    assertServed(await payment.send(), payment);
    assert.deepEqual(await payment.moved(), ONCE);
  });

  await test("a cancelled authorization is no payment: 402, for good", async () => {
    const payment = await lost(LOST_BEFORE);
    await cancelAuthorization(info, payment.payer, payment.nonce);
    const before = settles();
    for (let time = 0; time < 2; time++) {
      assertRefused(await payment.send(), "PAYMENT_SETTLEMENT_FAILED", { message: /cancelled/ });
      assert.match((await payment.row()).evidence, /cancelled/);
    }
    assert.equal((await payment.row()).state, "failed");
    assertRefused(await payment.send({ body: JSON.stringify({ ...HELLO, stdin: "x" }) }), "PAYMENT_REPLAYED");
    assert.equal(settles(), before);
    assert.deepEqual(await payment.moved(), FREE);
  });

  await test("an authorization that expired unused is no payment", async () => {
    const validBefore = nowSeconds() + SOON_OVER_S;
    const payment = await lost(LOST_BEFORE, { sign: { validBefore: String(validBefore) } });
    const found = await inState(payment, "failed", { withinMs: 45_000 });
    assert.match(found.evidence, /expired unused/);
    assert.ok(nowSeconds() >= validBefore);
    assertRefused(await payment.send(), "PAYMENT_SETTLEMENT_FAILED", { message: /expired/ });
    assert.deepEqual(await payment.moved(), FREE);
  });

  await test("a stranger who hands it in after our claim has paid for the run", async () => {
    const payment = await lost(LOST_BEFORE);
    await submit(payment.headers);
    const before = settles();
    assertServed(await payment.send(), payment);
    assert.equal(settles(), before);
    assert.deepEqual(await payment.moved(), ONCE);
  });

  /** One key, a first payment that ends in `code`, and more payments of the same payer → as lost(), and resign() */
  async function keyed(fault, code, rest) {
    const payer = world.nextPayer();
    const key = { "Idempotency-Key": randomBytes(16).toString("hex") };
    const first = await world.payment({ payer });
    const { nonce } = decodeHeader(first["PAYMENT-SIGNATURE"]).payload.authorization;
    const before = [await world.held(payer.address), await world.held(info.payTo)];
    const send = (headers) => world.send({ body, headers: { ...headers, ...key } });
    faults.set({ settle: { ...fault, times: 1, of: nonce } });
    assertRefused(await send(first), code, rest);
    faults.reset();
    return {
      payer,
      send: () => send(first),
      resign: async () => send(await world.payment({ payer })),
      moved: async () => ({ payer: (await world.held(payer.address)) - before[0], seller: (await world.held(info.payTo)) - before[1] }),
      row: () => row(nonce),
    };
  }

  // What was used before we heard of it binds to no request of ours: our first call is told so.
  async function usedBefore(fault = null) {
    return lost(fault, {
      prepare: async (headers) => {
        await submit(headers);
        await nextSecond();
      },
    });
  }

  await test("handed in just before our claim: no run", async () => {
    const payment = await usedBefore();
    assertRefused(await payment.send(), INDETERMINATE);
    assert.match((await payment.row()).evidence, /nonce_already_used|close to the claim/);
    assert.deepEqual(await payment.moved(), ONCE, "by the stranger, once");
  });

  await test("handed in long before our claim: 409, and no run", async () => {
    const payment = await usedBefore();
    rpcFaults.set(older(120));
    try {
      assertRefused(await payment.send(), "PAYMENT_REPLAYED", { message: /before/ });
    } finally {
      rpcFaults.set(null);
    }
    assert.equal((await payment.row()).state, "failed");
  });

  // Our clock was ahead at the claim and is right again: what our own call did then looks as if it had been done before.
  await test("a clock that was ahead by less than a minute: what our lost call paid for is served", async () => {
    const payment = await lost(LOST_AFTER);
    rpcFaults.set(older(30));
    try {
      assertServed(await payment.send(), payment);
    } finally {
      rpcFaults.set(null);
    }
    assert.deepEqual(await payment.moved(), ONCE);
  });

  await test("a clock that was ahead by more: unknown, not refused, and one charge with the key", async () => {
    for (const seconds of [75, 240]) {
      const payment = await keyed({ mode: LOST_AFTER }, INDETERMINATE);
      rpcFaults.set(older(seconds));
      try {
        for (let time = 0; time < 2; time++) {
          assertRefused(await payment.send(), INDETERMINATE);
        }
        const before = settles();
        assertRefused(await payment.resign(), INDETERMINATE);
        assert.ok(settles() - before <= 1, "the first payment's call again, at most");
        await until("it was looked at", async () => /proves nothing|cannot be read/.test((await payment.row()).evidence), { withinMs: 30_000, everyMs: 200 });
        assert.equal((await payment.row()).state, "unknown");
        assert.deepEqual(await payment.moved(), ONCE);
      } finally {
        rpcFaults.set(null);
      }
      assertServed(await payment.resign(), payment);
      assert.deepEqual(await payment.moved(), ONCE);
    }
  });

  // Nobody can tell it from a call of ours. Who wants to gain by it must have our call fail at that moment.
  await test("handed in just before our claim, and our call lost: taken for it", async () => {
    const payment = await usedBefore(LOST_BEFORE);
    assertServed(await payment.send(), payment);
    assert.deepEqual(await payment.moved(), ONCE);
  });

  const FLIP = (hash) => hash.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
  const each = (change) => (logs) => logs.map((log) => ({ ...log, ...change(log) }));
  const inReceipt = (change) => (receipt) => ({ ...receipt, ...change(receipt) });
  const lies = [
    ["another chain's node", { eth_chainId: () => "0x1" }],
    ["a state that is no word", { eth_call: () => "0x" }],
    ["a state of 2", { eth_call: (word) => word.replace(/1$/, "2") }],
    ["unused, while a log says used", { eth_call: () => `0x${"0".repeat(64)}`, eth_getBlockByNumber: (block) => ({ ...block, timestamp: "0x7fffffff" }) }],
    ["used, and no log", { eth_getLogs: () => [] }],
    ["two logs", { eth_getLogs: (logs) => [...logs, ...logs] }],
    ["a log of a block taken back", { eth_getLogs: each(() => ({ removed: true })) }],
    ["a log of another block", { eth_getLogs: each(({ blockHash }) => ({ blockHash: FLIP(blockHash) })) }],
    ["a log of a block to come", { eth_getLogs: each(() => ({ blockNumber: "0xffffffff" })) }],
    ["a log of another nonce", { eth_getLogs: each(({ topics }) => ({ topics: [topics[0], topics[1], FLIP(topics[2])] })) }],
    ["a log of another token", { eth_getLogs: each(() => ({ address: info.payTo })) }],
    ["logs that are no list", { eth_getLogs: () => ({}) }],
    ["no receipt", { eth_getTransactionReceipt: () => null }],
    ["a failed transaction", { eth_getTransactionReceipt: inReceipt(() => ({ status: "0x0" })) }],
    ["a receipt of another transaction", { eth_getTransactionReceipt: inReceipt(({ transactionHash }) => ({ transactionHash: FLIP(transactionHash) })) }],
    ["a receipt without logs", { eth_getTransactionReceipt: inReceipt(() => ({ logs: [] })) }],
    ["no block", { eth_getBlockByNumber: () => null }],
    ["a block of another number", { eth_getBlockByNumber: (block, [wanted]) => (wanted === "latest" ? block : { ...block, number: "0x1" }) }],
    ...["dead", "html", "error-500", "refuse", "other-id", "cut", "null", "huge"].map((mode) => [mode, mode]),
  ];
  await test("a node that lies, contradicts itself or fails: still unknown, until it tells the truth", async () => {
    const payment = await lost(LOST_AFTER);
    for (const [name, lie] of lies) {
      rpcFaults.set(lie);
      const answer = await payment.send();
      rpcFaults.set(null);
      assert.equal(answer.status, 503, `${name}: ${answer.text}`);
      assertRefused(answer, INDETERMINATE);
    }
    assertServed(await payment.send(), payment);
    assert.deepEqual(await payment.moved(), ONCE);
  });

  await test("a node that hangs holds a retry up for seconds only", async () => {
    const payment = await lost(LOST_AFTER);
    rpcFaults.set("hang");
    const begin = performance.now();
    assertRefused(await payment.send(), INDETERMINATE);
    assert.ok(performance.now() - begin < 30_000); // a connection that is waited for without end takes minutes
    rpcFaults.set(null);
    assertServed(await payment.send(), payment);
  });

  await test("a node that is dead is as none: the facilitator is asked again", async () => {
    rpcFaults.set("dead");
    try {
      const payment = await lost(LOST_BEFORE);
      await inState(payment, "settled");
      assert.deepEqual(await payment.moved(), ONCE);
      assertServed(await payment.send(), payment);
      assert.deepEqual(await payment.moved(), ONCE);
    } finally {
      rpcFaults.set(null);
    }
  });

  await test("a transaction is waited for until it has its confirmations", async () => {
    await world.restartWithChain(`[chain:default]\nrpc_url = ${rpcFaults.url}\nconfirmations = 6\n`);
    const payment = await lost(LOST_AFTER);
    assertRefused(await payment.send(), INDETERMINATE, { message: /confirmations/ });
    await rpc(info.rpcUrl, "anvil_mine", ["0x6"]);
    assertServed(await payment.send(), payment);
    assert.deepEqual(await payment.moved(), ONCE);
  });

  // Our claim was handed in by another way than the call that we made: the facilitator says of our first settle that the nonce is
  // used, and its word is all there is until the chain tells. Whoever then comes with the key must not pay a second time.
  const USED = { mode: "refuse", reason: "invalid_exact_evm_nonce_already_used", forward: true };
  const confirmed = (count) => world.restartWithChain(`[chain:default]\nrpc_url = ${rpcFaults.url}\nconfirmations = ${count}\n`);

  /** A new payment with the key is not settled, now that the first one is in doubt; the first one's run is had by it later. */
  async function chargedOnce(payment, confirm) {
    assert.equal((await payment.row()).state, "unknown");
    const before = settles();
    assertRefused(await payment.resign(), INDETERMINATE);
    assert.equal(settles(), before, "settle was called");
    assert.deepEqual(await payment.moved(), ONCE);
    await confirm();
    assert.match((await inState(payment, "settled")).transaction, /^0x[0-9a-f]{64}$/);
    const answer = await payment.resign();
    assertServed(answer, payment);
    assert.ok((await payment.send()).bytes.equals(answer.bytes));
    assert.equal(settles(), before);
    assert.deepEqual(await payment.moved(), ONCE);
  }

  await test("`used` is said of our first settle, and the chain waits for confirmations: unknown, and one charge", async () => {
    await confirmed(3);
    const payment = await keyed(USED, INDETERMINATE, { message: /confirmations/ });
    await chargedOnce(payment, () => rpc(info.rpcUrl, "anvil_mine", ["0x3"]));
  });

  await test("a refusal that the chain contradicts is none, from the moment that it is read", async () => {
    const payment = await keyed({ ...USED, reason: "insufficient_funds" }, "PAYMENT_SETTLEMENT_FAILED");
    assert.equal((await payment.row()).state, "failed");
    assertRefused(await payment.send(), INDETERMINATE, { message: /confirmations/ });
    await chargedOnce(payment, () => rpc(info.rpcUrl, "anvil_mine", ["0x3"]));
  });

  await test("`used` is said of our first settle, and the chain cannot be read: unknown, and one charge", async () => {
    await confirmed(1);
    rpcFaults.set("dead");
    try {
      const payment = await keyed(USED, INDETERMINATE);
      assert.equal((await payment.row()).state, "unknown");
      assertRefused(await payment.resign(), INDETERMINATE);
      assert.deepEqual(await payment.moved(), ONCE);
      rpcFaults.set(null);
      assertServed(await payment.resign(), payment);
      assert.deepEqual(await payment.moved(), ONCE);
    } finally {
      rpcFaults.set(null);
    }
  });

  await test("`used`, too close to the claim to tell by whom: no 402, also when the authorization is over", async () => {
    const payer = world.nextPayer();
    const validBefore = nowSeconds() + SOON_OVER_S;
    const headers = await world.payment({ payer, sign: { validBefore: String(validBefore) } });
    const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
    await submit(headers);
    await nextSecond();
    assertRefused(await world.send({ body, headers }), INDETERMINATE);
    await until("its time is over", () => nowSeconds() > validBefore, { withinMs: 30_000, everyMs: 200 });
    assertRefused(await world.send({ body, headers }), INDETERMINATE);
    assert.equal((await row(nonce)).state, "unknown");
  });

  await test("tollbox reconcile, beside the service and without it", async () => {
    let paid;
    let lostOnes = 0;
    await world.restartWithChain("");
    try {
      paid = await lost(LOST_AFTER);
      // No chain to read: what the facilitator says of the one is no proof, the other is settled by asking again. The service
      // asks by itself after 5 s: where it was before the command, nothing is shown of that, and another one is lost.
      let never;
      let first;
      for (let shown = false; !shown; ) {
        never = await lost({ mode: "refuse", reason: "unexpected_settle_error" });
        lostOnes += 1;
        first = await world.tollbox("reconcile");
        shown = lostOnes === 5 || new RegExp(`${never.nonce} {2}settled`).test(first.stdout);
        assert.ok(shown || (await never.row()).state === "settled", first.stdout);
      }
      assert.equal(first.status, 3, first.stderr);
      assert.match(first.stdout, new RegExp(`${paid.nonce} {2}unknown {2}- {2}.*likely paid`));
      assert.match(first.stdout, new RegExp(`${never.nonce} {2}settled {2}0x[0-9a-f]{64} {2}-`));
      assertServed(await never.send(), never);
      assertRefused(await paid.send(), INDETERMINATE);
    } finally {
      await world.restartWithChain(null); // what comes after counts on it
    }
    assert.equal(await world.stop(), 0);
    const { identity } = await paid.row();
    const second = await world.tollbox("reconcile", identity);
    assert.equal(second.status, 0, second.stderr);
    assert.match(second.stdout, new RegExp(`${paid.nonce} {2}settled {2}0x[0-9a-f]{64}`));
    assert.equal((await world.tollbox("reconcile", identity)).status, 1, "it is not unknown any more");
    assert.equal((await world.tollbox("reconcile", "nobody")).status, 1);
    assert.equal((await world.tollbox("reconcile", "--all", "x")).status, 2);
    await world.start();
    assertServed(await paid.send(), paid);
    assert.deepEqual(await paid.moved(), { payer: -1000n, seller: 1000n + 1000n * BigInt(lostOnes) });
  });

  await test("no key of the node's URL is shown", async () => {
    const { status, stdout } = await world.tollbox("config");
    assert.equal(status, 0);
    assert.match(stdout, /^chain:default\.rpc_url = \(not shown\)/m);
    assert.ok(!stdout.includes(rpcFaults.url));
  });
}
