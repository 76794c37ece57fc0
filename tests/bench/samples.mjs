// The C half (bench.c): started with what is asked for, its lines read.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const BUILD = process.env.B ?? "build";

/** Measures `part` ("latency", "throughput", "neighbour") of one hello world; `heard` is told of each line → all lines */
export async function samples(part, runtime, amount, heard) {
  const child = spawn(join(ROOT, BUILD, "tests/bench/bin/bench"), [part, runtime, String(amount)], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line));
    heard(lines.at(-1), lines);
  }
  const [code, signal] = await exited;
  if (code !== 0) {
    throw new Error(`${part} of ${runtime} could not be measured (${signal ?? `exit status ${code}`})`);
  }
  return lines;
}
