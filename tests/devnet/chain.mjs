// A local EVM chain that looks like Base Sepolia where x402 looks: chain id, USDC at its public address, Multicall3.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { encodeAbiParameters, keccak256, toHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
// Not among viem's exports, but it ships the creation code for its own state overrides.
import { multicall3Bytecode } from "./node_modules/viem/_esm/constants/contracts.js";
import { rpc, rpcBatch, word } from "./rpc.mjs";

export const CHAIN_ID = 84532;
export const ASSET = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";

const ANVIL = fileURLToPath(new URL("./node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil", import.meta.url));
const TOKEN = new URL("./token/Usd.json", import.meta.url);
const BALANCES_SLOT = 0;
const TOTAL_SUPPLY_SLOT = 2;
const DOLLARS_EACH = 1000n;
const ETHER = 10n ** 18n;
const MINE_EVERY_MS = 2000;

/** Test keys are the hashes of their names: the same on every machine, and no mnemonic to derive (60 ms a key). */
export const testKey = (name) => keccak256(toHex(`tollbox devnet ${name}`));

export const testAccount = (name) => {
  const privateKey = testKey(name);
  return { address: privateKeyToAddress(privateKey), privateKey };
};

/** → {rpcUrl, stop(), failed: a promise kept with an Error when the chain ends by itself} */
export async function startChain({ blockTime, payers, gasWallets }) {
  const anvil = spawnAnvil(blockTime);
  let stopping = false;
  const ended = once(anvil, "exit");
  const failed = ended.then(([code, signal]) =>
    stopping ? null : new Error(`devnet: the chain ended by itself (${signal ?? code})`),
  );

  const address = await Promise.race([listeningAddress(anvil), failed]);
  if (address instanceof Error) {
    throw address;
  }
  const rpcUrl = `http://${address}`;
  await furnish(rpcUrl, payers, gasWallets);
  const miner = blockTime ? undefined : keepClockGoing(rpcUrl);

  return {
    rpcUrl,
    failed,
    async stop() {
      stopping = true;
      clearInterval(miner);
      anvil.kill("SIGKILL"); // it keeps nothing on disk, so there is nothing to end in order
      await ended;
    },
  };
}

function spawnAnvil(blockTime) {
  const options = ["--host", "127.0.0.1", "--port", "0", "--chain-id", String(CHAIN_ID), "--accounts", "0"];
  options.push("--prune-history", "8"); // else it fills a folder in the home directory
  options.push("--order", "fifo");
  if (blockTime) {
    options.push("--block-time", String(blockTime));
  }
  // setpriv: the chain dies with us however we end, SIGKILL included.
  return spawn("setpriv", ["--pdeathsig", "KILL", "--", ANVIL, ...options], {
    cwd: "/",
    detached: true, // Ctrl-C in a terminal goes to the whole group; the chain is ours to end
    env: { PATH: process.env.PATH, HOME: "/nonexistent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function listeningAddress(anvil) {
  const lines = createInterface({ input: anvil.stdout });
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const found = /^Listening on (\S+)/.exec(line);
      if (found) {
        resolve(found[1]);
      }
    });
  });
}

async function furnish(rpcUrl, payers, gasWallets) {
  // A call without a recipient runs creation code and gives back what it would have installed.
  const multicall3 = await rpc(rpcUrl, "eth_call", [{ data: multicall3Bytecode }, "latest"]);
  await rpcBatch(rpcUrl, [
    ["anvil_setLoggingEnabled", [false]],
    ["anvil_setCode", [MULTICALL3, multicall3]],
    ...tokenCalls(ASSET, payers),
    ...gasWallets.map(gasCall),
    ["evm_mine", []],
  ]);
}

/** The same token at another address, with the same dollars for each of `payers`; and ether for one wallet more. */
export const addToken = (rpcUrl, address, payers) => rpcBatch(rpcUrl, [...tokenCalls(address, payers), ["evm_mine", []]]);
export const addGas = (rpcUrl, wallet) => rpcBatch(rpcUrl, [gasCall(wallet), ["evm_mine", []]]);

const gasCall = (wallet) => ["anvil_setBalance", [wallet, toHex(1_000_000n * ETHER)]];

function tokenCalls(address, payers) {
  const { runtimeBytecode } = JSON.parse(readFileSync(TOKEN, "utf8"));
  const each = DOLLARS_EACH * 10n ** 6n;
  return [
    ["anvil_setCode", [address, runtimeBytecode]],
    ["anvil_setStorageAt", [address, `0x${word(TOTAL_SUPPLY_SLOT)}`, `0x${word(each * BigInt(payers.length))}`]],
    ...payers.map((payer) => ["anvil_setStorageAt", [address, balanceSlot(payer), `0x${word(each)}`]]),
  ];
}

const balanceSlot = (holder) =>
  keccak256(encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [holder, BigInt(BALANCES_SLOT)]));

// A chain that mines on demand has a clock that stands still between transactions, and an authorization signed after the
// last block is "not yet valid" to it. Two seconds are Base's own rhythm.
function keepClockGoing(rpcUrl) {
  const timer = setInterval(() => rpc(rpcUrl, "evm_mine").catch(() => {}), MINE_EVERY_MS);
  timer.unref();
  return timer;
}
