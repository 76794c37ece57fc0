// Chain, token, funded payers and facilitator in one go.
//   node devnet.mjs [--out FILE] [--block-time S] [--payers N] [--exit-with-stdin]
// prints one line of JSON (see `info` below) when all is ready, and runs until SIGTERM or SIGINT.
import { ASSET, CHAIN_ID, startChain, testAccount } from "./chain.mjs";
import { startFacilitator } from "./facilitator.mjs";
import { isProgram, numberOption, readOptions, runInForeground } from "./foreground.mjs";

/** → {info, stop(), failed}; blockTime in seconds, 0 or absent: a block as soon as there is a transaction */
export async function startDevnet({ blockTime = 0, payers: count = 20 } = {}) {
  const payers = Array.from({ length: count }, (_, index) => testAccount(`payer ${index}`));
  const seller = testAccount("seller");
  const gas = testAccount("facilitator");
  const network = `eip155:${CHAIN_ID}`;
  const networkV1 = "base-sepolia";

  const chain = await startChain({
    blockTime,
    payers: payers.map(({ address }) => address),
    gasWallets: [gas.address],
  });
  const facilitator = await startFacilitator({
    rpcUrl: chain.rpcUrl,
    chainId: CHAIN_ID,
    network,
    networkV1,
    key: gas.privateKey,
  });

  return {
    info: {
      rpcUrl: chain.rpcUrl,
      facilitatorUrl: facilitator.url,
      chainId: CHAIN_ID,
      network,
      networkV1,
      asset: ASSET,
      assetName: "USDC",
      assetVersion: "2",
      assetDecimals: 6,
      payTo: seller.address,
      payers,
    },
    failed: chain.failed,
    async stop() {
      await facilitator.stop();
      await chain.stop();
    },
  };
}

if (isProgram(import.meta.url)) {
  const { values } = readOptions({
    options: {
      out: { type: "string" },
      "block-time": { type: "string", default: "0" },
      payers: { type: "string", default: "20" },
      "exit-with-stdin": { type: "boolean", default: false },
    },
  });
  const blockTime = numberOption("block-time", values["block-time"], { min: 0, max: 3600, integer: false });
  const payers = numberOption("payers", values.payers, { min: 1, max: 1000 });
  await runInForeground(() => startDevnet({ blockTime, payers }), {
    out: values.out,
    exitWithStdin: values["exit-with-stdin"],
  });
}
