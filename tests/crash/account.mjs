// After the kills: what the chain says was paid, what the ledger says became of it, and what the callers have.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { balance } from "../devnet/client.mjs";
import { rpcBatch, word } from "../devnet/rpc.mjs";
import { askUntilAnswered, PRICE } from "./buyer.mjs";

const BATCH = 200;
const MAX_STARTS = 3;
/** As the ledger stores them. */
const STATE = { unknown: 3, done: 7 };
/** How long an owed run may take to be had. */
const ANSWER_WITHIN_MS = 60_000;
/** And a doubt to be resolved: an authorization that nobody used must first be over. */
const RECONCILE_WITHIN_MS = 120_000;

/** Sets `used` of each job: how many of its authorizations the chain has settled. */
export async function readChain(jobs, info) {
  const all = jobs.flatMap((job) => job.authorizations.map((authorization) => ({ job, authorization })));
  jobs.forEach((job) => {
    job.used = 0;
  });
  for (let at = 0; at < all.length; at += BATCH) {
    const some = all.slice(at, at + BATCH);
    const calls = some.map(({ authorization: { from, nonce } }) =>
      ["eth_call", [{ to: info.asset, data: `0xe94a0102${word(from)}${word(nonce)}` }, "latest"]]);
    const states = await rpcBatch(info.rpcUrl, calls);
    states.forEach((state, index) => {
      some[index].job.used += BigInt(state) === 0n ? 0 : 1;
    });
  }
}

/** The ledger's rows, by nonce: {state, starts}. Read beside the running service, as an operator would. */
function readLedger(stateDir) {
  const script = [
    "import sqlite3, sys",
    "db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, timeout=10)",
    "for row in db.execute('SELECT identity, state, starts FROM payments'): print(*row)",
  ].join("\n");
  const text = execFileSync("/usr/bin/python3", ["-c", script, join(stateDir, "ledger.db")], { encoding: "utf8", maxBuffer: 1 << 28 });
  const rows = text.split("\n").filter(Boolean).map((line) => line.split(" "));
  return new Map(rows.map(([identity, state, starts]) => [/0x[0-9a-f]{64}/.exec(identity)[0], { state: Number(state), starts: Number(starts) }]));
}

const payments = (service, state) => service.command(["payments", "--state", state]).trim().split("\n").slice(1);

// As an operator does who does not want to wait for the service to look by itself.
async function reconcile(service) {
  for (const deadline = Date.now() + RECONCILE_WITHIN_MS; ; await sleep(3000)) {
    const left = payments(service, "unknown");
    if (left.length === 0 || Date.now() > deadline) {
      return left;
    }
    service.command(["reconcile", "--all"]);
  }
}

/** → the part of the totals that is counted at the end, and `told`: what is wrong, in words */
export async function settleAccounts(service, offers, jobs, heldBefore) {
  const { info } = service;
  const told = [];
  service.page.disarm();
  await service.untilHealthy();
  await readChain(jobs, info);

  // Who gave up comes back: what was charged must still be had, however late.
  const late = jobs.filter((job) => job.answer === null && job.used > 0);
  const deadline = Date.now() + ANSWER_WITHIN_MS;
  await Promise.all(late.map((job) => askUntilAnswered(job, service, offers, () => Date.now() > deadline)));
  const unknown = await reconcile(service);
  await readChain(jobs, info);

  const ledger = readLedger(service.stateDir);
  const rowsOf = (job) => job.authorizations.map(({ nonce }) => ledger.get(nonce.toLowerCase())).filter(Boolean);
  const isUnknown = (job) => rowsOf(job).some(({ state }) => state === STATE.unknown);
  const named = (list, what) => {
    list.forEach((job) => told.push(`${what}: ${job.mark}, payer ${job.payer.address}, tries ${job.tries}, last "${job.last}", ` +
      `charged ${job.used}, rows ${JSON.stringify(rowsOf(job))} ${job.wrong.join("; ")}`));
    return list.length;
  };
  const sums = {
    payments: jobs.reduce((sum, { used }) => sum + used, 0),
    doubleCharges: named(jobs.filter(({ used }) => used > 1), "charged twice"),
    lostPaidRuns: named(jobs.filter((job) => job.used > 0 && job.answer === null && !isUnknown(job)), "paid, no answer"),
    freeRuns: named(jobs.filter(({ used, answer }) => used === 0 && answer !== null), "answered, not paid"),
    wrongAnswers: named(jobs.filter(({ wrong }) => wrong.length > 0), "wrong"),
    tooManyStarts: named(jobs.filter((job) => rowsOf(job).some(({ starts }) => starts > MAX_STARTS)), "started too often"),
    notDone: named(jobs.filter((job) => job.answer !== null && !rowsOf(job).some(({ state }) => state === STATE.done)), "answered, not DONE"),
    unknownLeft: unknown.length,
  };
  unknown.forEach((line) => told.push(`unknown: ${line}`));

  const held = await balance(info.rpcUrl, info.asset, info.payTo);
  if (held - heldBefore !== PRICE * BigInt(sums.payments)) {
    told.push(`the seller got ${held - heldBefore} for ${sums.payments} payments of ${PRICE}`);
    sums.doubleCharges += 1;
  }
  return { sums, told };
}
