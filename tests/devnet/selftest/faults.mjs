// The fault proxy: each mode does what it says, to the caller and to the money.
import assert from "node:assert/strict";
import { payV1 } from "../../clients/v1/client.mjs";
import { payloadV2, payV2, signV2 } from "../client.mjs";
import { startFaults } from "../faults.mjs";
import { rpc } from "../rpc.mjs";
import { check, PRICE_ATOMIC } from "./kit.mjs";

export async function testFaults(market) {
  const { info, url, v2, payer } = market;
  const faults = await startFaults({ upstream: info.facilitatorUrl });
  const verify = () => market.direct("verify", {}, { facilitatorUrl: faults.url });

  async function setFault(modes) {
    await fetch(`${faults.url}/__reset`, { method: "POST" });
    const response = await fetch(`${faults.url}/__fault`, { method: "POST", body: JSON.stringify(modes) });
    assert.equal(response.status, 200);
  }

  /** One settle → the raw answer or the error, the body sent, and whether money moved. */
  async function settle(signal) {
    const paymentPayload = payloadV2({ requirements: v2, payload: await signV2(v2, payer.privateKey) });
    const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: v2 });
    const { result, atomic } = await market.earned(async () => {
      try {
        const response = await fetch(`${faults.url}/settle`, { method: "POST", body, redirect: "manual", signal });
        return { status: response.status, headers: response.headers, text: await response.text() };
      } catch (error) {
        return { error };
      }
    });
    return { ...result, body, paid: atomic === PRICE_ATOMIC };
  }

  await check("none passes everything through, and a seller works behind it", async () => {
    await setFault({});
    market.sellThrough(faults.url);
    assert.equal((await payV2({ url, key: payer.privateKey, body: {} })).status, 200);
    assert.equal((await payV1({ url, key: payer.privateKey, body: {} })).status, 200);
    assert.equal((await (await fetch(`${faults.url}/supported`)).json()).kinds.length, 2);
    const stats = await (await fetch(`${faults.url}/__stats`)).json();
    assert.deepEqual(stats.settle, { calls: 2, forwarded: 2, faulted: 0, active: 0, maxActive: 1, distinct: 2 });
    const last = await (await fetch(`${faults.url}/__last`)).json();
    assert.equal(JSON.parse(last.settle.body).x402Version, 1);
  });

  await check("refuse", async () => {
    await setFault({
      verify: { mode: "refuse", reason: "because", status: 400 },
      settle: "refuse",
      supported: "refuse",
    });
    assert.equal((await verify()).invalidReason, "because");
    const settled = await settle();
    assert.equal(settled.status, 200);
    assert.deepEqual(JSON.parse(settled.text), {
      success: false,
      transaction: "",
      network: v2.network,
      payer: payer.address,
      errorReason: "insufficient_funds",
    });
    assert.equal(settled.paid, false);
    assert.deepEqual((await (await fetch(`${faults.url}/supported`)).json()).kinds, []);
  });

  await check("error500 in both kinds, and any other status", async () => {
    await setFault({ settle: "error500-json" });
    const json = await settle();
    assert.deepEqual([json.status, JSON.parse(json.text).success, json.paid], [500, false, false]);
    await setFault({ settle: "error500-html" });
    const html = await settle();
    assert.deepEqual([html.status, html.text.startsWith("<html>"), html.paid], [500, true, false]);
    await setFault({ settle: { mode: "status", code: 429, headers: { "retry-after": "7" } } });
    const limited = await settle();
    assert.deepEqual([limited.status, limited.headers.get("retry-after"), limited.paid], [429, "7", false]);
  });

  for (const [mode, paid] of [
    ["reset-before", false],
    ["reset-after", true],
  ]) {
    await check(`${mode}`, async () => {
      await setFault({ settle: mode });
      const settled = await settle();
      assert.equal(settled.error?.cause?.code, "ECONNRESET");
      assert.equal(settled.paid, paid);
    });
  }

  for (const [mode, paid] of [
    ["hang-before", false],
    ["hang-after", true],
  ]) {
    await check(`${mode}`, async () => {
      await setFault({ settle: mode });
      const settled = await settle(AbortSignal.timeout(700));
      assert.equal(settled.error?.name, "TimeoutError");
      assert.equal(settled.paid, paid);
    });
  }

  for (const reset of [false, true]) {
    await check(`cut${reset ? " by a reset" : ""}`, async () => {
      await setFault({ settle: { mode: "cut", reset } });
      const settled = await settle();
      assert.match(settled.error?.message, /terminated/);
      assert.equal(settled.error.cause.code, reset ? "ECONNRESET" : "UND_ERR_SOCKET");
      assert.equal(settled.paid, true);
    });
  }

  await check("garbage, empty, foreign and types come after a real settle", async () => {
    for (const mode of ["garbage", "empty", "foreign", "types"]) {
      await setFault({ settle: mode });
      const settled = await settle();
      assert.deepEqual([settled.status, settled.paid], [200, true], mode);
      if (mode === "garbage") assert.throws(() => JSON.parse(settled.text));
      if (mode === "empty") assert.equal(settled.text, "");
      if (mode === "foreign") assert.deepEqual(JSON.parse(settled.text), { valid: true });
      if (mode === "types") assert.equal(JSON.parse(settled.text).success, 1);
    }
  });

  await check("forward can be turned off", async () => {
    await setFault({ settle: { mode: "garbage", forward: false } });
    assert.equal((await settle()).paid, false);
  });

  await check("delay and drip are slow and true", async () => {
    for (const mode of [
      { mode: "delay", ms: 400 },
      { mode: "drip", everyMs: 1 },
    ]) {
      await setFault({ settle: mode });
      const before = Date.now();
      const settled = await settle();
      assert.ok(Date.now() - before > 200);
      assert.equal(JSON.parse(settled.text).success, true);
      assert.equal(settled.paid, true);
    }
  });

  await check("what is held comes when it is let go, by its own function or by reset", async () => {
    for (const letGo of [(release) => release(), () => faults.reset()]) {
      faults.reset();
      const release = faults.hold({ settle: "none" });
      let come = false;
      const settled = settle().finally(() => (come = true));
      while (faults.stats().settle.forwarded === 0) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.equal(come, false);
      letGo(release);
      assert.equal((await settled).paid, true);
    }
  });

  await check("pending, then the truth to the identical question", async () => {
    await setFault({ settle: "pending" });
    const settled = await settle();
    const pending = JSON.parse(settled.text);
    assert.deepEqual([pending.success, pending.errorReason, settled.paid], [false, "settlement_pending", true]);
    const again = await (await fetch(`${faults.url}/settle`, { method: "POST", body: settled.body })).json();
    assert.deepEqual([again.success, again.transaction], [true, pending.transaction]);
    assert.equal(faults.stats().settle.distinct, 1);
    await setFault({ settle: { mode: "pending", transaction: "" } });
    assert.equal(JSON.parse((await settle()).text).transaction, "");
  });

  await check("redirect keeps method and body", async () => {
    await setFault({ settle: "redirect" });
    const settled = await settle();
    assert.deepEqual(
      [settled.status, settled.headers.get("location"), settled.paid],
      [308, `${info.facilitatorUrl}/settle`, false],
    );
    const followed = await (await fetch(`${faults.url}/settle`, { method: "POST", body: settled.body })).json();
    assert.equal(followed.success, true);
  });

  await check("huge is valid JSON of the size asked for, and may be left in the middle", async () => {
    await setFault({ settle: { mode: "huge", bytes: 3_000_000 } });
    const settled = await settle();
    assert.equal(JSON.parse(settled.text).pad.length, 3_000_000);
    await setFault({ settle: "huge" });
    const abort = new AbortController();
    const response = await fetch(`${faults.url}/settle`, { method: "POST", body: settled.body, signal: abort.signal });
    await response.body.getReader().read();
    abort.abort();
  });

  await check("lie changes one member and no other", async () => {
    for (const what of ["payer", "amount", "network", "transaction"]) {
      await setFault({ settle: { mode: "lie", what } });
      const settled = await settle();
      const told = JSON.parse(settled.text);
      const expected = { payer: payer.address, network: v2.network };
      assert.equal(told.success, true);
      assert.equal(settled.paid, true);
      for (const [member, value] of Object.entries(expected)) {
        assert.equal(told[member] === value, member !== what, `${what}: ${member}`);
      }
      const receipt = await rpc(info.rpcUrl, "eth_getTransactionReceipt", [told.transaction]);
      assert.equal(receipt === null, what === "transaction");
      assert.equal(told.amount, what === "amount" ? "1" : undefined);
    }
  });

  await check("stub says yes and moves nothing", async () => {
    await setFault({ verify: "stub", settle: "stub" });
    assert.deepEqual(await verify(), { isValid: true, payer: payer.address });
    const [first, second] = [await settle(), await settle()];
    assert.deepEqual([first.paid, second.paid], [false, false]);
    assert.notEqual(JSON.parse(first.text).transaction, JSON.parse(second.text).transaction);
    assert.match(JSON.parse(first.text).transaction, /^0x[0-9a-f]{64}$/);
    assert.equal(faults.stats().settle.forwarded, 0);
  });

  await check("a fault can last a number of calls", async () => {
    await setFault({ verify: { mode: "refuse", times: 2 } });
    const said = [];
    for (let call = 0; call < 3; call += 1) {
      said.push((await verify()).isValid);
    }
    assert.deepEqual(said, [false, false, true]);
    assert.equal(faults.stats().verify.faulted, 2);
  });

  await check("a fault can be meant for one body, and waits for it", async () => {
    await setFault({ settle: { mode: "refuse", of: "no such nonce", times: 1 } });
    assert.equal((await settle()).paid, true);
    assert.equal(faults.stats().settle.faulted, 0);
    await setFault({ settle: { mode: "refuse", of: payer.address, times: 1 } });
    assert.deepEqual([(await settle()).paid, (await settle()).paid], [false, true]);
    assert.equal(faults.stats().settle.faulted, 1);
  });

  await check("an unknown mode or endpoint is refused and changes nothing", async () => {
    await setFault({ settle: "stub" });
    for (const wanted of [{ settle: "nonsense" }, { nonsense: "stub" }, { verify: "refuse", settle: { mode: "x" } }]) {
      const response = await fetch(`${faults.url}/__fault`, { method: "POST", body: JSON.stringify(wanted) });
      assert.equal(response.status, 400);
    }
    const modes = await (await fetch(`${faults.url}/__fault`, { method: "POST", body: "{}" })).json();
    assert.deepEqual([modes.verify.mode, modes.settle.mode], ["none", "stub"]);
  });

  await faults.stop();
}
