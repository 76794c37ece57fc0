// Starts run.sh as a child, reads what it prints, and looks at the processes below it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts } from "./ports.mjs";

const RUN = fileURLToPath(new URL("run.sh", import.meta.url));
const PORTS = ["TOLLBOX_PORT", "TOLLBOX_TLS_PORT"];

/**
 * env: TOLLBOX_* for run.sh, over the environment's; stderr: a descriptor or "inherit" or "ignore"; through: a command that
 * starts the one behind it, as its own process
 * → {pid, http, https, ca, told (first word → rest of each line), stop(signal) → exit status, exited}
 */
export async function startStack({ env = {}, stderr = "inherit", through = [] } = {}) {
  const [program, ...args] = [...through, RUN];
  // Any port: one of ours, which no other suite is given between run.sh's look at it and nginx's start.
  const any = Object.entries(env).filter(([name, value]) => PORTS.includes(name) && value === "0").map(([name]) => name);
  const ports = await freePorts(any.length);
  const chosen = Object.fromEntries(any.map((name, index) => [name, String(ports[index])]));
  const child = spawn(program, args, { env: { ...process.env, ...env, ...chosen }, stdio: ["ignore", "pipe", stderr] });
  const exited = once(child, "exit").then(([code, signal]) => signal ?? code);
  const told = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, rest] = splitOnce(line);
    told[word] = rest;
    if (word === "tollbox") {
      break;
    }
  }
  const [, http, https] = /^ready (\S+) (\S+)$/.exec(told.tollbox ?? "") ?? [];
  if (!https) {
    throw new Error(`run.sh ended (${await exited}) before it was ready`);
  }
  // run.sh must never wait for a reader.
  child.stdout.resume();
  return {
    pid: child.pid,
    http,
    https,
    ca: told.certificate,
    told,
    exited,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return exited;
    },
  };
}

function splitOnce(line) {
  const blank = line.indexOf(" ");
  return blank < 0 ? [line, ""] : [line.slice(0, blank), line.slice(blank + 1)];
}

/** One process → {pid, ppid, state, started, command (its argv joined)}; null if it is gone. */
export function readProcess(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
    return { pid: Number(pid), ppid: Number(fields[1]), state: fields[0], started: fields[19], command: command || stat };
  } catch {
    return null;
  }
}

/** The processes below `root`, that one left out, each behind its parent. */
export function descendants(root) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(readProcess).filter(Boolean);
  const below = new Set([root]);
  // Parents may have higher numbers than their children (reused numbers, reapers): go on until nothing is added.
  for (let before = 0; before !== below.size; ) {
    before = below.size;
    all.filter(({ ppid }) => below.has(ppid)).forEach(({ pid }) => below.add(pid));
  }
  below.delete(root);
  return [...below].map((wanted) => all.find(({ pid }) => pid === wanted));
}

/** The process `sleep SECONDS` that a program below `root` has started, if it is there. */
export const findSleep = (root, seconds) => descendants(root).find(({ command }) => command === `sleep ${seconds}`);

/** Ends the one `sleep SECONDS` below `root`, which a program there is about to start or has started. */
export async function wake(root, seconds) {
  const deadline = performance.now() + 60_000;
  let found;
  while (!(found = findSleep(root, seconds))) {
    if (performance.now() > deadline) {
      throw new Error(`nobody sleeps ${seconds} s`);
    }
    await sleep(20);
  }
  end(found.pid);
}

/**
 * Ends each `sleep SECONDS` below `root` while `work` goes on. So a program can sleep far longer than it takes to be met there,
 * and nobody has to wait for it afterwards. → what `work` gives
 */
export async function waking(root, seconds, work) {
  let over = false;
  const waker = async () => {
    for (; !over; await sleep(50)) {
      const found = findSleep(root, seconds);
      if (found) {
        end(found.pid);
      }
    }
  };
  const awake = waker();
  try {
    return await work();
  } finally {
    over = true;
    await awake;
  }
}

function end(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") {
      throw error;
    }
  }
}

/** Those of `processes` that still live, and are the same and not a reused number. */
export const stillAlive = (processes) =>
  processes.filter(({ pid, started }) => {
    const now = readProcess(pid);
    return now?.started === started && now.state !== "Z";
  });

/** The control groups of the instance `name`, in whatever hierarchies and at whatever depth: the name is in their paths. */
export function controlGroups(name) {
  const found = [];
  const walk = (folder, depth) => {
    for (const entry of foldersIn(folder)) {
      const path = join(folder, entry);
      if (path.split("/").includes(name)) {
        found.push(path);
      }
      if (depth > 0) {
        walk(path, depth - 1);
      }
    }
  };
  walk("/sys/fs/cgroup", 4);
  return found.sort();
}

// Other instances' groups may vanish while they are walked.
function foldersIn(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}
