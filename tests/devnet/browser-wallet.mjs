// What a browser's wallet does with the requests of a page (EIP-1193), with a key of the local chain.
import { privateKeyToAccount } from "viem/accounts";

const failure = (code, message) => Object.assign(new Error(message), { code });
const hex = (number) => `0x${number.toString(16)}`;

/**
 * → {address, calls: a list of [method, params], chainId, known: the chains that it has, declines: methods that its owner
 * says no to, answer(request)}; chainId, known and declines may be changed.
 */
export function createBrowserWallet({ key, chainId, known = [chainId] }) {
  const account = privateKeyToAccount(key);
  const wallet = { address: account.address, calls: [], chainId, known: new Set(known), declines: new Set() };

  const methods = {
    eth_requestAccounts: () => [account.address.toLowerCase()],
    eth_chainId: () => hex(wallet.chainId),
    wallet_switchEthereumChain([{ chainId: wanted }]) {
      if (!wallet.known.has(Number(wanted))) {
        throw failure(4902, "Unrecognized chain ID");
      }
      wallet.chainId = Number(wanted);
      return null;
    },
    wallet_addEthereumChain([{ chainId: added, rpcUrls, chainName, nativeCurrency }]) {
      if (!rpcUrls?.every((url) => url.startsWith("https://")) || !chainName || nativeCurrency?.decimals !== 18) {
        throw failure(-32602, "Invalid parameters");
      }
      wallet.known.add(Number(added));
      return null;
    },
    eth_signTypedData_v4([address, text]) {
      const { domain, types, primaryType, message } = JSON.parse(text);
      // As MetaMask has it: no signature for a chain that is not the chosen one, nor for another's account.
      if (domain.chainId !== wallet.chainId || address.toLowerCase() !== account.address.toLowerCase()) {
        throw failure(-32602, "Provided chainId must match the active chainId");
      }
      const { EIP712Domain, ...others } = types;
      if (EIP712Domain.map(({ name }) => name).join() !== "name,version,chainId,verifyingContract") {
        throw failure(-32602, "Invalid EIP712Domain");
      }
      return account.signTypedData({ domain, types: others, primaryType, message });
    },
  };

  /** → {result} or {error: {code, message}} */
  wallet.answer = async ({ method, params = [] }) => {
    wallet.calls.push([method, params]);
    try {
      if (wallet.declines.has(method)) {
        throw failure(4001, "User rejected the request.");
      }
      if (!methods[method]) {
        throw failure(4200, `${method} is not supported`);
      }
      return { result: await methods[method](params) };
    } catch (error) {
      return { error: { code: error.code ?? -32603, message: error.message } };
    }
  };
  return wallet;
}
