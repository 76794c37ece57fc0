// The whole path: client, TLS, nginx, tollbox, ledger, facilitator, sandbox and back, against the bare interpreter.
import "../harness/webcrypto.mjs";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSender } from "../blackbox/http.mjs";
import { until } from "../blackbox/runner.mjs";
import { ASSET, CHAIN_ID, testAccount } from "../devnet/chain.mjs";
import { paymentFor } from "../devnet/client.mjs";
import { startStack } from "../harness/stack.mjs";
import { startYes } from "./facilitator.mjs";
import { spread } from "./stats.mjs";

const NETWORK = `eip155:${CHAIN_ID}`;
const SOURCE = 'print("hello")';
const BODY = JSON.stringify({ runtime: "python3", source: SOURCE });
const PAYERS = 20;
// Nothing stays behind when this process is killed.
const WITH_PARENT = ["setpriv", "--pdeathsig", "TERM", "--"];

/** Stages as the log names them; what each is: docs/benchmarks.md. */
export const STAGES = ["read", "parse", "check", "claim", "reserve", "settle", "facilitator", "run", "start", "program", "answer", "keep"];

/**
 * Pays for `times` runs of hello world, one after the other, and times the bare interpreter as often in between.
 * real: with the local chain and the official facilitator in place of the one that says yes at once.
 * → {total, bare, stages: {name → spread}, own, durable, outside} in microseconds
 */
export async function measurePath({ times, real, progress }) {
  const folder = mkdtempSync(join(tmpdir(), "tollbox-path."));
  const yes = real ? null : await startYes(NETWORK);
  try {
    const { rounds, log } = await withStack(folder, yes, (stack) => measureStack(stack, prepareBare(folder), { times, progress }));
    return summary(rounds, readStages(log));
  } finally {
    await yes?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withStack(folder, yes, work) {
  const logFile = join(folder, "log");
  const stderr = openSync(logFile, "w");
  const stack = await startStack({ through: WITH_PARENT, env: { ...(yes ? settings(yes.url) : {}), TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0" }, stderr });
  closeSync(stderr);
  let rounds;
  try {
    rounds = await work(stack);
  } finally {
    const status = await stack.stop();
    if (status !== 0) {
      throw new Error(`the stack ended with ${status}:\n${readFileSync(logFile, "utf8")}`);
    }
  }
  return { rounds, log: readFileSync(logFile, "utf8") };
}

const settings = (facilitatorUrl) => ({
  TOLLBOX_FACILITATOR_URL: facilitatorUrl,
  TOLLBOX_NETWORK: NETWORK,
  TOLLBOX_ASSET: ASSET,
  TOLLBOX_ASSET_NAME: "USDC",
  TOLLBOX_ASSET_VERSION: "2",
  TOLLBOX_PAY_TO: testAccount("seller").address,
});

async function measureStack(stack, bare, { times, progress }) {
  const send = createSender(stack.https, stack.ca);
  try {
    const offer = await send({ body: BODY });
    if (offer.status !== 402) {
      throw new Error(`no offer but ${offer.status}: ${offer.text}`);
    }
    // Signed before the clock runs. The first round, which opens connections and fills caches, is told apart.
    const payments = [];
    for (let index = 0; index <= times; index += 1) {
      payments.push(await paymentFor(offer.required, testAccount(`payer ${index % PAYERS}`).privateKey));
    }
    const rounds = [];
    for (const [index, payment] of payments.entries()) {
      progress(index, times);
      await calm(send);
      rounds.push(index % 2 === 0 ? { ...(await paid(send, payment)), bare: await bare() } : { bare: await bare(), ...(await paid(send, payment)) });
    }
    return rounds;
  } finally {
    send.close();
  }
}

/** As many sandboxes wait as are wanted, and none starts. */
const calm = (send) =>
  until("the sandboxes are ready", async () => {
    const { status, json } = await send({ path: "/health", method: "GET" });
    return status === 200 && json.pool.python3?.warm > 0 && Object.values(json.pool).every(({ starting }) => starting === 0);
  }, { withinMs: 60_000, everyMs: 10 });

async function paid(send, headers) {
  const begin = performance.now();
  const answer = await send({ body: BODY, headers });
  const total = (performance.now() - begin) * 1000;
  if (answer.status !== 200 || answer.json.outcome !== "completed" || answer.json.stdout !== "hello\n" || answer.json.stderr !== "") {
    throw new Error(`a paid run went wrong: ${answer.status} ${answer.text}`);
  }
  return { total, id: answer.headers["request-id"] };
}

/** The interpreter as node starts a child, as the user and with the variables that a sandbox has. → bare() → microseconds */
function prepareBare(folder) {
  const file = join(folder, "main.py");
  writeFileSync(file, SOURCE);
  chmodSync(folder, 0o755);
  const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, "tollbox-run"], { encoding: "utf8" })));
  const env = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", TMPDIR: "/tmp", HOME: folder, OMP_NUM_THREADS: "1" };
  return async () => {
    const begin = performance.now();
    const child = spawn("/usr/bin/python3", [file], { cwd: folder, env, uid, gid, stdio: ["pipe", "pipe", "pipe"] });
    const chunks = [];
    child.stdin.end();
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    const [code] = await once(child, "close");
    const took = (performance.now() - begin) * 1000;
    if (code !== 0 || Buffer.concat(chunks).toString() !== "hello\n") {
      throw new Error(`the bare interpreter went wrong: ${code} ${Buffer.concat(chunks)}`);
    }
    return took;
  };
}

/** The lines "run id=… us: read=… …" of the log → Map of id to {stage: microseconds} */
function readStages(log) {
  const found = new Map();
  for (const [, id, text] of log.matchAll(/ run id=(\S+) .* us: (.*)$/gm)) {
    found.set(id, Object.fromEntries([...text.matchAll(/(\w+)=(\d+)/g)].map(([, name, us]) => [name, Number(us)])));
  }
  return found;
}

function summary(all, stages) {
  const rounds = all.map((round) => {
    const spent = stages.get(round.id);
    if (!spent || STAGES.some((name) => spent[name] === undefined)) {
      throw new Error(`the log does not tell of the run ${round.id}`);
    }
    const own = spent.read + spent.parse + spent.check + spent.reserve + spent.answer;
    const durable = spent.claim + spent.settle - spent.facilitator + spent.keep;
    return { ...round, spent, own, durable, outside: round.total - own - durable - spent.facilitator - spent.run };
  });
  const [first, ...counted] = rounds;
  const of = (pick) => spread(counted.map(pick));
  return {
    first: { totalUs: first.total, bareUs: first.bare },
    total: of(({ total }) => total),
    bare: of(({ bare }) => bare),
    difference: of(({ total, bare }) => total - bare),
    withoutFacilitator: of(({ total, spent }) => total - spent.facilitator),
    stages: Object.fromEntries(STAGES.map((name) => [name, of(({ spent }) => spent[name])])),
    own: of(({ own }) => own),
    durable: of(({ durable }) => durable),
    outside: of(({ outside }) => outside),
  };
}
