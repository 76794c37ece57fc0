// The programs as they are started by a shell: what they print, and how they end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { rpc } from "../rpc.mjs";
import { check, PRICE } from "./kit.mjs";

const isAlive = (rpcUrl) =>
  rpc(rpcUrl, "eth_chainId").then(
    () => true,
    () => false,
  );

async function startProgram(name, ...options) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const program = spawn(process.execPath, [file, ...options], { stdio: ["pipe", "pipe", "pipe"] });
  const [line] = await once(createInterface({ input: program.stdout }), "line");
  return { program, said: JSON.parse(line) };
}

async function exitCode(program) {
  const [code] = await once(program, "exit");
  return code;
}

const childOf = (pid) => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());

export async function testPrograms(market) {
  for (const [name, end, code] of [
    ["SIGTERM", (program) => program.kill("SIGTERM"), 0],
    ["SIGINT", (program) => program.kill("SIGINT"), 0],
    ["the end of its standard input", (program) => program.stdin.end(), 0],
    ["SIGKILL", (program) => program.kill("SIGKILL"), null],
    ["the end of the chain", (program) => process.kill(childOf(program.pid), "SIGKILL"), 1],
  ]) {
    await check(`devnet.mjs ends on ${name}, and the chain with it`, async () => {
      const { program, said } = await startProgram("devnet.mjs", "--payers", "1", "--exit-with-stdin");
      assert.equal(said.payers.length, 1);
      assert.equal(await isAlive(said.rpcUrl), true);
      end(program);
      assert.equal(await exitCode(program), code);
      await sleep(100);
      assert.equal(await isAlive(said.rpcUrl), false);
    });
  }

  await check("devnet.mjs with blocks at intervals and --out, faults.mjs before it, client.mjs paying", async () => {
    const home = mkdtempSync(join(tmpdir(), "devnet-selftest-"));
    try {
      const out = join(home, "devnet.json");
      const devnet = await startProgram("devnet.mjs", "--block-time", "1", "--out", out);
      assert.deepEqual(JSON.parse(readFileSync(out, "utf8")), devnet.said);
      const faults = await startProgram("faults.mjs", "--upstream", devnet.said.facilitatorUrl);
      market.sellThrough(faults.said.url);

      const client = async (...options) => (await startProgram("client.mjs", ...options, "--devnet", out)).said;
      const answer = await client("pay", market.url, "--body", '{"slow":true}', "--payer", "3");
      assert.equal(answer.status, 200);
      assert.equal(answer.receipt.payer, devnet.said.payers[3].address);
      assert.equal((await client("balance", devnet.said.payTo)).atomic, PRICE);

      for (const { program } of [faults, devnet]) {
        program.kill("SIGTERM");
        assert.equal(await exitCode(program), 0);
      }
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  await check("wrong options end with 2", async () => {
    const file = fileURLToPath(new URL("../devnet.mjs", import.meta.url));
    for (const options of [
      ["--payers", "many"],
      ["--payers", "0"],
      ["--block-time", "-1"],
    ]) {
      assert.equal(await exitCode(spawn(process.execPath, [file, ...options], { stdio: "ignore" })), 2);
    }
  });
}
