// Kills at each step of a payment's way, with callers that repeat their requests; then the accounts.
//   node crash.mjs [--long] [--seed N] [--point NAME …] [--keep]      SECONDS_LEFT: how long new kills are begun; with --long, 0: until GOAL kills
import "../harness/webcrypto.mjs";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRunner } from "../blackbox/runner.mjs";
import { balance } from "../devnet/client.mjs";
import { settleAccounts } from "./account.mjs";
import { askUntilAnswered, createJob } from "./buyer.mjs";
import { chosenMoments } from "./moments.mjs";
import { allPoints, STATE } from "./page.mjs";
import { startService, VICTIMS } from "./service.mjs";
import { addTotals, countKill, formatTotals, killsAt, newTotals, readTotals, writeTotals } from "./totals.mjs";

const GOAL = 2000;
const CALLERS = 6;
const GIVES_UP = 1 / 8;
/** In a round. A run is started three times at most, so that with more of them it may rightly end as one for a refund by hand. */
const KILLS = 2;
const PATIENCE_ROUNDS = 2;
const ANSWER_WITHIN_MS = 60_000;
/** A round that takes longer is told of. */
const SLOW_MS = 5000;
/** No place at all: somewhere in the middle. */
const ANYTIME = "anytime";
const TOTALS = fileURLToPath(new URL("../../build/crash-totals.json", import.meta.url));
const BUILDS = { release: "../../build/tollbox", points: "../../build/points/tollbox" };

const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    seed: { type: "string" },
    point: { type: "string", multiple: true },
    keep: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed ?? randomInt(2 ** 32));
const secondsLeft = Number(process.env.SECONDS_LEFT ?? 45) || Infinity;
const random = mulberry32(seed);
const pick = (list) => list[Math.floor(random() * list.length)];
const points = values.point ?? [...allPoints(), ANYTIME];

// Public domain; good enough to choose places with, and the same on every machine.
function mulberry32(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(list) {
  const copy = [...list];
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [copy[at], copy[other]] = [copy[other], copy[at]];
  }
  return copy;
}

/** Who passes it dies by the exact way only; "gate" at a point of the gate's would be the same, a little later. */
const makesSense = ([point, victim]) => {
  const own = point.startsWith("boxer.") ? "boxer" : point.startsWith("super.") ? "super" : "gate";
  return victim !== own || point === ANYTIME;
};
const pairs = points.flatMap((point) => VICTIMS.map((victim) => [point, victim])).filter(makesSense)
  .filter(([point, victim]) => point !== ANYTIME || victim !== "self");

/** Waits until the armed point is passed, and kills → whether it happened before `over()` */
async function killAt(service, [point, victim], over) {
  if (point === ANYTIME) {
    await sleep(random() * 400);
    return service.kill(victim) > 0;
  }
  service.page.arm({ name: point, left: 1 + Math.floor(random() * 4), self: victim === "self" });
  // The supervisor's own work begins with somebody's end.
  if (point.startsWith("super.")) {
    await sleep(random() * 150);
    service.kill(pick(["gate", "boxer"]));
  }
  while (!over()) {
    const state = service.page.state();
    if (state === STATE.fired) {
      return true;
    }
    if (state === STATE.asked) {
      const died = service.kill(victim);
      service.page.done();
      return died > 0;
    }
    await sleep(1);
  }
  service.page.disarm();
  return false;
}

let sinceSupervisor = 0;

/** The supervisor waits longer each time before it starts what died once more: now and then it is killed too, and begins anew. */
async function endSupervisor(service, kills, totals) {
  sinceSupervisor = kills.some(([, victim]) => victim === "super" || victim === "all") ? 0 : sinceSupervisor + 1;
  if (sinceSupervisor >= PATIENCE_ROUNDS) {
    sinceSupervisor = 0;
    totals.kills += service.kill("super");
    countKill(totals, "between rounds", "super");
  }
}

