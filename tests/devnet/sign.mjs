// Payments made by hand, right and wrong ones, for tests of what a server and a facilitator refuse.
import { randomBytes } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { decodeHeader, encodeHeader } from "./fetch.mjs";

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};
// x402 v1 says its networks by name; the ids of those that tests use.
const CHAIN_IDS = { "base-sepolia": 84532, base: 8453 };

export const randomNonce = () => `0x${randomBytes(32).toString("hex")}`;
export const nowSeconds = () => Math.floor(Date.now() / 1000);

/**
 * Signs a payment for one element of `accepts`, of either version → {signature, authorization}.
 * `overrides` replaces what is signed: from, to, value, validAfter, validBefore, nonce, and in the domain name, version,
 * chainId, verifyingContract. `overrides.after` changes the authorization after it was signed (a forged one), and
 * `overrides.spoil` takes the signature and gives back another (see highS, recoveryId).
 */
export async function signV2(requirements, key, overrides = {}) {
  const account = privateKeyToAccount(key);
  const { after = {}, spoil = (signature) => signature, ...signed } = overrides;
  const [namespace, reference] = requirements.network.split(":");
  const authorization = {
    from: signed.from ?? account.address,
    to: signed.to ?? requirements.payTo,
    value: String(signed.value ?? requirements.amount ?? requirements.maxAmountRequired),
    validAfter: String(signed.validAfter ?? 0),
    validBefore: String(signed.validBefore ?? nowSeconds() + requirements.maxTimeoutSeconds),
    nonce: signed.nonce ?? randomNonce(),
  };
  const signature = await account.signTypedData({
    domain: {
      name: signed.name ?? requirements.extra.name,
      version: signed.version ?? requirements.extra.version,
      chainId: signed.chainId ?? Number(reference ?? CHAIN_IDS[namespace]),
      verifyingContract: signed.verifyingContract ?? requirements.asset,
    },
    types: AUTHORIZATION_TYPES,
    primaryType: "TransferWithAuthorization",
    message: authorization,
  });
  return { signature: spoil(signature), authorization: { ...authorization, ...after } };
}

/** The twin of a signature that says the same with s in the upper half: good mathematics, refused by the token. */
export function highS(signature) {
  const r = signature.slice(2, 66);
  const s = CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.slice(130) === "1b" ? "1c" : "1b";
  return `0x${r}${s.toString(16).padStart(64, "0")}${v}`;
}

/** The same signature ending in 0 or 1 instead of 27 or 28: recovers off chain, refused by the token. */
export const recoveryId = (signature) => `${signature.slice(0, 130)}${signature.slice(130) === "1b" ? "00" : "01"}`;

/** The PaymentPayload objects as they go to a facilitator, and the request headers made of them. */
export const payloadV2 = ({ requirements, payload, ...rest }) => ({
  x402Version: 2,
  payload,
  accepted: requirements,
  ...rest,
});

export const payloadV1 = ({ requirements, payload, ...rest }) => ({
  x402Version: 1,
  scheme: requirements.scheme,
  network: requirements.network,
  payload,
  ...rest,
});

/** → {"PAYMENT-SIGNATURE": …}; further members (resource, extensions, accepted) go into the object as they are. */
export const encodeV2 = (parts) => ({ "PAYMENT-SIGNATURE": encodeHeader(payloadV2(parts)) });

/** → {"X-PAYMENT": …} */
export const encodeV1 = (parts) => ({ "X-PAYMENT": encodeHeader(payloadV1(parts)) });

/**
 * What a client makes that kept what it signed, and builds the header around it anew from another 402: the payment of
 * `header` ({name: value}) with its members in another order, and others beside them.
 */
export function rebuilt(header) {
  const [name, value] = Object.entries(header)[0];
  const turn = (object) => Object.fromEntries(Object.entries(object).reverse());
  const { payload, ...rest } = decodeHeader(value);
  return { [name]: encodeHeader({ extensions: { "offer-receipt": { info: { offers: [] } } }, payload: turn(payload), ...turn(rest) }) };
}
