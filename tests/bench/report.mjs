// Figures as tables for people.
import { WAYS } from "./figures.mjs";
import { STAGES } from "./path.mjs";
import { ms, ratio, table } from "./stats.mjs";

const NAMES = { bare: "bare interpreter", bwrap: "plain bwrap", cold: "Tollbox, cold", warm: "Tollbox, warm" };

// What others use is taken off what the host was busy; of a host that has little left nothing can be told so.
const TOO_BUSY = 0.5;

export function reportHost(host) {
  const versions = Object.entries(host.versions).filter(([, version]) => version);
  return [
    `machine   ${host.cores} cores, ${host.cpu}${host.virtual ? ", virtual" : ""}, ${(host.memoryBytes / 2 ** 30).toFixed(1)} GiB, Linux ${host.kernel}`,
    `programs  ${versions.map(([name, version]) => `${name} ${version}`).join(", ")}; Tollbox ${host.commit ?? "?"}`,
    `load      ${host.load.toFixed(2)} at the start; ${host.at}`,
  ].join("\n");
}

export const reportMemory = (memoryLimit) => `sandboxes of their own user, memory limited by ${memoryLimit}`;

/** The ratio is of medians; the last column the median of the differences to bare within each round. */
export function reportLatency(latency) {
  const rows = Object.entries(latency).flatMap(([runtime, figures]) =>
    WAYS.map((way) => {
      const { n, median, p10, p90 } = figures.ways[way];
      return [`${runtime}, ${NAMES[way]}`, n, ms(median), ms(p10), ms(p90), ratio(median, figures.ways.bare.median), ms(figures.differenceUs[way])];
    }),
  );
  return `hello world, submit to exit, ms\n${table([["", "n", "median", "p10", "p90", "x bare", "- bare"], ...rows])}`;
}

export function reportThroughput(throughput) {
  const rows = Object.entries(throughput).flatMap(([runtime, loads]) =>
    loads.flatMap(({ clients, idleCores, ways, ratio: against }) =>
      WAYS.map((way) => {
        const { runsPerSecond, perBlock, busyCpuSeconds, treeCpuSeconds, us } = ways[way];
        return [
          `${runtime}, ${clients} clients, ${NAMES[way]}`,
          runsPerSecond.toFixed(1),
          perBlock.map((rate) => rate.toFixed(1)).join(" "),
          against[way].toFixed(2),
          idleCores > TOO_BUSY ? "-" : (busyCpuSeconds * 1000).toFixed(1),
          treeCpuSeconds === null ? "-" : (treeCpuSeconds * 1000).toFixed(1),
          ms(us.median),
          ms(us.p90),
        ];
      }),
    ),
  );
  const head = ["", "runs/s", "by block", "x bare", "CPU ms, host", "CPU ms, tree", "median ms", "p90 ms"];
  const idle = Object.values(throughput).flat().map(({ idleCores }) => idleCores.toFixed(2));
  return `full load, closed loop (others kept ${[...new Set(idle)].join(", ")} cores busy, taken off CPU ms, host)\n${table([head, ...rows])}`;
}

export function reportNeighbour(neighbour) {
  return Object.entries(neighbour)
    .map(([runtime, { idle, beside }]) => {
      const rows = beside.map(({ against, n, median, p90, ratio: times, code, hostileRuns }) => [
        against,
        `${n} of ${n}`,
        ms(median),
        ms(p90),
        times.toFixed(2),
        `${hostileRuns} x ${code}`,
      ]);
      return `a neighbour's hello world (${runtime}, warm), ms\n${table([
        ["beside", "right", "median", "p90", "x idle", "what the hostile got"],
        ["nobody", `${idle.n} of ${idle.n}`, ms(idle.median), ms(idle.p90), "1.00", ""],
        ...rows,
      ])}`;
    })
    .join("\n\n");
}

export function reportPath(path) {
  return Object.entries(path)
    .map(([which, figures]) => {
      const { total, bare, withoutFacilitator, own, durable, outside, stages } = figures;
      const row = (name, us) => [name, ms(us.median), ms(us.p10), ms(us.p90), ratio(us.median, bare.median)];
      return `the whole path, python3, ${which}: a paid POST /execute over TLS, ${total.n} times, ms\n${table([
        ["", "median", "p10", "p90", "x bare"],
        row("bare interpreter, started by the client", bare),
        row("paid run, request to answer", total),
        row("  without the facilitator's call", withoutFacilitator),
        row("  outside of Tollbox: client, TLS, nginx, FastCGI", outside),
        row("  Tollbox itself: read parse check reserve answer", own),
        row("  durable commits: claim, 2 of settle, keep", durable),
        ...STAGES.map((name) => row(`    ${name}=`, stages[name])),
      ])}`;
    })
    .join("\n\n");
}