/** Some callers, and kills while they are served. */
async function round(service, offers, kills, totals) {
  const jobs = Array.from({ length: CALLERS }, () => createJob(service.info.payers, random));
  const impatient = new Set(jobs.filter(() => random() < GIVES_UP));
  const before = service.processes();
  const deadline = Date.now() + ANSWER_WITHIN_MS;
  const begin = Date.now();
  let open = jobs.length;
  const served = Promise.all(jobs.map(async (job) => {
    const stop = () => impatient.has(job) || Date.now() > deadline;
    const outcome = await askUntilAnswered(job, service, offers, stop);
    // Asked for once more, it is the same.
    if (outcome === "answered" && !impatient.has(job)) {
      await askUntilAnswered(job, service, offers, stop);
    }
    open -= 1;
  }));
  let done = 0;
  for (const [point, victim] of kills) {
    if (await killAt(service, [point, victim], () => open === 0)) {
      countKill(totals, point, victim);
      done += 1;
    }
  }
  const killedMs = Date.now() - begin;
  await served;
  if (done > 0) {
    await endSupervisor(service, kills, totals);
  }
  const servedMs = Date.now() - begin;
  await service.untilHealthy();
  if (Date.now() - begin > SLOW_MS) {
    console.log(`   slow, ${new Date(begin).toISOString()}: ${JSON.stringify(kills)}: ${done} killed within ${killedMs} ms, served within ${servedMs} ms, ` +
      `${Date.now() - begin} ms in all, most tries ${Math.max(...jobs.map(({ tries }) => tries))}`);
  }
  const after = service.processes();
  totals.rounds += 1;
  totals.kills += done;
  totals.restarts += ["super", "gate", "boxer"].filter((part) => before[part] !== after[part]).length;
  totals.jobs += jobs.length;
  totals.gaveUp += jobs.filter(({ answer }) => answer === null).length;
  return jobs;
}

/** Two at a time, the second while the first is being mended: always those that were tried least, in no order of their own. */
function* program(past) {
  const tried = new Map(pairs.map((pair) => [pair, killsAt(past, ...pair)]));
  for (;;) {
    const two = shuffled(pairs).sort((a, b) => tried.get(a) - tried.get(b)).slice(0, KILLS);
    two.forEach((pair) => tried.set(pair, tried.get(pair) + 1));
    yield two;
  }
}

async function attack(service, offers, totals, past) {
  const begin = Date.now();
  const jobs = [];
  const enough = () => values.long && secondsLeft === Infinity && past.kills + totals.kills >= GOAL;
  for (const kills of program(past)) {
    if (Date.now() - begin > secondsLeft * 1000 || enough() || !service.alive()) {
      break;
    }
    jobs.push(...(await round(service, offers, kills, totals)));
    if (totals.rounds % 50 === 0) {
      console.log(`   ${totals.kills} kills, ${totals.jobs} jobs, ${((Date.now() - begin) / 1000).toFixed(0)} s`);
    }
  }
  totals.seconds = (Date.now() - begin) / 1000;
  return jobs;
}

console.log(`seed ${seed}`);
const runner = createRunner();
const past = values.long ? readTotals(TOTALS) : newTotals();
const totals = { ...newTotals(), runs: 1 };
const service = await startService();
for (const signal of ["SIGINT", "SIGTERM", "uncaughtException"]) {
  process.once(signal, async (error) => {
    console.error(error);
    await service.close({ keep: true });
    process.exit(1);
  });
}
const offer = await service.send({ body: {} });
const offers = { 1: offer.json.accepts[0], 2: offer.required.accepts[0] };
await chosenMoments(runner.test, service, offers, random, values.long);
const heldBefore = await balance(service.info.rpcUrl, service.info.asset, service.info.payTo);
const jobs = await attack(service, offers, totals, past);
const { sums, told } = await settleAccounts(service, offers, jobs, heldBefore);
Object.assign(totals, sums);
told.forEach((line) => console.log(`!! ${line}`));
addTotals(totals, { ...past, points: past.points });
console.log(formatTotals(totals, VICTIMS));
if (values.long) {
  writeTotals(TOTALS, totals);
}

const none = (name, key) => runner.test(name, () => {
  if (totals[key] !== 0) {
    throw new Error(`${totals[key]}`);
  }
});
await runner.test("the release build has no fault points, the test build has", () => {
  const has = (build) => readFileSync(new URL(BUILDS[build], import.meta.url)).includes("POINT_PAGE");
  if (has("release") || !has("points")) {
    throw new Error("look at the builds");
  }
});
await runner.test("kills happened and payments were made", () => {
  if (totals.kills === 0 || totals.payments === 0) {
    throw new Error(`${totals.kills} kills, ${totals.payments} payments`);
  }
});
await none("nobody was charged twice", "doubleCharges");
await none("every paid run's answer was had", "lostPaidRuns");
await none("nothing was answered that was not paid", "freeRuns");
await none("no answer was another's, and none changed", "wrongAnswers");
await none("no payment's run was started more than three times", "tooManyStarts");
await none("the ledger has every answered payment as done", "notDone");
await none("no settlement's outcome is left unknown", "unknownLeft");
await runner.test("the service stops in order", async () => {
  const status = await service.close({ keep: values.keep || runner.failed > 0 });
  if (status !== 0) {
    throw new Error(`status ${status}`);
  }
});
if (values.keep || runner.failed > 0) {
  console.log(`the service's log: ${service.logFile}`);
}
console.log(`${runner.passed} passed, ${runner.failed} failed`);
process.exit(runner.failed === 0 ? 0 : 1);
