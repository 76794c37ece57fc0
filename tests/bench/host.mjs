// The machine that was measured on.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

const VERSIONS = {
  bubblewrap: ["bwrap", "--version"],
  python3: ["/usr/bin/python3", "--version"],
  node: ["/usr/bin/node", "--version"],
  bash: ["/usr/bin/bash", "--version"],
  r: ["/usr/lib/R/bin/exec/R", "--version"],
  nginx: ["nginx", "-v"],
};

/** → {cpu, cores, kernel, memoryBytes, load, versions: {name → text or null}, commit} */
export function describeHost(root) {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    kernel: release(),
    memoryBytes: totalmem(),
    virtual: /^flags\s*:.*\bhypervisor\b/m.test(readFileSync("/proc/cpuinfo", "utf8")),
    load: loadavg()[0],
    versions: Object.fromEntries(Object.entries(VERSIONS).map(([name, command]) => [name, version(command)])),
    commit: said(["git", "-C", root, "describe", "--always", "--dirty"]),
    at: new Date().toISOString(),
  };
}

const version = (command) => /\d+\.\d+[.\d]*/.exec(said(command) ?? "")?.[0] ?? null;

function said([program, ...args]) {
  try {
    // Some say it on standard error.
    return execFileSync("/bin/sh", ["-c", 'exec "$@" 2>&1', "sh", program, ...args], {
      encoding: "utf8",
      env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, R_HOME: "/usr/lib/R" },
    }).trim();
  } catch {
    return null;
  }
}
