// Makes Usd.json (what the chain needs) from Usd.sol.  `--check` writes nothing and fails when the two have parted.
// Needs the compiler: ../install.sh solc
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";

const here = (name) => new URL(name, import.meta.url);
const solc = createRequire(here("../solc/package.json"))("solc");

// No metadata at the end of the bytecode: its hash would differ with file names and comments.
const settings = {
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "Usd.sol": { Usd: ["abi", "evm.deployedBytecode.object"] } },
};

async function compile() {
  const content = await readFile(here("Usd.sol"), "utf8");
  const input = { language: "Solidity", sources: { "Usd.sol": { content } }, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const complaints = (output.errors ?? []).filter((error) => error.severity !== "info");
  if (complaints.length > 0) {
    throw new Error(complaints.map((error) => error.formattedMessage).join("\n"));
  }
  const { abi, evm } = output.contracts["Usd.sol"].Usd;
  return { solc: solc.version(), settings, abi, runtimeBytecode: `0x${evm.deployedBytecode.object}` };
}

const made = `${JSON.stringify(await compile(), null, 1)}\n`;
if (process.argv[2] === "--check") {
  const kept = await readFile(here("Usd.json"), "utf8");
  if (kept !== made) {
    console.error("token: Usd.json is not what Usd.sol compiles to; run compile.mjs");
    process.exit(1);
  }
  console.log("token: Usd.json is what Usd.sol compiles to");
} else {
  await writeFile(here("Usd.json"), made);
  console.log("token: Usd.json written");
}
