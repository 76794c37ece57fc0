// What people call the networks that payments come from. A network that is not here goes by its number.

const CHAINS = {
  1: { name: "Ethereum", explorer: "https://etherscan.io" },
  137: { name: "Polygon", explorer: "https://polygonscan.com" },
  8453: { name: "Base", explorer: "https://basescan.org", rpc: "https://mainnet.base.org", v1: "base" },
  31337: { name: "a local test chain", test: true },
  42161: { name: "Arbitrum One", explorer: "https://arbiscan.io" },
  84532: { name: "Base Sepolia", explorer: "https://sepolia.basescan.org", rpc: "https://sepolia.base.org", v1: "base-sepolia", test: true },
};

/** The number in a CAIP-2 name of an EVM network; null for others. */
export function chainId(network) {
  const [, digits] = /^eip155:([1-9][0-9]{0,15})$/.exec(network) ?? [];
  return digits ? Number(digits) : null;
}

export function chainName(network) {
  return CHAINS[chainId(network)]?.name ?? (network.startsWith("solana:") ? "Solana" : network.replace(/^eip155:/, "network "));
}

/** What x402 version 1 calls it; null where that has no name. */
export const nameV1 = (network) => CHAINS[chainId(network)]?.v1 ?? null;

/** Is money worth nothing there? */
export const isTest = (network) => CHAINS[chainId(network)]?.test === true;

const isThisMachine = () => ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

/** Where money for tries is given away; null where there is none, and for this machine's own test chain. */
export const faucet = (network) => (chainId(network) === 84532 && !isThisMachine() ? "https://faucet.circle.com" : null);

/** Where a transaction can be looked at; null where that is not known, and on this machine's own test chain. */
export function transactionPage(network, hash) {
  const explorer = CHAINS[chainId(network)]?.explorer;
  return explorer && !isThisMachine() && /^0x[0-9a-f]{64}$/i.test(hash) ? `${explorer}/tx/${hash}` : null;
}

/** What a wallet has to know to add the network; null where we do not know it ourselves. */
export function addition(id) {
  const chain = CHAINS[id];
  return chain?.rpc
    ? {
        chainId: `0x${id.toString(16)}`,
        chainName: chain.name,
        nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
        rpcUrls: [chain.rpc],
        blockExplorerUrls: [chain.explorer],
      }
    : null;
}
