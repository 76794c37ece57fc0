// Samples to figures: medians, spread, ratios. What the JSON form holds; report.mjs makes tables of it.
import { groupBy, median, spread, sum } from "./stats.mjs";

export const WAYS = ["bare", "bwrap", "cold", "warm"];

/** → {ways: {way: spread in µs, with startUs and programUs as medians}, firstUs, ratio: {way}, differenceUs: {way}} */
export function latencyFigures(lines) {
  const counted = lines.filter(({ part }) => part === "latency");
  const byRound = groupBy(counted, ({ round }) => round);
  const of = (way, what = "us") => counted.filter((line) => line.way === way).map((line) => line[what]);
  const bare = median(of("bare"));
  return {
    ways: Object.fromEntries(WAYS.map((way) => [way, { ...spread(of(way)), startUs: median(of(way, "startUs")), programUs: median(of(way, "programUs")) }])),
    firstUs: Object.fromEntries(lines.filter(({ part }) => part === "first").map(({ way, us }) => [way, us])),
    ratio: Object.fromEntries(WAYS.map((way) => [way, median(of(way)) / bare])),
    // Of each round by itself: what else the host does comes and goes, and hits all four of a round.
    differenceUs: Object.fromEntries(WAYS.map((way) => [way, median(differences(byRound, way))])),
    samplesUs: Object.fromEntries(WAYS.map((way) => [way, of(way)])),
  };
}

function differences(byRound, way) {
  return [...byRound.values()].map((round) => {
    const us = (which) => round.find((line) => line.way === which).us;
    return us(way) - us("bare");
  });
}

/** → [{clients, idleCores, ways: {way: {runs, runsPerSecond, busyCpuSeconds and treeCpuSeconds per run, us: spread}}, ratio: {way}}] */
export function throughputFigures(lines) {
  const blocks = lines.filter(({ part }) => part === "throughput");
  return [...groupBy(blocks, ({ clients }) => clients)].map(([clients, group]) => {
    const ways = Object.fromEntries(WAYS.map((way) => [way, oneRate(group.filter((block) => block.way === way))]));
    return {
      clients,
      idleCores: group[0].idleCores,
      ways,
      ratio: Object.fromEntries(WAYS.map((way) => [way, ways[way].runsPerSecond / ways.bare.runsPerSecond])),
    };
  });
}

function oneRate(blocks) {
  const of = (what) => sum(blocks.map((block) => block[what]));
  return {
    runs: of("runs"),
    runsPerSecond: of("runs") / of("seconds"),
    perBlock: blocks.map(({ runs, seconds }) => runs / seconds),
    busyCpuSeconds: of("busySeconds") / of("runs"),
    // Null where no cgroup counts.
    treeCpuSeconds: blocks[0].treeSeconds === null ? null : of("treeSeconds") / of("runs"),
    us: spread(blocks.flatMap(({ us }) => us)),
  };
}

/** → {idle: spread, beside: [{against, ...spread, ratio, code, hostileRuns}]} */
export function neighbourFigures(lines) {
  const hellos = groupBy(lines.filter(({ part }) => part === "neighbour"), ({ against }) => against);
  const idle = spread(hellos.get("").map(({ us }) => us));
  const beside = lines
    .filter(({ part }) => part === "hostile")
    .map(({ against, code, runs }) => {
      const latency = spread(hellos.get(against).map(({ us }) => us));
      return { against, ...latency, ratio: latency.median / idle.median, code, hostileRuns: runs };
    });
  return { idle, beside };
}
