// Smart wallets on the local chain: contracts (ERC-1271), keys with code (EIP-7702), wallets that are not there yet (ERC-6492).
import { readFileSync } from "node:fs";
import { createWalletClient, decodeFunctionResult, defineChain, encodeFunctionData, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { serializeErc6492Signature } from "viem/utils";
import { rpc, rpcBatch, word } from "./rpc.mjs";

const { Wallet, Factory } = JSON.parse(readFileSync(new URL("token/Wallet.json", import.meta.url), "utf8"));
const SHARED = "0x000000000000000000000000000000000000c0de";
const NOBODY = "0x000000000000000000000000000000000000dEaD";
const OWNER_SLOT = 0;

/** The factory whose wallets the facilitator brings onto the chain. */
export const FACTORY = "0x000000000000000000000000000000000000fac0";

/** A wallet of `owner` at `address`. */
export const placeWallet = (rpcUrl, address, owner) =>
  rpcBatch(rpcUrl, [
    ["anvil_setCode", [address, Wallet.runtimeBytecode]],
    ["anvil_setStorageAt", [address, `0x${word(OWNER_SLOT)}`, `0x${word(owner)}`]],
    ["evm_mine", []],
  ]);

export const placeFactory = (rpcUrl, address) => rpcBatch(rpcUrl, [["anvil_setCode", [address, Factory.runtimeBytecode]], ["evm_mine", []]]);

/** Where the wallet that `factory` makes for `owner` is, or will be. */
export async function walletOf(rpcUrl, factory, owner) {
  const question = { abi: Factory.abi, functionName: "addressOf" };
  const data = await rpc(rpcUrl, "eth_call", [{ to: factory, data: encodeFunctionData({ ...question, args: [owner] }) }, "latest"]);
  return decodeFunctionResult({ ...question, data });
}

/** A signature with what it takes to make the wallet first. */
export const undeployed = (factory, owner, signature) =>
  serializeErc6492Signature({ address: factory, data: encodeFunctionData({ abi: Factory.abi, functionName: "make", args: [owner] }), signature });

export const codeAt = (rpcUrl, address) => rpc(rpcUrl, "eth_getCode", [address, "latest"]);

/** From now on the account of `key` is a wallet as well. It pays for that itself, so it needs ether. */
export async function delegate(rpcUrl, chainId, key) {
  const account = privateKeyToAccount(key);
  const chain = defineChain({ id: chainId, name: "devnet", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [rpcUrl] } } });
  const client = createWalletClient({ account, chain, transport: http(rpcUrl) });
  await rpcBatch(rpcUrl, [["anvil_setCode", [SHARED, Wallet.runtimeBytecode]], ["evm_mine", []]]);
  const authorization = await client.signAuthorization({ contractAddress: SHARED, executor: "self" });
  await client.sendTransaction({ to: NOBODY, authorizationList: [authorization] });
  await rpc(rpcUrl, "evm_mine");
}
