// An x402 payment: an authorization (EIP-3009) that the wallet signs and the service settles.
import { chainId } from "./chains.js";
import { toBase64, toHex, utf8 } from "./coding.js";

const DOMAIN = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
];
const TRANSFER = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" },
];
const NONCE_BYTES = 32;

const random = (count) => crypto.getRandomValues(new Uint8Array(count));

/** Can a browser wallet pay this? Others (Solana, Permit2) are for other clients. */
export function isPayable({ scheme, network, extra }) {
  const isPlain = [undefined, "eip3009"].includes(extra?.assetTransferMethod) && [undefined, "authorization"].includes(extra?.paymentFlow);
  return scheme === "exact" && chainId(network) !== null && Boolean(extra?.name && extra?.version) && isPlain;
}

/** Do both ask for the same money for the same recipient? */
export const isSame = (one, other) => ["network", "asset", "amount", "payTo"].every((name) => one[name] === other[name]);

/** A secret that the answer can be had by: whoever has it and the request. */
export const newKey = () => toHex(random(NONCE_BYTES));

/** What is to be signed so that `from` pays what is required. clock: Unix ms. */
export function authorization({ payTo, amount, maxTimeoutSeconds }, from, clock) {
  return {
    from,
    to: payTo,
    value: amount,
    validAfter: "0",
    validBefore: String(Math.floor(clock / 1000) + maxTimeoutSeconds),
    nonce: `0x${toHex(random(NONCE_BYTES))}`,
  };
}

export const typedData = ({ network, asset, extra }, message) => ({
  types: { EIP712Domain: DOMAIN, TransferWithAuthorization: TRANSFER },
  primaryType: "TransferWithAuthorization",
  domain: { name: extra.name, version: extra.version, chainId: chainId(network), verifyingContract: asset },
  message,
});

/** The value of PAYMENT-SIGNATURE. */
export const header = (required, accepted, message, signature) =>
  toBase64(utf8(JSON.stringify({ x402Version: 2, resource: required.resource, accepted, payload: { signature, authorization: message } })));
