// Makes NAME.json (what the chain needs) from each NAME.sol.  `--check` writes nothing and fails when two have parted.
// Needs the compiler: ../install.sh solc
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";

const here = (name) => new URL(name, import.meta.url);
const solc = createRequire(here("../solc/package.json"))("solc");

// The contracts of each source.
const SOURCES = { Usd: ["Usd"], Wallet: ["Wallet", "Factory"] };

// No metadata at the end of the bytecode: its hash would differ with file names and comments.
const settingsOf = (source) => ({
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { [source]: Object.fromEntries(SOURCES[source.replace(".sol", "")].map((name) => [name, ["abi", "evm.deployedBytecode.object"]])) },
});

async function compile(name) {
  const source = `${name}.sol`;
  const settings = settingsOf(source);
  const content = await readFile(here(source), "utf8");
  const input = { language: "Solidity", sources: { [source]: { content } }, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const complaints = (output.errors ?? []).filter((error) => error.severity !== "info");
  if (complaints.length > 0) {
    throw new Error(complaints.map((error) => error.formattedMessage).join("\n"));
  }
  const contracts = SOURCES[name].map((contract) => {
    const { abi, evm } = output.contracts[source][contract];
    return [contract, { abi, runtimeBytecode: `0x${evm.deployedBytecode.object}` }];
  });
  const made = contracts.length === 1 ? contracts[0][1] : Object.fromEntries(contracts);
  return `${JSON.stringify({ solc: solc.version(), settings, ...made }, null, 1)}\n`;
}

for (const name of Object.keys(SOURCES)) {
  const made = await compile(name);
  if (process.argv[2] !== "--check") {
    await writeFile(here(`${name}.json`), made);
    console.log(`token: ${name}.json written`);
  } else if ((await readFile(here(`${name}.json`), "utf8")) === made) {
    console.log(`token: ${name}.json is what ${name}.sol compiles to`);
  } else {
    console.error(`token: ${name}.json is not what ${name}.sol compiles to; run compile.mjs`);
    process.exit(1);
  }
}
