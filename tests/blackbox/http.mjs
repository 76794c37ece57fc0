// Requests as they are written: nothing is added, followed or retried.
import https from "node:https";
import http from "node:http";
import { readFileSync } from "node:fs";
import { decodeHeader } from "../devnet/fetch.mjs";

/**
 * → send({base, path, method, headers, body, signal, abortAfterMs}) → {status, headers, raw, bytes, text, json, required, response}
 * headers: an object, or a flat list [name, value, name, value] where one shall stand twice. body: text, bytes or an object.
 * required: the decoded PAYMENT-REQUIRED; response: the decoded PAYMENT-RESPONSE or X-PAYMENT-RESPONSE.
 */
export function createSender(defaultBase, caFile) {
  const ca = readFileSync(caFile);
  const secure = new https.Agent({ ca, keepAlive: true, maxSockets: 128 });
  const plain = new http.Agent({ keepAlive: true });

  function send({ base = defaultBase, path = "/execute", method = "POST", headers = {}, body, signal, abortAfterMs }) {
    const bytes = toBytes(body);
    const url = new URL(base);
    const isSecure = url.protocol === "https:";
    const list = Array.isArray(headers) ? headers : Object.entries(headers).flat();
    const options = {
      host: url.hostname,
      port: url.port,
      path,
      method,
      headers: bytes && !has(list, "transfer-encoding") && !has(list, "content-length") ? [...list, "Content-Length", String(bytes.length)] : list,
      agent: isSecure ? secure : plain,
      signal,
    };
    // node adds Host by itself only where the headers are no list.
    if (!has(list, "host")) {
      options.headers = ["Host", url.host, ...options.headers];
    }
    return new Promise((resolve, reject) => {
      const request = (isSecure ? https : http).request(options, (response) => {
        collect(response).then(resolve, reject);
      });
      // A server may answer before it has read all, and then close: the answer counts.
      request.on("error", reject);
      if (abortAfterMs !== undefined) {
        setTimeout(() => request.destroy(new Error("aborted")), abortAfterMs);
      }
      request.end(bytes ?? undefined);
    });
  }
  send.close = () => {
    secure.destroy();
    plain.destroy();
  };
  return send;
}

function toBytes(body) {
  if (body === undefined || body === null) {
    return null;
  }
  if (Buffer.isBuffer(body)) {
    return body;
  }
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body), "utf8");
}

const has = (list, name) => list.some((entry, index) => index % 2 === 0 && String(entry).toLowerCase() === name);

async function collect(response) {
  const chunks = [];
  for await (const chunk of response) {
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString("utf8");
  const { headers } = response;
  return {
    status: response.statusCode,
    headers,
    raw: response.rawHeaders,
    bytes,
    text,
    json: parseOrNull(text),
    required: decodeHeader(headers["payment-required"]),
    response: decodeHeader(headers["payment-response"] ?? headers["x-payment-response"]),
  };
}

function parseOrNull(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
