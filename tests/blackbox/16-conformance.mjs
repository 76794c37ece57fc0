// The table of conformance.mjs, every row of it through nginx and Apache, its core through the CGI bridge. Beside it what
// takes more than a row: codes that need a service with small limits, and a thousand quotes held against what is charged.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { encodeV2, randomNonce, signV2 } from "../devnet/client.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { startStack } from "../harness/stack.mjs";
import { COMMANDS, ELSEWHERE, SETTINGS, TABLE } from "./conformance.mjs";
import { createAsker, judge } from "./conformance-run.mjs";
import { apacheFront } from "./fronts.mjs";
import { createSender } from "./http.mjs";
import { CODES, assertRefused } from "./shape.mjs";
import { until } from "./runner.mjs";
import { program } from "./tool.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const MIB = 2 ** 20;
const QUOTES = 1000;
const RUNS = 10;
const BURST = 20; // the least that comes at once (web/quota.c)
const broken = { name: "broken", lines: "SetEnv TOLLBOX_PAY_TO nonsense" };

export default async function conformance(test, world) {
  const apache = await apacheFront(world, { hosts: [broken] });
  const bridge = await apacheFront(world, { cgi: true });
  const plain = (front, name) => front.urls[name].http;
  const fronts = [
    { name: "nginx", base: world.stack.http, sites: { broken: world.siteUrls.broken }, has: () => true },
    { name: "Apache", base: plain(apache, "main"), sites: { broken: plain(apache, "broken") }, has: ({ wanted }) => !wanted.only },
    { name: "CGI", base: plain(bridge, "main"), has: ({ core, wanted }) => core && !wanted.only && !wanted.whole },
  ];

  for (const { name, base, sites, has } of fronts) {
    const ask = createAsker(world, base, sites);
    const rows = TABLE.filter(has);
    rows.filter(({ alone }) => !alone).forEach(({ request }) => ask(request));
    for (const { at, says, request, wanted } of rows) {
      await test(`${name}: ${at}: ${says}`, async () => judge(world, await ask(request), wanted));
    }
  }
  await Promise.all([apache.stop(), bridge.stop()]);

  await test("every code of section 7 is in the table, or below", () => {
    const produced = new Set(TABLE.map(({ wanted }) => wanted.code ?? wanted.ran?.error?.code).filter(Boolean));
    assert.deepEqual([...produced, ...ELSEWHERE].sort(), Object.keys(CODES).sort());
  });

  await settings(test, world);
  await quotes(test, world);
  await smallLimits(test, world);
}

// ---- section 11

async function settings(test, world) {
  const empty = join(world.folder, "empty.ini");
  writeFileSync(empty, "");
  const tollbox = async (args, env = {}) => (await promisify(execFile)(program, args, { env })).stdout;
  const shown = await tollbox(["config", "-c", empty], Object.fromEntries(SETTINGS));
  const unset = await tollbox(["config", "-c", empty]);
  for (const [name, value, otherwise] of SETTINGS) {
    await test(`11 ${name}: is taken from the environment${otherwise ? "; its default" : ""}`, () => {
      const [, told] = new RegExp(`^\\S+ = (.*)  # environment, ${name}$`, "m").exec(shown) ?? [];
      assert.ok(told === value || told === "(not shown)", `${name}: ${told}`);
      assert.match(unset, otherwise ?? /./);
    });
  }
  await test(`11: the command has ${COMMANDS.join(", ")}`, async () => {
    const usage = await tollbox(["help"]);
    COMMANDS.forEach((name) => assert.match(usage, new RegExp(`^  ${name}\\b`, "m")));
  });
}

// ---- what is quoted is what is charged

const FIELDS = [
  ["timeoutMs", 100, [10000, 60000, 300000], 10000],
  ["maxMemoryBytes", 64 * MIB, [256 * MIB, 512 * MIB, 2048 * MIB], 256 * MIB],
  ["maxOutputBytes", 1024, [MIB, 4 * MIB, 16 * MIB], MIB],
  ["workDirBytes", MIB, [64 * MIB, 256 * MIB, 1024 * MIB], 64 * MIB],
];
const TIERS = [["small", "1000", "$0.0010", 0.001], ["medium", "5000", "$0.0050", 0.005], ["large", "20000", "$0.0200", 0.02]];

/** Limits anywhere in their ranges, often at an edge of a tier, some left out. */
function someLimits() {
  const within = (least, most) => Math.floor(least * (most / least) ** Math.random());
  const one = (least, edges) => {
    const edge = edges[Math.floor(Math.random() * edges.length)];
    return Math.random() < 0.3 ? Math.min(edge + Math.floor(Math.random() * 2), edges[2]) : within(least, edge);
  };
  return Object.fromEntries(FIELDS.filter(() => Math.random() < 0.6).map(([name, least, edges]) => [name, one(least, edges)]));
}

const filled = (limits) => Object.fromEntries(FIELDS.map(([name, , , usual]) => [name, limits[name] ?? usual]));
const tierOf = (limits) => TIERS[Math.max(...FIELDS.map(([name, , edges]) => edges.findIndex((edge) => filled(limits)[name] <= edge)))];

