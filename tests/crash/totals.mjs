// Sums over all runs of the crash tests, in a file, and the table that is printed of them.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export const newTotals = () => ({
  runs: 0,
  seconds: 0,
  rounds: 0,
  kills: 0,
  restarts: 0,
  jobs: 0,
  payments: 0, // authorizations that the chain has settled
  gaveUp: 0,
  doubleCharges: 0,
  lostPaidRuns: 0,
  freeRuns: 0, // answered and not charged
  wrongAnswers: 0,
  tooManyStarts: 0,
  notDone: 0, // charged and answered, and the ledger does not say so
  unknownLeft: 0,
  points: {}, // point → victim → kills
});

export const readTotals = (path) => ({ ...newTotals(), ...(existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {}) });

// A kill of this program must not cost the sums.
export function writeTotals(path, totals) {
  writeFileSync(`${path}.new`, `${JSON.stringify(totals, null, 1)}\n`);
  renameSync(`${path}.new`, path);
}

export function addTotals(sum, one) {
  for (const [key, value] of Object.entries(one)) {
    if (typeof value === "number") {
      sum[key] += value;
    }
  }
  for (const [point, victims] of Object.entries(one.points)) {
    for (const [victim, kills] of Object.entries(victims)) {
      countKill(sum, point, victim, kills);
    }
  }
}

export function countKill(totals, point, victim, kills = 1) {
  totals.points[point] ??= {};
  totals.points[point][victim] = (totals.points[point][victim] ?? 0) + kills;
}

export const killsAt = (totals, point, victim) => totals.points[point]?.[victim] ?? 0;

/** The table of kills by point and victim, and the line that sums all up. */
export function formatTotals(totals, victims) {
  const rows = Object.keys(totals.points).sort().map((point) => [point, ...victims.map((victim) => killsAt(totals, point, victim))]);
  const head = ["point", ...victims];
  const cells = [head, ...rows].map(([name, ...numbers]) => name.padEnd(18) + numbers.map((n) => String(n).padStart(9)).join(""));
  const { kills, restarts, payments, doubleCharges, lostPaidRuns, unknownLeft, freeRuns, gaveUp, seconds, runs } = totals;
  return [
    ...cells,
    `${Math.round(seconds)} s in ${runs} runs, ${(kills / (seconds / 60)).toFixed(0)} kills a minute, ${gaveUp} callers gave up, ${freeRuns} answers not paid`,
    `kills ${kills}, restarts ${restarts}, payments ${payments}, double charges ${doubleCharges}, lost paid runs ${lostPaidRuns}, ` +
      `unknown left after reconcile ${unknownLeft}`,
  ].join("\n");
}
