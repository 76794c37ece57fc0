// The service under test: chain, facilitator and nginx that stay, and the daemon's processes, which are killed one by one or
// all at once. When the supervisor dies too, respawn.sh starts it again, as a service manager would.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createSender } from "../blackbox/http.mjs";
import { siteSettings } from "../blackbox/world.mjs";
import { startDevnet } from "../devnet/devnet.mjs";
import { descendants, readProcess, startStack } from "../harness/stack.mjs";
import { createPage } from "./page.mjs";

const RESPAWN = fileURLToPath(new URL("respawn.sh", import.meta.url));
const TOLLBOX = fileURLToPath(new URL("../../build/points/tollbox", import.meta.url));
const RUNTIMES = fileURLToPath(new URL("../../sandbox-scripts", import.meta.url));
const PAYERS = 200;
/** The status that `tollbox reconcile` ends with then. */
const SOME_UNKNOWN = 3;
const RUNS = 4;

const childrenOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

const nameOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
};

const kill = (pid) => {
  try {
    process.kill(pid, "SIGKILL");
    return 1;
  } catch {
    return 0; // gone by itself
  }
};

/** Whom a kill can be meant for. `self`: the process that passes the point. */
export const VICTIMS = ["self", "gate", "boxer", "super", "all", "sandbox", "nginx"];

/** → {info, page, send, processes(), kill(victim) → how many died, healthy(), stateDir, logFile, close({keep})} */
export async function startService() {
  const folder = mkdtempSync(join(tmpdir(), "tollbox-crash."));
  chmodSync(folder, 0o755);
  const devnet = await startDevnet({ payers: PAYERS });
  const page = createPage(join(folder, "page"));
  const conf = join(folder, "extra.ini");
  // Not all that there are: each new boxer would start an R and a node that nobody asks for.
  const runtimes = join(folder, "runtimes");
  for (const name of ["bash", "python3"]) {
    cpSync(join(RUNTIMES, name), join(runtimes, name), { recursive: true });
  }
  const logFile = join(folder, "stack.log");
  const stateDir = join(folder, "state");
  writeFileSync(conf, "[facilitator:default]\ntimeout_ms = 6000\n[chain:default]\nconfirmations = 1\n");
  const settings = {
    ...siteSettings(devnet.info),
    TOLLBOX_STATE_DIR: stateDir,
    TOLLBOX_RUNTIMES_DIR: runtimes,
    TOLLBOX_MAX_RUNS: String(RUNS),
    TOLLBOX_RPC_URL: devnet.info.rpcUrl,
  };
  const stack = await startStack({
    env: {
      ...settings,
      TOLLBOX_PORT: "0",
      TOLLBOX_TLS_PORT: "0",
      TOLLBOX_TEST_CONF: conf,
      TOLLBOX_TEST_WRAP: RESPAWN,
      POINT_PAGE: page.path,
    },
    stderr: openSync(logFile, "a"),
  });
  const send = createSender(stack.http, stack.ca);
  const all = descendants(stack.pid);
  const respawn = all.find(({ command }) => command.includes("respawn.sh")).pid;
  const nginx = all.find(({ command }) => command.startsWith("nginx: master")).pid;

  function processes() {
    const [top] = childrenOf(respawn);
    const below = top === undefined ? [] : childrenOf(top);
    return {
      super: top,
      gate: below.find((pid) => nameOf(pid) === "tollbox-gate"),
      boxer: below.find((pid) => nameOf(pid) === "tollbox-boxer"),
    };
  }

  // The top first, so that nobody is there to see the others end.
  function killVictim(victim) {
    const now = processes();
    const parts = {
      gate: [now.gate],
      boxer: [now.boxer],
      super: [now.super],
      all: [now.super, now.gate, now.boxer],
      sandbox: victim === "sandbox" && now.boxer ? descendants(now.boxer).map(({ pid }) => pid) : [],
      nginx: childrenOf(nginx),
    }[victim];
    return parts.filter((pid) => pid !== undefined).map(kill).reduce((sum, one) => sum + one, 0);
  }

  const healthy = () => send({ path: "/health", method: "GET" }).then(({ status }) => status === 200, () => false);

  return {
    info: devnet.info,
    page,
    send,
    processes,
    kill: killVictim,
    healthy,
    stateDir,
    logFile,
    stack,
    /** What a command of `tollbox` prints, run beside the service as an operator would. */
    command([name, ...args]) {
      const { error, stdout, stderr, status } = spawnSync(TOLLBOX, [name, "-c", join(dirname(stack.ca), "tollbox.ini"), ...args], {
        env: { ...process.env, ...settings },
        encoding: "utf8",
      });
      if (error || (status !== 0 && !(name === "reconcile" && status === SOME_UNKNOWN))) {
        throw error ?? new Error(`tollbox ${name}: status ${status}: ${stderr}`);
      }
      return stdout;
    },
    alive: () => readProcess(stack.pid) !== null,
    async untilHealthy(withinMs = 60_000) {
      for (const deadline = Date.now() + withinMs; !(await healthy()); await sleep(20)) {
        if (Date.now() > deadline) {
          throw new Error(`the service did not come back within ${withinMs / 1000} s`);
        }
      }
    },
    async close({ keep = false } = {}) {
      page.disarm();
      send.close();
      const status = await stack.stop();
      page.close();
      await devnet.stop();
      if (!keep) {
        rmSync(folder, { recursive: true, force: true });
      }
      return status;
    },
  };
}
