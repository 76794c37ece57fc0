// Checks a receipt's signature, knowing nothing but the wire contract (api.md section 6), with node's own crypto.
import { createPublicKey, verify } from "node:crypto";
import { canonical } from "./digests.mjs";

const base64url = (text) => Buffer.from(text, "utf8").toString("base64url");

/** The JWS of a receipt with its content put back, as any JOSE library takes it. */
export function attached(receipt) {
  const { signature, ...content } = receipt;
  const [header, nothing, mac] = signature.split(".");
  if (nothing !== "") {
    throw new Error("the content is not detached");
  }
  return `${header}.${base64url(canonical(content))}.${mac}`;
}

/** Is `receipt` signed by the key of a JWK set that its header names, and the header exactly what it must be? */
export function receiptHolds(receipt, { keys }) {
  const [header, content, signature] = attached(receipt).split(".");
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString("utf8"));
  const jwk = keys.find((key) => key.kid === kid);
  const exact = base64url(canonical({ alg: "EdDSA", kid, typ: "tollbox-receipt" }));
  return (
    jwk !== undefined &&
    kid.startsWith(`${receipt.issuer}#`) &&
    header === exact &&
    verify(null, Buffer.from(`${header}.${content}`), createPublicKey({ key: jwk, format: "jwk" }), Buffer.from(signature, "base64url"))
  );
}