async function quotes(test, world) {
  const { send } = world;
  const sets = Array.from({ length: QUOTES }, someLimits);
  const inTurns = (list, work, places = 16) => {
    const rest = [...list];
    const worker = async () => {
      for (let next = rest.pop(); next; next = rest.pop()) {
        await work(next);
      }
    };
    return Promise.all(Array.from({ length: places }, worker));
  };

  await test(`${QUOTES} random limit sets: the quote is the tier table's, and the 402 asks for it`, async () => {
    const seen = new Set();
    await inTurns(sets, async (limits) => {
      const body = { runtime: "bash", source: "true", limits };
      const [quote, offer] = await Promise.all([send({ path: "/quote", body }), send({ body })]);
      const [tier, amount, price, priceUsd] = tierOf(limits);
      const { accepts, ...rest } = quote.json;
      assert.deepEqual(rest, { tier, price, priceUsd, limits: filled(limits) }, JSON.stringify(limits));
      assert.equal(accepts[0].amount, amount);
      assert.deepEqual(offer.required.accepts, accepts);
      seen.add(tier);
    });
    assert.equal(seen.size, TIERS.length);
  });

  await test(`${RUNS} of them are run: charged and receipted as quoted`, async () => {
    const chosen = TIERS.flatMap((wanted) => sets.filter((limits) => tierOf(limits) === wanted).slice(0, Math.ceil(RUNS / TIERS.length)));
    await inTurns(chosen, async (limits) => {
      const body = { runtime: "bash", source: "true", limits: { ...limits, timeoutMs: Math.max(limits.timeoutMs ?? 10000, 5000) } };
      const { json } = await send({ path: "/quote", body });
      const { receipt, payment } = await world.run(body, { amount: json.accepts[0].amount });
      assert.deepEqual([receipt.priceUsd, receipt.price, receipt.tier, receipt.limits], [json.priceUsd, json.price, json.tier, json.limits]);
      assert.equal(payment.amount, json.accepts[0].amount);
    }, 4);
  });
}

// ---- a service with small limits

async function smallLimits(test, world) {
  const body = JSON.stringify(HELLO);
  const faults = await startFaults({ upstream: world.info.facilitatorUrl });
  const file = join(world.folder, "conformance.ini");
  writeFileSync(file, "[service]\ntrusted_proxies = 127.0.0.1\naddress_rate = 1\npayer_rate = 1\npayer_runs = 1\nverify_calls = 1\n");
  const stderr = openSync(join(world.folder, "conformance.log"), "w");
  const stack = await startStack({
    env: { ...siteSettings(world.info), TOLLBOX_FACILITATOR_URL: faults.url, TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_TEST_CONF: file },
    stderr,
  });
  closeSync(stderr);
  const sender = createSender(stack.https, stack.ca);
  /** As a client at the address `from`. */
  const send = (headers = {}, from = "203.0.113.1", asked = body) => sender({ body: asked, headers: { ...headers, "X-Forwarded-For": from } });
  const requirements = await world.requirement();
  const sign = async (payer, more) => encodeV2({ requirements, payload: await signV2(requirements, payer.privateKey, more) });
  const row = (code, says, work) => test(`nginx: 7 ${code}: ${says}`, async () => assertRefused(await work(), code));
  /** The first answer of that status. */
  const first = async (status, ask) => {
    for (let n = 0; n < 2 * BURST; n += 1) {
      const answer = await ask();
      if (answer.status === status) {
        return answer;
      }
    }
    throw new Error(`no ${status} within ${2 * BURST}`);
  };

  /** → [what `begin` gives, whose call the facilitator answers last; what `meanwhile` gives] */
  async function whileHeld(endpoint, begin, meanwhile) {
    const { calls } = faults.stats()[endpoint];
    const release = faults.hold({ [endpoint]: "none" });
    try {
      const waiting = begin();
      await until("the facilitator is asked", () => faults.stats()[endpoint].calls > calls);
      const answer = await meanwhile();
      release();
      return [await waiting, answer];
    } finally {
      faults.reset();
    }
  }

  await row("EXECUTE_IP_RATE_LIMITED", "an address that asks too often", () => first(429, () => send({}, "203.0.113.2")));

  // Who has no money asks often without a run.
  await row("PAYER_RATE_LIMITED", "a payer who asks too often", () => {
    const pauper = { privateKey: randomNonce() };
    let turn = 0;
    return first(429, async () => send(await sign(pauper), `203.0.113.${10 + (turn += 1)}`));
  });

  await row("PAYER_CONCURRENCY_LIMITED", "a payer who has his runs under way", async () => {
    const payer = world.nextPayer();
    const one = async () => send(await sign(payer), "203.0.113.3");
    const [slow, answer] = await whileHeld("settle", one, one);
    assert.equal(slow.status, 200, slow.text);
    return answer;
  });

  await row("SERVICE_BUSY", "as many payments are being verified as may be", async () => {
    const forged = () => sign(world.nextPayer(), { spoil: (signature) => `${signature}${"00".repeat(32)}` });
    const from = (address) => async () => send(await forged(), address);
    const [waiting, answer] = await whileHeld("verify", from("203.0.113.4"), from("203.0.113.5"));
    assert.equal(waiting.status, 402, waiting.text);
    return answer;
  });

  sender.close();
  assert.equal(await stack.stop(), 0);
  await faults.stop();
}
