// What the fault proxy can do to one call. A mode is {forward, act}: whether the real facilitator is asked first (so
// that for settle the money has moved), and what the caller then gets. `call` holds: endpoint, question (the parsed
// body), digest (of the body), options, real (the facilitator's {status, headers, text}; null when not asked), upstream,
// path, memory (answers held back, by digest), request, response.
import { randomBytes } from "node:crypto";
import { pipeline, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { sendJson } from "./http.mjs";

const MEBIBYTE = 1024 * 1024;

const payerOf = ({ payload } = {}) => payload?.authorization?.from ?? payload?.permit2Authorization?.from;
const realVerdict = (call) => JSON.parse(call.real.text);

// The members that a verdict needs, good or bad, as the facilitator would have filled them in.
function verdict(call, good, more) {
  const payer = payerOf(call.question.paymentPayload);
  return call.endpoint === "verify"
    ? { isValid: good, payer, ...more }
    : { success: good, transaction: "", network: call.question.paymentRequirements?.network, payer, ...more };
}

function refusal(call, reason = "insufficient_funds") {
  if (call.endpoint === "supported") {
    return { kinds: [], extensions: [], signers: {} };
  }
  return verdict(call, false, { [call.endpoint === "verify" ? "invalidReason" : "errorReason"]: reason });
}

function pass({ real, response }) {
  response.writeHead(real.status, { ...real.headers, "content-length": Buffer.byteLength(real.text) });
  response.end(real.text);
}

function sendText({ response }, status, type, text, headers = {}) {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text), ...headers });
  response.end(text);
}

const resetConnection = ({ request }) => request.socket.resetAndDestroy();
const hang = () => {};

// Made-up hashes never repeat, neither within a run nor between two.
const run = randomBytes(12).toString("hex");
let hashes = 0;
const madeUpHash = () => `0x${run}${(++hashes).toString(16).padStart(40, "0")}`;

const LIES = {
  payer: () => "0x000000000000000000000000000000000000dEaD",
  amount: () => "1",
  network: () => "eip155:1",
  transaction: madeUpHash,
};

export const MODES = {
  /** Nothing; with the option `ms`, a slow facilitator. */
  none: { forward: true, act: pass },
  delay: { forward: true, act: pass },

  /** A definite no. Options: reason, status (some facilitators say no with a 400). */
  refuse: {
    forward: false,
    act: (call) => sendJson(call.response, call.options.status ?? 200, refusal(call, call.options.reason)),
  },

  /** A 500 that carries a verdict, and one that carries none. */
  "error500-json": { forward: false, act: (call) => sendJson(call.response, 500, refusal(call, "unexpected_error")) },
  "error500-html": {
    forward: false,
    act: (call) => sendText(call, 500, "text/html", "<html><body><h1>500 Internal Server Error</h1></body></html>"),
  },

  /** What a function of the question says, in this process only. Option: answer. */
  says: { forward: false, act: async (call) => sendJson(call.response, 200, await call.options.answer(call.question)) },

  /** Any status without a verdict. Options: code, headers, body. */
  status: {
    forward: false,
    act: ({ response, options }) =>
      sendJson(response, options.code ?? 503, options.body ?? { message: "no verdict" }, options.headers),
  },

  "reset-before": { forward: false, act: resetConnection },
  "reset-after": { forward: true, act: resetConnection },
  "hang-before": { forward: false, act: hang },
  "hang-after": { forward: true, act: hang },

  /** Half of the announced body, then the end of the connection; with the option `reset`, a reset. */
  cut: {
    forward: true,
    act: async (call) => {
      const whole = Buffer.from(call.real.text);
      call.response.writeHead(call.real.status, { ...call.real.headers, "content-length": whole.length });
      call.response.write(whole.subarray(0, whole.length >> 1));
      await sleep(50); // a reset throws away what the other side has not read yet
      if (call.options.reset) {
        resetConnection(call);
      } else {
        call.request.socket.end();
      }
    },
  },

  garbage: { forward: true, act: (call) => sendText(call, 200, "application/json", '{"success":tru\u0000\ufffe]]') },
  empty: { forward: true, act: (call) => sendText(call, 200, "application/json", "") },
  /** JSON of another protocol, and verdicts whose members have the wrong types. */
  foreign: { forward: true, act: ({ response }) => sendJson(response, 200, { valid: true }) },
  types: {
    forward: true,
    act: (call) =>
      sendJson(call.response, 200, {
        ...realVerdict(call),
        isValid: "true",
        success: 1,
        transaction: 7,
        network: null,
        kinds: {},
      }),
  },

  /** A web page with status 200. */
  html: { forward: true, act: (call) => sendText(call, 200, "text/html", "<html><body>Welcome</body></html>") },

  /** The true answer two times: as two HTTP answers to one call or, with the option `joined`, as two texts in one. */
  twice: {
    forward: true,
    act: (call) => {
      const { text, status } = call.real;
      if (call.options.joined) {
        sendText(call, status, "application/json", text + text);
        return;
      }
      const one = `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
      call.request.socket.end(one + one);
    },
  },

  /** The true answer in many pieces, one byte each `everyMs`. */
  drip: {
    forward: true,
    act: async ({ real, response, options }) => {
      response.writeHead(real.status, real.headers);
      for (const byte of Buffer.from(real.text)) {
        response.write(Buffer.of(byte));
        await sleep(options.everyMs ?? 5);
      }
      response.end();
    },
  },

  /** The true answer with `bytes` of padding inside: valid JSON for who reads it all. */
  huge: {
    forward: true,
    act: (call) => {
      const head = call.real.text.replace(/\}$/, "");
      call.response.writeHead(200, { "content-type": "application/json" });
      // Whoever hangs up in the middle does right: not an error here.
      pipeline(
        Readable.from(padded(`${head},"pad":"`, call.options.bytes ?? 64 * MEBIBYTE, '"}')),
        call.response,
        () => {},
      );
    },
  },

  /** Settled or on its way, but not confirmed. The identical call made again gets the true answer; option `always`: never. */
  pending: {
    forward: true,
    act: (call) => {
      const { transaction } = realVerdict(call);
      sendJson(
        call.response,
        200,
        verdict(call, false, {
          errorReason: "settlement_pending",
          transaction: call.options.transaction ?? transaction,
        }),
      );
      if (!call.options.always) {
        call.memory.set(call.digest, call.real);
      }
    },
  },

  /** Options: location, code. */
  redirect: {
    forward: false,
    act: (call) =>
      sendText(call, call.options.code ?? 308, "text/plain", "moved", {
        location: call.options.location ?? call.upstream + call.path,
      }),
  },

  /** The true answer with one member made false. Options: what (payer, amount, network, transaction), value. */
  lie: {
    forward: true,
    act: (call) => {
      const { what = "payer", value = LIES[what]() } = call.options;
      sendJson(call.response, call.real.status, { ...realVerdict(call), [what]: value });
    },
  },

  /** Yes at once, and no money moves: to measure a server alone. */
  stub: {
    forward: false,
    act: (call) =>
      sendJson(
        call.response,
        200,
        verdict(call, true, call.endpoint === "settle" ? { transaction: madeUpHash() } : {}),
      ),
  },
};

function* padded(head, bytes, tail) {
  const block = "x".repeat(64 * 1024);
  yield head;
  for (let left = bytes; left > 0; left -= block.length) {
    yield block.slice(0, left);
  }
  yield tail;
}
