// fetch() for the paying clients: trusts a given CA, and remembers which payment went out. Needs no package.
import { readFileSync } from "node:fs";
import https from "node:https";
import { Readable } from "node:stream";

/**
 * A fetch that trusts the CA certificates in the file `caFile` and no others, and does not follow redirects; without a
 * file, node's own fetch.
 * The official clients take the fetch to use as an argument, so they stay as released: node's own fetch would need
 * NODE_EXTRA_CA_CERTS set before the process starts, or an undici of exactly the right version.
 */
export function trustingFetch(caFile) {
  if (!caFile) {
    return fetch;
  }
  const ca = readFileSync(caFile);
  return async (input, init) => {
    const request = new Request(input, init);
    if (!request.url.startsWith("https:")) {
      return fetch(request);
    }
    const body = Buffer.from(await request.arrayBuffer());
    return new Promise((resolve, reject) => {
      const options = {
        method: request.method,
        headers: Object.fromEntries(request.headers),
        ca,
        signal: request.signal,
      };
      https
        .request(request.url, options, (incoming) => resolve(toResponse(incoming)))
        .once("error", reject)
        .end(body);
    });
  };
}

function toResponse(incoming) {
  const headers = new Headers();
  for (let index = 0; index < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index], incoming.rawHeaders[index + 1]);
  }
  const bodiless = [204, 205, 304].includes(incoming.statusCode);
  return new Response(bodiless ? null : Readable.toWeb(incoming), {
    status: incoming.statusCode,
    statusText: incoming.statusMessage,
    headers,
  });
}

/** Wraps `baseFetch`: `seen.payment` becomes the header {name, value} of the last request that carried a payment. */
export function watchPayments(baseFetch, fetchOptions = {}) {
  const seen = { payment: null };
  const watching = (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    for (const name of ["PAYMENT-SIGNATURE", "X-PAYMENT"]) {
      if (headers.has(name)) {
        seen.payment = { name, value: headers.get(name) };
      }
    }
    return baseFetch(input, { ...init, ...fetchOptions });
  };
  return { fetch: watching, seen };
}

export const encodeHeader = (value) => Buffer.from(JSON.stringify(value), "utf8").toString("base64");

/** The object in a PAYMENT-… header; null where there is no such header. */
export const decodeHeader = (text) => (text ? JSON.parse(Buffer.from(text, "base64").toString("utf8")) : null);

/**
 * Reads an answer to the end.
 * → {status, headers (plain object), text, json (null when the body is none), required (PAYMENT-REQUIRED), receipt
 * (PAYMENT-RESPONSE, or X-PAYMENT-RESPONSE)}
 */
export async function readAnswer(response) {
  const text = await response.text();
  let json = null;
  try {
    json = JSON.parse(text);
  } catch {
    // Not every answer is JSON; `text` has it.
  }
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text,
    json,
    required: decodeHeader(response.headers.get("payment-required")),
    receipt: decodeHeader(response.headers.get("payment-response") ?? response.headers.get("x-payment-response")),
  };
}

/** The request that both pay functions make: JSON by default, a string or bytes as they are. */
export function requestInit({ method = "POST", body, headers = {} }) {
  const init = { method, headers: { ...headers } };
  if (body !== undefined) {
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    init.body = isRaw ? body : JSON.stringify(body);
    init.headers = { "content-type": "application/json", ...init.headers };
  }
  return init;
}
