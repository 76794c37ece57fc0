// make bench: what a run costs, against a bare interpreter and a plain bubblewrap, all in one go. Nothing passes or fails: the
// exit status tells only whether it could be measured. docs/benchmarks.md says what each figure is.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { latencyFigures, neighbourFigures, throughputFigures } from "./figures.mjs";
import { describeHost } from "./host.mjs";
import { measurePath } from "./path.mjs";
import { reportHost, reportLatency, reportMemory, reportNeighbour, reportPath, reportThroughput } from "./report.mjs";
import { BUILD, ROOT, samples } from "./samples.mjs";

const PARTS = ["latency", "throughput", "neighbour", "path"];
const RUNTIMES = ["python3", "node", "node.mjs", "bash", "r"];
const ROUNDS = 40;
const ROUNDS_OF = { r: 15 };
const USAGE = `make bench ARGS="[PART ...] [OPTION ...]"
parts (all, if none is named)
  latency            submit to exit of hello world: bare, plain bwrap, Tollbox cold and warm
  throughput         runs a second at full load, CPU seconds a run
  neighbour          hello world beside hostile programs
  path               a paid request through TLS, nginx, ledger and facilitator
options
  --runtime NAME     ${RUNTIMES.join(", ")}; may be given again. Latency: all; else python3
  --n N              rounds of latency (${ROUNDS}, r ${ROUNDS_OF.r}), paid requests (60), hellos beside each hostile program (12)
  --seconds S        of throughput for each way and number of clients (8)
  --json             figures and samples on standard output, as JSON, in place of tables
  --out FILE         the same JSON into FILE, beside the tables (or BENCH_JSON=FILE)`;

function readCommand() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runtime: { type: "string", multiple: true },
      n: { type: "string" },
      seconds: { type: "string", default: "8" },
      json: { type: "boolean", default: false },
      out: { type: "string", default: process.env.BENCH_JSON ?? "" },
      help: { type: "boolean", default: false },
    },
  });
  const wrong = [...positionals.filter((part) => !PARTS.includes(part)), ...(values.runtime ?? []).filter((name) => !RUNTIMES.includes(name))];
  const isCount = (text) => text === undefined || (Number.isInteger(Number(text)) && Number(text) > 0 && Number(text) <= 10_000);
  if (wrong.length > 0 || !isCount(values.n) || !(Number(values.seconds) > 0 && Number(values.seconds) <= 600)) {
    throw new Error(wrong.length > 0 ? `nothing is called ${wrong.join(", ")}` : "--n and --seconds want numbers");
  }
  return { ...values, n: values.n && Number(values.n), seconds: Number(values.seconds), parts: positionals.length > 0 ? positionals : PARTS };
}

const progress = (text) => process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : "");
const step = (text) => {
  progress("");
  console.error(`bench: ${text}`);
};

async function measure({ parts, runtime, n, seconds }) {
  const result = { host: describeHost(ROOT), build: BUILD, memoryLimit: null };
  const hear = (what) => (line, lines) => {
    result.memoryLimit ??= line.memoryLimit ?? null;
    progress(`${what}: ${lines.length} samples`);
  };
  const each = async (part, names, amount, figures) => {
    if (!parts.includes(part)) {
      return;
    }
    result[part] = {};
    for (const name of names) {
      step(`${part}, ${name}`);
      result[part][name] = figures(await samples(part, name, amount(name), hear(`${part}, ${name}`)));
    }
  };
  await each("latency", runtime ?? RUNTIMES, (name) => n ?? ROUNDS_OF[name] ?? ROUNDS, latencyFigures);
  await each("throughput", runtime ?? ["python3"], () => seconds, throughputFigures);
  await each("neighbour", runtime ?? ["python3"], () => n ?? 12, neighbourFigures);
  if (parts.includes("path")) {
    result.path = {};
    for (const [name, real, times] of [["facilitator that says yes at once", false, n ?? 60], ["official facilitator, local chain", true, Math.min(n ?? 15, 15)]]) {
      step(`path, ${name}`);
      result.path[name] = await measurePath({ times, real, progress: (done) => progress(`path: ${done} of ${times}`) });
    }
  }
  progress("");
  return result;
}

function report(result) {
  const parts = [
    reportHost(result.host) + (result.memoryLimit ? `\n          ${reportMemory(result.memoryLimit)}` : ""),
    result.latency && reportLatency(result.latency),
    result.throughput && reportThroughput(result.throughput),
    result.neighbour && reportNeighbour(result.neighbour),
    result.path && reportPath(result.path),
  ];
  return parts.filter(Boolean).join("\n\n");
}

// Settings of the caller's own stack are not for this one.
Object.keys(process.env).filter((name) => name.startsWith("TOLLBOX_")).forEach((name) => delete process.env[name]);
process.env.TOLLBOX_TEST_B = BUILD;

try {
  const command = readCommand();
  if (command.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const result = await measure(command);
  const json = `${JSON.stringify(result, null, 1)}\n`;
  if (command.out) {
    writeFileSync(command.out, json);
  }
  process.stdout.write(command.json ? json : `${report(result)}\n`);
} catch (error) {
  console.error(`\nbench: ${error.message}`);
  process.exitCode = 1;
}
