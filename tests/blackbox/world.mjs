// What the tests act on: one chain with a facilitator, the fault proxy before it, and one stack that was started by run.sh
// with the TOLLBOX_* settings of a facilitator that is not its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { text } from "node:stream/consumers";
import { balance, encodeV1, encodeV2, signV2 } from "../devnet/client.mjs";
import { startDevnet } from "../devnet/devnet.mjs";
import { startFaults } from "../devnet/faults.mjs";
import { startRpcFaults } from "../devnet/rpc-faults.mjs";
import { freePorts } from "../harness/ports.mjs";
import { descendants, startStack } from "../harness/stack.mjs";
import { assertRun } from "./shape.mjs";
import { createSender } from "./http.mjs";
import { until } from "./runner.mjs";

const SHIPPED = new URL("../../nginx/tollbox.conf", import.meta.url);
const GUIDE = new URL("../../docs/operator.md", import.meta.url);

/** Who is paid at the site "owner". */
export const OWNER = "0x00000000000000000000000000000000000A11cE";

/** Milliseconds that the stack waits for the facilitator here; a settle on the local chain takes some 50, and was seen to take 1500. */
export const FACILITATOR_TIMEOUT_MS = 10_000;

/** Further server blocks with settings of their own; see 65-sites.mjs. */
const SITES = [
  { name: "owner", set: { public_url: "https://owner.example", pay_to: OWNER, prices: "small=0.002 agent402=0.03", runtimes: "python3", tiers: "small large" } },
  { name: "twin", set: { public_url: "https://twin.example" } },
  { name: "quotesOnly", set: { public_url: "https://quotes.example", routes: "/quote" } },
  { name: "narrow", set: { public_url: "https://narrow.example", routes: "/execute", runtimes: "node", tiers: "small" } },
  { name: "mistaken", set: { public_url: "https://mistaken.example", prices: "small=free" } },
  { name: "broken", set: { public_url: "https://broken.example", pay_to: "nonsense" } },
  { name: "daring", params: { TOLLBOX_STATE_DIR: "/tmp" } },
  { name: "itself", setAt: (port) => ({ public_url: `http://127.0.0.1:${port}` }) },
  { name: "hosts", set: { public_url: "https://$host" } },
  { name: "twice", set: { prices: "small=0.003" }, params: { TOLLBOX_PRICES: "small=0.004" } },
  // Whoever asks says where from: as nginx sees it then, he does.
  { name: "far", set: { public_url: "https://far.example" }, lines: "set_real_ip_from 127.0.0.1; real_ip_header X-Test-From;" },
  { name: "scraped", block: scrapedBlock },
  { name: "own", params: { TOLLBOX_PUBLIC_URL: "https://own.example", TOLLBOX_PRICES: "small=0.003" } },
];

// The operator guide's block for a Prometheus, as it stands there but for port and paths.
function scrapedBlock(port, socket) {
  const [block] = readFileSync(GUIDE, "utf8").match(/^server \{\n    listen 127\.0\.0\.1:9402;[^]*?^\}$/m);
  return block.replace(":9402", `:${port}`).replace("/run/tollbox/tollbox.sock", socket).replace("fastcgi_params", "/etc/nginx/fastcgi_params");
}

// With `params` the block has a location of its own instead of the shipped ones, with the shipped variables' defaults.
const serverBlock = ({ setAt, set = {}, params, lines = "" }, port, socket) => `
server {
  listen 127.0.0.1:${port};
  ${lines}
  ${params ? readFileSync(SHIPPED, "utf8").match(/^set \$tollbox_.*$/gm).join("\n  ") : "include tollbox.conf;"}
  set $tollbox_backend unix:${socket};
  ${Object.entries(setAt?.(port) ?? set).map(([name, value]) => `set $tollbox_${name} "${value}";`).join("\n  ")}
  ${params ? ownLocation(params) : ""}
}
`;

const ownLocation = (params) => `location = /execute {
    include tollbox-pass.conf;
    ${Object.entries(params).map(([name, value]) => `fastcgi_param ${name} "${value}";`).join("\n    ")}
  }`;

export const HELLO = { runtime: "python3", source: "print('hello')" };

