// What a holder can do with the token besides paying.
import { encodeFunctionData, parseAbi, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { rpc } from "./rpc.mjs";

const ABI = parseAbi(["function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)"]);
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
  await rpc(rpcUrl, "anvil_setBalance", [payer.address, toHex(GAS_MONEY)]);
  await rpc(rpcUrl, "anvil_impersonateAccount", [payer.address]);
  const hash = await rpc(rpcUrl, "eth_sendTransaction", [{ from: payer.address, to: asset, data }]);
  await rpc(rpcUrl, "evm_mine");
  const receipt = await rpc(rpcUrl, "eth_getTransactionReceipt", [hash]);
  if (receipt?.status !== "0x1") {
    throw new Error(`cancelAuthorization did not go through: ${JSON.stringify(receipt)}`);
  }
}
