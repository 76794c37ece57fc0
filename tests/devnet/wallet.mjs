// The facilitator's own wallet, in the form the official packages ask for, safe to use by many settles at once.
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, concatHex, defineChain, encodeFunctionData, http, parseGwei } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { toFacilitatorEvmSigner } from "@x402/evm";

const MAX_FEE = parseGwei("100");
const CONFIRMATION_TIMEOUT_MS = 60_000;

export function createWallet({ rpcUrl, chainId, key }) {
  const account = privateKeyToAccount(key);
  const chain = defineChain({
    id: chainId,
    name: "devnet",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  // No retries: a transaction sent twice would be answered "already known", and read as a failure.
  const client = createPublicClient({ chain, transport: http(rpcUrl, { retryCount: 0 }) });
  const inTurn = createLock();
  let nextNonce;

  // Gas is estimated before, outside the lock: a transaction that would revert is refused there and takes no nonce.
  // Signing and sending go one by one and in nonce order, since a later nonce that arrives first can stay queued for ever.
  function signAndSend({ to, data, gas }) {
    return inTurn(async () => {
      nextNonce ??= await client.getTransactionCount({ address: account.address, blockTag: "pending" });
      try {
        const serializedTransaction = await account.signTransaction({
          type: "eip1559",
          chainId,
          nonce: nextNonce,
          to,
          data,
          gas: gas + gas / 4n,
          maxFeePerGas: MAX_FEE,
          maxPriorityFeePerGas: 1n,
        });
        const hash = await client.sendRawTransaction({ serializedTransaction });
        nextNonce += 1;
        return hash;
      } catch (error) {
        nextNonce = undefined; // whether it was taken is unknown: ask the chain next time
        throw error;
      }
    });
  }

  return toFacilitatorEvmSigner(
    {
      address: account.address,
      readContract: (args) => client.readContract(args),
      verifyTypedData: (args) => client.verifyTypedData(args),
      getCode: (args) => client.getCode(args),
      async writeContract({ address, abi, functionName, args, dataSuffix }) {
        const gas = await client.estimateContractGas({
          account: account.address,
          address,
          abi,
          functionName,
          args,
          dataSuffix,
        });
        const call = encodeFunctionData({ abi, functionName, args });
        return signAndSend({ to: address, data: dataSuffix ? concatHex([call, dataSuffix]) : call, gas });
      },
      async sendTransaction({ to, data }) {
        const gas = await client.estimateGas({ account: account.address, to, data });
        return signAndSend({ to, data, gas });
      },
      waitForTransactionReceipt: ({ hash, timeout }) => pollReceipt(client, hash, timeout),
    },
    { confirmationTimeoutMs: CONFIRMATION_TIMEOUT_MS },
  );
}

function createLock() {
  let last = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}

// viem's own waiter looks every four seconds.
async function pollReceipt(client, hash, timeout) {
  const deadline = Date.now() + timeout;
  for (let pause = 5; Date.now() < deadline; pause = Math.min(2 * pause, 80)) {
    const receipt = await client.request({ method: "eth_getTransactionReceipt", params: [hash] });
    if (receipt) {
      return { status: receipt.status === "0x1" ? "success" : "reverted", logs: receipt.logs };
    }
    await sleep(pause);
  }
  throw new Error(`no receipt of ${hash} within ${timeout} ms`);
}
