// The part of `make demo` after building: start, pay as a customer would, show what came, check it, stop, look for leftovers.
import "./webcrypto.mjs";
import { existsSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { balance, payV2 } from "../devnet/client.mjs";
import { controlGroups, descendants, startStack, stillAlive } from "./stack.mjs";

const DIGESTS = fileURLToPath(new URL("digests.mjs", import.meta.url));
const TOLLBOX = resolve(fileURLToPath(new URL("../..", import.meta.url)), process.env.TOLLBOX_TEST_B ?? "build", "tollbox");
const SOURCE = `import sys
print("Grüße aus der Sandbox 🧰 – 你好, κόσμε")
print("primes:", [n for n in range(2, 50) if all(n % d for d in range(2, n))])
print("sum of what came in:", sum(map(int, sys.stdin)))
`;

const step = (text) => console.log(`\n== ${text}`);
const indent = (text) => text.trimEnd().replace(/^/gm, "    ");
const dollars = (atomic) => `${atomic < 0n ? "-" : ""}$${(Number(atomic < 0n ? -atomic : atomic) / 1e6).toFixed(6)}`;

async function main() {
  step("start a local chain, its facilitator, tollbox and nginx");
  const stack = await startStack({ env: { TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0" } });
  const started = descendants(stack.pid);
  let holds = false;
  try {
    holds = await customer(stack);
  } finally {
    step("stop");
    const status = await stack.stop();
    holds = nothingLeft(stack, started, status) && holds;
  }
  console.log(holds ? "\nthe demo went through" : "\nTHE DEMO FAILED");
  return holds ? 0 : 1;
}

async function customer({ https, ca, told }) {
  const [rpcUrl] = told.chain.split(" ");
  const [asset] = told.asset.split(" ");
  const seller = told.seller;
  const [payer, , key] = told.payer.split(" ");
  const held = async () => ({ payer: await balance(rpcUrl, asset, payer), seller: await balance(rpcUrl, asset, seller) });
  const url = `${https}/execute`;
  const body = JSON.stringify({ runtime: "python3", source: SOURCE, stdin: "20\n22\n" });

  step(`a customer posts this program to ${url}, and pays with the official client (@x402/fetch)`);
  console.log(indent(SOURCE));
  const before = await held();
  const begin = performance.now();
  const answer = await payV2({ url, key, body, ca });
  const tookMs = performance.now() - begin;
  const after = await held();
  if (answer.status !== 200) {
    console.log(`status ${answer.status}\n${answer.text}`);
    return false;
  }

  const { stdout, outcome, payment, receipt } = answer.json;
  step(`answer after ${tookMs.toFixed(0)} ms, outcome ${outcome}; the program's output`);
  console.log(indent(stdout));
  step("the payment, settled on the local chain");
  console.log(`    transaction ${payment.transaction}`);
  console.log(`    payer  ${payer}  ${dollars(before.payer)} -> ${dollars(after.payer)}  (${dollars(after.payer - before.payer)})`);
  console.log(`    seller ${seller}  ${dollars(before.seller)} -> ${dollars(after.seller)}  (${dollars(after.seller - before.seller)})`);
  step("the receipt");
  console.log(indent(JSON.stringify(receipt, null, 2)));
  step("its digests, computed anew from the request and the answer");
  const [requestFile, responseFile] = keepFiles(dirname(ca), body, answer.text);
  const digestsHold = shown(process.execPath, [DIGESTS, requestFile, responseFile]);
  step("its signature, by `tollbox verify-receipt` with the keys that the issuer publishes");
  const signatureHolds = shown(TOLLBOX, ["verify-receipt", responseFile, "--request", requestFile, "--ca", ca]);

  const price = BigInt(payment.amount);
  return (
    digestsHold &&
    signatureHolds &&
    outcome === "completed" &&
    stdout.includes("🧰") &&
    stdout.includes("sum of what came in: 42") &&
    after.payer === before.payer - price &&
    after.seller === before.seller + price
  );
}

function keepFiles(folder, request, response) {
  const files = ["request.json", "response.json"].map((name) => join(folder, name));
  writeFileSync(files[0], request);
  writeFileSync(files[1], response);
  return files;
}

/** Runs a program, shows what it says, and tells whether it ended with 0. */
function shown(program, args) {
  try {
    console.log(indent(execFileSync(program, args, { encoding: "utf8" })));
    return true;
  } catch (error) {
    console.log(indent(error.stdout || error.message));
    return false;
  }
}

function nothingLeft(stack, started, status) {
  const left = [
    ...stillAlive(started).map(({ pid, command }) => `process ${pid}: ${command}`),
    ...[dirname(stack.ca)].filter(existsSync).map((folder) => `folder ${folder}`),
    ...controlGroups(`run-${new URL(stack.https).port}`).map((folder) => `control group ${folder}`),
  ];
  console.log(indent([`run.sh ended with ${status}`, ...(left.length ? left.map((what) => `left: ${what}`) : ["nothing is left"])].join("\n")));
  return status === 0 && left.length === 0;
}

process.exitCode = await main();