export async function createWorld() {
  const folder = mkdtempSync(join(tmpdir(), "tollbox-test."));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "runtimes"));
  const devnet = await startDevnet();
  // Not any port: it goes away in some tests, and comes back to the same.
  const [faultsPort] = await freePorts(1);
  const faults = await startFaults({ upstream: devnet.info.facilitatorUrl, port: faultsPort });
  const rpcFaults = await startRpcFaults({ upstream: devnet.info.rpcUrl });
  const conf = join(folder, "extra.ini");
  // Programs that sleep hold the slots for longer than the shipped queue waits.
  const SERVICE = `[service]\nqueue_ms = 60000\n[facilitator:default]\ntimeout_ms = ${FACILITATOR_TIMEOUT_MS}\n`;
  // Where the chain can be read, the service asks the facilitator for nothing in the background, so tests can count calls.
  const CHAIN = `[chain:default]\nrpc_url = ${rpcFaults.url}\nconfirmations = 1\n`;
  writeFileSync(conf, SERVICE + CHAIN);
  const log = openSync(join(folder, "stack.log"), "a");
  const [port, tlsPort, ...sitePorts] = await freePorts(2 + SITES.length);
  const sites = join(folder, "sites.conf");
  const socket = join(folder, "tollbox.sock");
  writeFileSync(sites, SITES.map((site, index) => (site.block ?? serverBlock.bind(null, site))(sitePorts[index], socket)).join(""));
  const env = {
    ...siteSettings(devnet.info),
    TOLLBOX_FACILITATOR_URL: faults.url,
    TOLLBOX_CONTACT: "operator@example.com",
    TOLLBOX_PORT: String(port),
    TOLLBOX_TLS_PORT: String(tlsPort),
    TOLLBOX_STATE_DIR: join(folder, "state"),
    TOLLBOX_LISTEN: socket,
    TOLLBOX_TEST_CONF: conf,
    TOLLBOX_TEST_NGINX: sites,
  };
  const siteUrls = Object.fromEntries(SITES.map(({ name }, index) => [name, `http://127.0.0.1:${sitePorts[index]}`]));
  const world = { siteUrls, folder, socket, logFile: join(folder, "stack.log"), info: devnet.info, faults, rpcFaults, stack: null, send: null };
  let turn = 0;

  world.start = async () => {
    world.stack = await startStack({ env, stderr: log });
    world.send = createSender(world.stack.https, world.stack.ca);
    const keys = await world.send({ path: "/.well-known/jwks.json", method: "GET" });
    world.jwks = keys.json;
    // The stack takes its own away when it stops, and its runtimes; commands are run then too.
    const ini = readFileSync(join(dirname(world.stack.ca), "tollbox.ini"), "utf8");
    writeFileSync(join(folder, "tollbox.ini"), ini.replace(/^runtimes_dir = .*$/m, `runtimes_dir = ${join(folder, "runtimes")}`));
  };
  world.stop = async (signal) => {
    world.send.close();
    return world.stack.stop(signal);
  };
  world.restart = async () => {
    assert.equal(await world.stop(), 0, "run.sh ends with 0");
    await world.start();
  };
  /** Restarts with another way to read the chain: lines of a config file, "" for none, null for the usual one. */
  world.restartWithChain = async (lines) => {
    writeFileSync(conf, SERVICE + (lines === null ? CHAIN : lines));
    await world.restart();
  };
  /** The tollbox command with the stack's settings (or -c others) → {status, stdout, stderr} */
  world.tollbox = (...args) => runTollbox(args.includes("-c") ? args : [...args, "-c", join(folder, "tollbox.ini")], env);
  world.close = async ({ keep }) => {
    await world.stop();
    await faults.stop();
    await rpcFaults.stop();
    await devnet.stop();
    if (!keep) {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  world.nextPayer = () => devnet.info.payers[turn++ % devnet.info.payers.length];
  world.held = (address) => balance(devnet.info.rpcUrl, devnet.info.asset, address);

  /** Runs `work` and says by how much the balances of payer and seller changed. */
  world.moved = async (payer, work) => {
    const before = await Promise.all([world.held(payer.address), world.held(devnet.info.payTo)]);
    const result = await work();
    const after = await Promise.all([world.held(payer.address), world.held(devnet.info.payTo)]);
    return { result, payer: after[0] - before[0], seller: after[1] - before[1] };
  };

  /** The requirement that the service itself offers for `body`, of either version. */
  world.offer = async (body, version = 2) => {
    const answer = await world.send({ body });
    assert.equal(answer.status, 402, answer.text);
    return version === 2 ? answer.required.accepts[0] : answer.json.accepts[0];
  };

  /** A payment of what a site asks for, signed by the next payer → {name: value} */
  world.paymentOf = async (requirements, payer = world.nextPayer()) =>
    encodeV2({ requirements, payload: await signV2(requirements, payer.privateKey) });

  const offers = new Map();
  /** As offer(), asked once for each price. */
  world.requirement = async (amount = "1000", version = 2) => {
    if (!offers.has(version)) {
      offers.set(version, await world.offer({}, version));
    }
    return { ...offers.get(version), [version === 2 ? "amount" : "maxAmountRequired"]: amount };
  };

  /**
   * A payment header made by hand. sign: overrides for signV2; accepted: members that the payload claims to have accepted;
   * amount: the price that is signed. → {name: value}
   */
  world.payment = async ({ payer, amount, version = 2, sign, accepted, ...rest } = {}) => {
    const requirements = await world.requirement(amount, version);
    const payload = await signV2(requirements, payer.privateKey, sign);
    return version === 2
      ? encodeV2({ requirements: { ...requirements, ...accepted }, payload, ...rest })
      : encodeV1({ requirements, payload, ...rest });
  };

  /** One paid run, checked in every respect that any run has → {answer, body, payer, header} and the members of the answer. */
  world.run = async (job, { amount = "1000", version = 2, payer = world.nextPayer(), headers = {}, ...more } = {}) => {
    const body = typeof job === "string" || Buffer.isBuffer(job) ? job : JSON.stringify(job);
    const header = await world.payment({ payer, amount, version });
    const answer = await world.send({ body, headers: { ...header, ...headers }, ...more });
    assertRun(answer, { world, body, payer, amount, version });
    return { ...answer.json, answer, body, payer, header };
  };

  /** Asserts that nobody's money moves and that the facilitator is not asked to settle while `work` runs. */
  world.free = async (payer, work) => {
    const settles = faults.stats().settle.calls;
    const { result, ...moved } = await world.moved(payer, work);
    assert.deepEqual(moved, { payer: 0n, seller: 0n }, "money moved");
    assert.equal(faults.stats().settle.calls, settles, "settle was called");
    return result;
  };

  /** The processes of the stack by their part. */
  world.processes = () => {
    const all = descendants(world.stack.pid);
    const commandHas = (pattern) => all.filter(({ command }) => pattern.test(command));
    return {
      all,
      serve: commandHas(/tollbox serve/)[0],
      gate: commandHas(/tollbox gate|\bgate$/)[0],
      boxer: commandHas(/tollbox boxer|\bboxer$/)[0],
      bwrap: commandHas(/bwrap/),
    };
  };

  /** All that the stack has written: its log, and the ledger's files as text. */
  world.written = () => {
    const state = join(folder, "state");
    const ledger = readdirSync(state).filter((name) => name.startsWith("ledger.db")).map((name) => readFileSync(join(state, name), "latin1"));
    return { log: readFileSync(world.logFile, "utf8"), ledger: ledger.join("") };
  };

  world.health = async () => {
    const answer = await world.send({ path: "/health", method: "GET" }).catch(() => null);
    return answer?.status === 200 ? answer.json : null;
  };

  /** As send(), to a route that says 503 for as long as the sandboxes are too busy to tell how they are: what it says then. */
  world.patiently = (request) =>
    until("it is healthy", async () => {
      const answer = await world.send(request);
      return answer.status !== 503 && answer;
    });

  /** No program runs any more; sandboxes that wait for work may be there. */
  world.idle = () =>
    until("no sandbox is left", async () => {
      const health = await world.health();
      const waiting = Object.values(health?.pool ?? {}).reduce((sum, { warm, starting }) => sum + warm + starting, 0);
      // Each is two processes of bwrap's, its own and the one inside.
      return health && health.queue === 0 && world.processes().bwrap.length <= 2 * waiting;
    });

  await world.start();
  return world;
}

/** The settings that tell a stack whose facilitator and token to use. */
export const siteSettings = (info) => ({
  TOLLBOX_FACILITATOR_URL: info.facilitatorUrl,
  TOLLBOX_NETWORK: info.network,
  TOLLBOX_ASSET: info.asset,
  TOLLBOX_ASSET_NAME: info.assetName,
  TOLLBOX_ASSET_VERSION: info.assetVersion,
  TOLLBOX_PAY_TO: info.payTo,
});

async function runTollbox(args, env) {
  const program = fileURLToPath(new URL(`../../${process.env.TOLLBOX_TEST_B ?? "build"}/tollbox`, import.meta.url));
  const settings = Object.fromEntries(Object.entries(env).filter(([name]) => !/^TOLLBOX_(PORT|TLS_PORT|TEST_.*)$/.test(name)));
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...settings }, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit").then(([code]) => code)]);
  return { status, stdout, stderr };
}
