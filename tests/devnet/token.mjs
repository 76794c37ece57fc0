// What can be done with the token besides paying one by one.
import { encodeFunctionData, parseAbi, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { rpc } from "./rpc.mjs";

const ABI = parseAbi(["function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)"]);
const MULTICALL3_ABI = parseAbi([
  "struct Call { address target; bool allowFailure; bytes callData; }",
  "struct Result { bool success; bytes returnData; }",
  "function aggregate3(Call[] calls) payable returns (Result[] results)",
]);
const TRANSFER_ABI = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
]);
const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";
const GAS_MONEY = 10n ** 18n;

/** Takes an authorization back on chain, as its signer may until it is used. */
export async function cancelAuthorization({ rpcUrl, asset, assetName, assetVersion, chainId }, payer, nonce) {
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: assetName, version: assetVersion, chainId, verifyingContract: asset },
    types: { CancelAuthorization: [{ name: "authorizer", type: "address" }, { name: "nonce", type: "bytes32" }] },
    primaryType: "CancelAuthorization",
    message: { authorizer: payer.address, nonce },
  });
  const data = encodeFunctionData({ abi: ABI, functionName: "cancelAuthorization", args: [payer.address, nonce, signature] });
  await send(rpcUrl, { from: payer.address, to: asset, data });
}

/** Settles several payments ({signature, authorization}, as payloads hold them) in one transaction → its hash. Anybody may. */
export async function settleTogether({ rpcUrl, asset }, from, payloads) {
  const calls = payloads.map(({ signature, authorization: a }) => ({
    target: asset,
    allowFailure: false,
    callData: encodeFunctionData({
      abi: TRANSFER_ABI,
      functionName: "transferWithAuthorization",
      args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, signature],
    }),
  }));
  const data = encodeFunctionData({ abi: MULTICALL3_ABI, functionName: "aggregate3", args: [calls] });
  return send(rpcUrl, { from, to: MULTICALL3, data });
}

async function send(rpcUrl, { from, to, data }) {
  await rpc(rpcUrl, "anvil_setBalance", [from, toHex(GAS_MONEY)]);
  await rpc(rpcUrl, "anvil_impersonateAccount", [from]);
  const hash = await rpc(rpcUrl, "eth_sendTransaction", [{ from, to, data }]);
  await rpc(rpcUrl, "evm_mine");
  const receipt = await rpc(rpcUrl, "eth_getTransactionReceipt", [hash]);
  if (receipt?.status !== "0x1") {
    throw new Error(`a transaction did not go through: ${JSON.stringify(receipt)}`);
  }
  return hash;
}
