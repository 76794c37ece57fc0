// Facilitators as in production: several things accepted, a second facilitator, one that is down, one that wants tokens, and
// what is said of one that cannot be used. Stacks of its own beside the world's.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { jwtVerify } from "../devnet/node_modules/jose/dist/webapi/index.js";
import { addGas, addToken, testAccount } from "../devnet/chain.mjs";
import { balance, encodeV1, encodeV2, payV2, rebuilt, signV2 } from "../devnet/client.mjs";
import { startFacilitator } from "../devnet/facilitator.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { freePorts } from "../harness/ports.mjs";
import { startStack } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { assertRefused } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TOLLBOX = join(ROOT, process.env.TOLLBOX_TEST_B ?? "build", "tollbox");
const ANY_PORT = { TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0" };
const UNAVAILABLE = "PAYMENT_FACILITATOR_UNAVAILABLE";
const INDETERMINATE = "PAYMENT_SETTLEMENT_INDETERMINATE";
const OTHER = "0x0000000000000000000000000000000000007001";
const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const MINT = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
const SOLANA_SELLER = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
const SOLANA_PAYER = "7dHbWXmci3dT8UFYWYZweBLXgycu7Y3iL6trKn1Y7ARj";
const FEE_PAYER = "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5";
const body = JSON.stringify(HELLO);

export default async function facilitators(test, world) {
  const { info } = world;
  const payers = info.payers.map(({ address }) => address);
  const pay = async (requirements, payer, encode = encodeV2, sign = {}) =>
    encode({ requirements, payload: await signV2(requirements, payer.privateKey, sign) });

  /** A stack whose config file ends in `conf`; → {…stack, send, log()} */
  async function start(name, conf, env = {}) {
    const file = join(world.folder, `${name}.ini`);
    const logFile = join(world.folder, `${name}.log`);
    writeFileSync(file, conf);
    const stderr = openSync(logFile, "w");
    try {
      const stack = await startStack({ env: { ...ANY_PORT, TOLLBOX_TEST_CONF: file, ...env }, stderr });
      const send = createSender(stack.https, stack.ca);
      const stop = stack.stop.bind(stack);
      return {
        ...stack,
        send,
        log: () => readFileSync(logFile, "utf8"),
        stop: async () => {
          send.close();
          return stop();
        },
      };
    } finally {
      closeSync(stderr);
    }
  }

  // ---- several things accepted, a second facilitator ----

  const secondGas = testAccount("second facilitator");
  await addGas(info.rpcUrl, secondGas.address);
  await addToken(info.rpcUrl, OTHER, payers);
  const second = await startFacilitator({ ...info, key: secondGas.privateKey });
  // It goes away, and comes back to its port.
  const one = await startFaults({ upstream: info.facilitatorUrl, port: (await freePorts(1))[0] });
  const two = await startFaults({ upstream: second.url });
  const sol = await startFaults({ upstream: info.facilitatorUrl });
  sol.set({
    supported: { mode: "status", code: 200, body: { kinds: [{ x402Version: 2, scheme: "exact", network: SOLANA, extra: { feePayer: FEE_PAYER } }] } },
    verify: { mode: "status", code: 200, body: { isValid: true, payer: SOLANA_PAYER } },
    settle: "stub",
  });
  const several = await start("several", `
[site]
accepts = usdc other sol
pay_to = ${info.payTo}
facilitator = one
[facilitator:one]
url = ${one.url}
fallback = two
[facilitator:two]
url = ${two.url}
[facilitator:sol]
url = ${sol.url}
[asset:usdc]
network = ${info.network}
asset = ${info.asset}
[asset:other]
network = ${info.network}
asset = ${OTHER}
asset_name = USDC
asset_version = 2
[asset:sol]
network = ${SOLANA}
asset = ${MINT}
pay_to = ${SOLANA_SELLER}
facilitator = sol
asset_decimals = 6
`, { TOLLBOX_FACILITATOR_URL: one.url, TOLLBOX_FACILITATOR: "one" });

  const offers = async () => (await several.send({ body })).required.accepts;
  const resets = () => [one, two].forEach((faults) => faults.reset());

  await test("several things are offered in the order of the settings, one of each network to old clients", async () => {
    const { required, json } = await several.send({ body });
    assert.deepEqual(required.accepts.map(({ network, asset }) => [network, asset]), [[info.network, info.asset], [info.network, OTHER], [SOLANA, MINT]]);
    assert.deepEqual(json.accepts.map(({ network, asset }) => [network, asset]), [[info.networkV1, info.asset]]);
    assert.deepEqual(required.accepts[2], {
      scheme: "exact", network: SOLANA, amount: "1000", asset: MINT, payTo: SOLANA_SELLER, maxTimeoutSeconds: 300, extra: { feePayer: FEE_PAYER },
    });
    const quote = await several.send({ path: "/quote", body: {} });
    assert.deepEqual(quote.json.accepts, required.accepts);
  });

  await test("a payment is taken in the asset that it names, v1 in the first", async () => {
    const [first, other] = await offers();
    const [payer] = info.payers;
    const held = () => Promise.all([info.asset, OTHER].map((asset) => balance(info.rpcUrl, asset, info.payTo)));
    for (const [headers, asset, moved] of [
      [await pay(other, payer), OTHER, [0n, 1000n]],
      [await pay(first, payer), info.asset, [1000n, 0n]],
      [await pay({ ...first, network: info.networkV1 }, payer, encodeV1), info.asset, [1000n, 0n]],
    ]) {
      const before = await held();
      const answer = await several.send({ body, headers });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.payment.asset, asset);
      assert.deepEqual((await held()).map((now, index) => now - before[index]), moved);
    }
  });

  await test("a signature for one asset buys nothing as another", async () => {
    const [first, other] = await offers();
    const payload = await signV2(other, info.payers[1].privateKey);
    assertRefusedOneOf(await several.send({ body, headers: encodeV2({ requirements: first, payload }) }), ["PAYMENT_INVALID"]);
  });

  const solanaPayment = (requirements, signature, message, more) =>
    encodeV2({ requirements, payload: { transaction: Buffer.concat([Buffer.of(1), signature, message]).toString("base64") }, ...more });

  await test("a Solana payment passes through: requirement with the fee payer out, payer and transaction back", async () => {
    const requirements = (await offers())[2];
    const message = randomBytes(200);
    const answer = await several.send({ body, headers: solanaPayment(requirements, randomBytes(64), message) });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.payment.payer, SOLANA_PAYER);
    assert.deepEqual([answer.json.payment.network, answer.json.payment.asset, answer.json.payment.amount], [SOLANA, MINT, "1000"]);
    assert.equal(answer.response.network, SOLANA);
    for (const call of ["verify", "settle"]) {
      assert.deepEqual(JSON.parse(sol.last()[call].body).paymentRequirements, requirements);
    }
    // The message is the payment, whatever its signatures are.
    const settles = sol.stats().settle.calls;
    const other = { ...HELLO, stdin: "x" };
    const again = await several.send({ body: JSON.stringify(other), headers: solanaPayment(requirements, randomBytes(64), message) });
    assert.equal(again.status, 409, again.text);
    assert.equal(sol.stats().settle.calls, settles);
  });

  await test("what was signed for Solana, in a header built anew, is that payment; signed otherwise, nobody is told to sign again", async () => {
    const requirements = (await offers())[2];
    const signature = randomBytes(64);
    const message = randomBytes(200);
    const headers = solanaPayment(requirements, signature, message);
    const forged = solanaPayment(requirements, randomBytes(64), message);
    const refused = async (tried, code) => assertRefusedOneOf(await several.send({ body, headers: tried }), [code]);
    sol.set({ settle: "refuse" });
    await refused(headers, "PAYMENT_SETTLEMENT_FAILED");
    await refused(rebuilt(headers), "PAYMENT_SETTLEMENT_FAILED");
    await refused(forged, "PAYMENT_INVALID");
    sol.set({ settle: "reset-before" });
    await refused(rebuilt(headers), INDETERMINATE);
    await refused(forged, "PAYMENT_REPLAYED");
    sol.set({ settle: "stub" });
    const answer = await several.send({ body, headers: rebuilt(headers) });
    assert.equal(answer.status, 200, answer.text);
    const settles = sol.stats().settle.calls;
    const again = await several.send({ body, headers });
    assert.ok(again.bytes.equals(answer.bytes), again.text);
    await refused(forged, "PAYMENT_REPLAYED");
    assert.equal(sol.stats().settle.calls, settles);
  });

  await test("a key or an id that another request of a Solana payer has is named, and nothing is settled", async () => {
    const requirements = (await offers())[2];
    const other = JSON.stringify({ ...HELLO, stdin: "x" });
    const paid = (id, headers) => ({
      ...solanaPayment(requirements, randomBytes(64), randomBytes(200), id && { extensions: { "payment-identifier": { info: { required: false, id } } } }),
      ...headers,
    });
    const key = { "Idempotency-Key": randomBytes(24).toString("hex") };
    const id = randomBytes(16).toString("hex");
    assert.equal((await several.send({ body, headers: paid(id, key) })).status, 200);
    const settles = sol.stats().settle.calls;
    const rows = [
      [other, paid(null, key), /this Idempotency-Key was used for another body/],
      [other, paid(id, key), /this Idempotency-Key was used for another body/],
      [other, paid(id), /this payment-identifier was used with another payment/],
      [body, paid(id), /this payment-identifier was used with another payment/],
    ];
    for (const [asked, headers, message] of rows) {
      assertRefused(await several.send({ body: asked, headers }), "PAYMENT_REPLAYED", { message });
    }
    assert.equal(sol.stats().settle.calls, settles);
  });

  await test("another letter case, or another fee payer, is another thing there", async () => {
    const requirements = (await offers())[2];
    for (const change of [{ asset: MINT.toUpperCase() }, { extra: { feePayer: SOLANA_PAYER } }, { extra: {} }]) {
      const settles = sol.stats().settle.calls;
      const answer = await several.send({ body, headers: solanaPayment({ ...requirements, ...change }, randomBytes(64), randomBytes(200)) });
      assertRefusedOneOf(answer, ["PAYMENT_REQUIREMENTS_MISMATCH"]);
      assert.equal(sol.stats().settle.calls, settles);
    }
  });

  await test("verify without a verdict goes to the second facilitator", async () => {
    const [first] = await offers();
    const headers = await pay(first, info.payers[2], encodeV2, { spoil: (signature) => signature + "00".repeat(32) });
    resets();
    one.set({ verify: "error500-html" });
    const answer = await several.send({ body, headers });
    resets();
    assertRefusedOneOf(answer, ["PAYMENT_INVALID", "PAYMENT_AMOUNT_INSUFFICIENT"]);
  });

  await test("settle of which something was sent stays with the first, even when that one is gone afterwards", async () => {
    const [first] = await offers();
    const payer = info.payers[3];
    const headers = await pay(first, payer);
    resets();
    const before = await world.held(payer.address);
    one.set({ settle: "reset-before" });
    assertRefusedOneOf(await several.send({ body, headers }), [INDETERMINATE]);
    assert.equal(two.stats().settle.calls, 0);
    one.reset();
    const answer = await several.send({ body, headers });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(two.stats().settle.calls, 0);
    assert.equal((await world.held(payer.address)) - before, -1000n);
  });

  await test("settle of which nothing was sent goes to the second, which then has it for good", async () => {
    const [first] = await offers();
    const payer = info.payers[4];
    const port = Number(new URL(one.url).port);
    resets();
    await one.stop();
    try {
      const before = await world.held(payer.address);
      const headers = await pay(first, payer);
      const answer = await several.send({ body, headers });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(two.stats().settle.calls, 1);
      // Sent to the second, and lost there: only the second is asked again.
      const lost = await pay(first, payer);
      two.set({ settle: "reset-before" });
      assertRefusedOneOf(await several.send({ body, headers: lost }), [INDETERMINATE]);
      Object.assign(one, await startFaults({ upstream: info.facilitatorUrl, port }));
      two.reset();
      const found = await several.send({ body, headers: lost });
      assert.equal(found.status, 200, found.text);
      // For this request, or before it by the service itself.
      assert.equal(two.stats().settle.calls, 1);
      assert.equal(one.stats().settle.calls, 0);
      assert.equal((await world.held(payer.address)) - before, -2000n);
    } finally {
      if (one.stats().supported === undefined || !(await answers(one.url))) {
        Object.assign(one, await startFaults({ upstream: info.facilitatorUrl, port }));
      }
    }
  });

  await several.stop();
  for (const part of [one, two, sol, second]) {
    await part.stop();
  }

  // ---- one facilitator, down and back ----

  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const settings = { ...siteSettings(info), TOLLBOX_FACILITATOR_URL: url };
  let only;
  // With a chain to read, the service asks by itself only what the chain tells: tests can count calls.
  const chain = `[chain:default]\nrpc_url = ${info.rpcUrl}\nconfirmations = 1\n`;
  const lone = await start("lone", `[facilitator:default]\nrefresh_s = 1\n${chain}`, settings);
  const unpaid = () => lone.send({ body });
  const sells = () => until("it is offered", async () => (await unpaid()).status === 402);

  await test("a facilitator that was never reached: it starts, warns, and asks nobody to pay", async () => {
    assertRefused(await unpaid(), UNAVAILABLE);
    assertRefused(await lone.send({ path: "/quote", body: {} }), UNAVAILABLE);
    await until("it is healthy", async () => (await lone.send({ path: "/health", method: "GET" })).status === 200);
    await until("it is logged", () => /facilitator default: what it offers cannot be asked: no connection/.test(lone.log()));
    assert.match(lone.log(), /takes no payment in .* has not said yet what it offers/);
  });

  await test("once it is there, it is found", async () => {
    only = await startFaults({ upstream: info.facilitatorUrl, port });
    await sells();
    const answer = await lone.send({ body, headers: await world.payment({ payer: info.payers[5] }) });
    assert.equal(answer.status, 200, answer.text);
  });

  await test("one that settles version 1 alone: the 402 has no header, whose empty list would hide the body's offer, also by MCP", async () => {
    only.set({ supported: { mode: "status", code: 200, body: { kinds: [{ x402Version: 1, scheme: "exact", network: info.networkV1 }] } } });
    await until("version 2 is gone", async () => (await unpaid()).required === null);
    const { status, json } = await unpaid();
    assert.equal(status, 402);
    assert.deepEqual(json.accepts.map(({ network, asset }) => [network, asset]), [[info.networkV1, info.asset]]);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "execute", arguments: HELLO } };
    const { result } = (await lone.send({ path: "/mcp", body: call })).json;
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent.x402Version, 1);
    assert.equal(result.structuredContent.accepts[0].network, info.networkV1);
    const answer = await payV2({ url: `${lone.https}/execute`, ca: lone.ca, key: info.payers[5].privateKey, method: "POST", body: HELLO });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.payment.name, "X-PAYMENT");
    only.reset();
    await until("version 2 is there again", async () => (await unpaid()).required !== null);
  });

  await test("its list is followed, and a list that cannot be had takes nothing away", async () => {
    only.set({ supported: "refuse" }); // an empty list
    await until("nothing is offered", async () => (await unpaid()).status === 503);
    only.reset();
    await sells();
    only.set({ supported: "error500-html" });
    await until("it was asked twice", () => only.stats().supported.faulted >= 2);
    assert.equal((await unpaid()).status, 402);
    only.reset();
  });

  await test("a circuit that is open refuses at once and claims nothing; it closes when /supported answers", async () => {
    const payer = info.payers[6];
    const before = await world.held(payer.address);
    only.set({ supported: "error500-html", settle: { mode: "status", code: 503 } });
    const tried = [];
    for (let i = 0; i < 5; i += 1) {
      tried.push(await world.payment({ payer }));
      assertRefusedOneOf(await lone.send({ body, headers: tried[i] }), [INDETERMINATE]);
    }
    // Who asks now gets no answer.
    only.set({ settle: "hang-before" });
    const { calls } = only.stats().settle;
    const fresh = await world.payment({ payer });
    assertRefused(await lone.send({ body, headers: fresh }), UNAVAILABLE);
    assertRefused(await lone.send({ body, headers: tried[0] }), UNAVAILABLE);
    assert.equal(only.stats().settle.calls, calls, "the facilitator was not asked");
    assert.equal((await unpaid()).status, 402, "the offer stays");
    assert.match(lone.log(), /facilitator default: is down/);
    only.reset();
    await until("the circuit is closed", () => /facilitator default: is back/.test(lone.log()), { withinMs: 60_000 });
    // Nothing was claimed: it may still buy something else.
    const answer = await lone.send({ body: JSON.stringify({ ...HELLO, stdin: "x" }), headers: fresh });
    assert.equal(answer.status, 200, answer.text);
    for (const headers of tried) {
      assert.equal((await lone.send({ body, headers })).status, 200);
    }
    assert.equal((await world.held(payer.address)) - before, -6000n);
  });

  await test("refusals never open it", async () => {
    only.set({ settle: "refuse" });
    for (let i = 0; i < 7; i += 1) {
      assertRefused(await lone.send({ body, headers: await world.payment({ payer: info.payers[7] }) }), "PAYMENT_SETTLEMENT_FAILED");
    }
    only.reset();
  });

  await lone.stop();
  await only.stop();

  // ---- tokens for CDP ----

  const edwards = generateKeyPairSync("ed25519");
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = edwards.privateKey.export({ format: "jwk" });
  const raw = (text) => Buffer.from(text, "base64url");
  const keys = [
    ["EdDSA", { id: "6f1d2c3b-0000-4000-8000-00000000cdcd", privateKey: Buffer.concat([raw(jwk.d), raw(jwk.x)]).toString("base64") }, edwards],
    ["ES256", { name: "organizations/o/apiKeys/k", privateKey: ec.privateKey.export({ format: "pem", type: "sec1" }) }, ec],
  ];
  for (const [alg, file, pair] of keys) {
    await test(`CDP: each call has a token of its own, ${alg}`, async () => {
      const faults = await startFaults({ upstream: info.facilitatorUrl });
      const keyFile = join(world.folder, `cdp-${alg}.json`);
      writeFileSync(keyFile, JSON.stringify(file, null, 2), { mode: 0o600 });
      const cdp = await start(`cdp-${alg}`, `[facilitator:default]\ncdp_key_file = ${keyFile}\nverify = both\n`, { ...siteSettings(info), TOLLBOX_FACILITATOR_URL: faults.url });
      try {
        const answer = await cdp.send({ body, headers: await world.payment({ payer: info.payers[8] }) });
        assert.equal(answer.status, 200, answer.text);
        const nonces = new Set();
        for (const [call, method] of [["supported", "GET"], ["verify", "POST"], ["settle", "POST"]]) {
          const [scheme, token] = faults.last()[call].headers.authorization.split(" ");
          assert.equal(scheme, "Bearer");
          const id = file.id ?? file.name;
          const { payload, protectedHeader } = await jwtVerify(token, pair.publicKey, { issuer: "cdp", subject: id, algorithms: [alg], clockTolerance: 2 });
          const { nonce, ...head } = protectedHeader;
          assert.deepEqual(head, { alg, kid: id, typ: "JWT" });
          assert.match(nonce, /^[0-9a-f]{32}$/);
          nonces.add(nonce);
          assert.deepEqual(Object.keys(payload).sort(), ["exp", "iat", "iss", "nbf", "sub", "uris"]);
          assert.deepEqual(payload.uris, [`${method} ${new URL(faults.url).host}/${call}`]);
          assert.deepEqual([payload.exp - payload.iat, payload.nbf], [120, payload.iat]);
        }
        assert.equal(nonces.size, 3);
        for (const secret of [...file.privateKey.split("\n").filter((line) => line.length > 40), "Bearer"]) {
          assert.ok(!cdp.log().includes(secret), "the log holds no secret");
        }
      } finally {
        await cdp.stop();
        await faults.stop();
      }
    });
  }

  // ---- what `tollbox check` says ----

  const conf = join(world.folder, "check.ini");
  const lib = join(dirname(world.stack.ca), "lib");
  const check = (more, extra = "") => {
    writeFileSync(conf, `[sandbox]\ninit = ${lib}/sandbox-init\nruntimes_dir = ${lib}/runtimes\n[site]\npublic_url = https://check.example\n${extra}`);
    return new Promise((resolve) => {
      execFile(TOLLBOX, ["check", "-c", conf], { env: { PATH: process.env.PATH, ...siteSettings(info), ...more } }, (error, stdout) => {
        resolve({ status: error?.code ?? 0, lines: stdout.split("\n").filter((line) => / facilitator: /.test(line)) });
      });
    });
  };

  await test("check says what a facilitator lacks, or why it cannot be asked", async () => {
    const { faults } = world;
    const trouble = [
      // No name can have so long a label: nobody is asked, who might take his time.
      ["a name that does not resolve", { TOLLBOX_FACILITATOR_URL: `http://${"x".repeat(64)}.invalid` }, /its name cannot be resolved \(DNS\)/],
      ["nobody there", { TOLLBOX_FACILITATOR_URL: `http://127.0.0.1:${await freePorts(1)}` }, /no connection/],
      // nginx with a certificate that nobody vouches for
      ["a wrong certificate", { TOLLBOX_FACILITATOR_URL: `${world.stack.https}/facilitator` }, /its TLS certificate is not accepted: SSL certificate problem/],
      ["no facilitator", { TOLLBOX_FACILITATOR_URL: world.stack.http }, /its \/supported answers HTTP 404/],
      ["another network", { TOLLBOX_NETWORK: "eip155:8453", TOLLBOX_ASSET: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", TOLLBOX_ASSET_NAME: "USD Coin" }, /offers no x402 v2 exact on eip155:8453/],
    ];
    for (const [name, settings, says] of trouble) {
      const { status, lines } = await check(settings);
      assert.equal(status, 1, name);
      assert.match(lines[0], /^FAIL /, name);
      assert.match(lines[0], says, name);
    }
    faults.set({ supported: { mode: "status", code: 401 } });
    const refused = await check({ TOLLBOX_FACILITATOR_URL: faults.url });
    faults.reset();
    assert.match(refused.lines[0], /FAIL .* answers HTTP 401: it wants a key, or another one/);
    const good = await check({});
    assert.deepEqual(good.lines.map((line) => line.slice(0, 4)), ["ok  ", "ok  "]);
  });
}

/** A 402 here may hold more than the world's one offer, so shape.mjs's exact form is not asked for. */
function assertRefusedOneOf(answer, codes) {
  const error = answer.json.details ?? answer.json.error;
  assert.ok(codes.includes(error.code), answer.text);
  assert.equal(answer.required !== null, answer.status === 402);
}

const answers = (url) => fetch(`${url}/supported`).then(() => true, () => false);
