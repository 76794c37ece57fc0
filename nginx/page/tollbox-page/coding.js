// base64, hexadecimal, SHA-256 and the canonical form of JSON (RFC 8785).

const encoder = new TextEncoder();

export const utf8 = (text) => encoder.encode(text);

export function toBase64(data) {
  return btoa(String.fromCharCode(...data));
}

/** Both alphabets, with or without padding. Throws where it is none. */
export function fromBase64(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

/** The JSON in a PAYMENT-… header. Throws where there is none. */
export const fromHeader = (text) => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(fromBase64(text)));

export const toHex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const sha256 = async (data) => toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", data)));

/**
 * JavaScript spells strings and numbers as RFC 8785 wants them; members are sorted by UTF-16 units, as sort() does.
 * `value`: what JSON.parse gave.
 */
export function canonical(value) {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}
