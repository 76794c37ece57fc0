// Is a receipt what it should be? Everything is computed anew, in this browser.
import { canonical, fromBase64, sha256, utf8 } from "./coding.js";

/** The DID of a service by its address: did:web:run.example.com of https://run.example.com. */
export function didOf(address) {
  const { host, pathname } = new URL(address);
  const path = pathname.split("/").filter(Boolean);
  return ["did:web", host.replace(":", "%3A"), ...path].join(":");
}

const same = (one, other) => canonical(one) === canonical(other);

/** Each check by name; `holds` is null where this browser cannot say. */
const CHECKS = [
  ["It is for the request that was sent", async ({ receipt, body }) => receipt.requestDigest === (await sha256(utf8(body)))],
  ["It is for the output that came", async ({ receipt, answer }) => {
    const { exitCode, outcome, stderr, stdout, truncated } = answer;
    return receipt.outputDigest === (await sha256(utf8(canonical({ exitCode, outcome, stderr, stdout, truncated }))));
  }],
  ["It tells how the run ended", async ({ receipt, answer }) => {
    const { outcome, exitCode, durationMs, truncated } = answer;
    return same(receipt.usage, { outcome, exitCode, durationMs, truncated }) && receipt.status.code === (answer.error?.code ?? null);
  }],
  ["It names the payment that you signed", async ({ receipt, answer, requirement, payer }) => {
    const { reference, payer: from, ...money } = receipt.payment;
    const { amount, asset, network } = requirement;
    return same(money, { amount, asset, network }) && from.toLowerCase() === payer.toLowerCase() && reference === answer.payment.transaction;
  }],
  ["It names the price that you were told", async ({ receipt, price }) => receipt.price === price],
  ["It is issued by the service that was paid", async ({ receipt, issuer }) => receipt.issuer === issuer],
  ["Its signature is the issuer’s", ({ receipt, keys }) => isSigned(receipt, keys)],
];

/**
 * answer: the result of a run; body: the request as it was sent; requirement, payer, price: what was signed; issuer: the DID
 * that is expected; keys: the JWK set of the issuer, null where it could not be had. Nothing of it is trusted.
 * → a list of {name, holds: true, false, or null where this browser cannot check it}
 */
export async function checkReceipt(given) {
  if (!crypto.subtle) {
    return CHECKS.map(([name]) => ({ name, holds: null }));
  }
  const facts = { ...given, receipt: given.answer.receipt };
  return Promise.all(CHECKS.map(async ([name, check]) => ({ name, holds: await check(facts).catch(() => false) })));
}

// A JWS with detached content: the header, nothing, the signature (RFC 7515, appendix F).
async function isSigned({ signature, ...content }, set) {
  if (set === null) {
    return null;
  }
  const [header, nothing, mac, ...more] = signature.split(".");
  const { kid } = JSON.parse(new TextDecoder().decode(fromBase64(header)));
  const exact = canonical({ alg: "EdDSA", kid, typ: "tollbox-receipt" });
  const jwk = set.keys.find((key) => key.kid === kid);
  if (nothing !== "" || more.length > 0 || !jwk || !kid.startsWith(`${content.issuer}#`) || header !== toBase64Url(exact)) {
    return false;
  }
  const signed = utf8(`${header}.${toBase64Url(canonical(content))}`);
  return verify(jwk, fromBase64(mac), signed);
}

async function verify({ kty, crv, x }, signature, signed) {
  let key;
  try {
    key = await crypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    if (error.name === "NotSupportedError") {
      return null;
    }
    throw error;
  }
  return crypto.subtle.verify("Ed25519", key, signature, signed);
}

function toBase64Url(text) {
  const coded = btoa(String.fromCharCode(...utf8(text)));
  return coded.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
