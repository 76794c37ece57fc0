// Live answers (api.md section 3), read as they come: over HTTP/1.1, HTTP/2, and straight over FastCGI.
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { decodeHeader } from "../devnet/fetch.mjs";

export const SSE = "text/event-stream";
export const NDJSON = "application/x-ndjson";

/**
 * Python: say() prints and returns when the sandbox has taken all of it, so that it is read before whatever is written next;
 * taken(): the waiting alone.
 */
export const SAY = `import fcntl, struct, sys, termios, time
def taken(to):
  while struct.unpack('i', fcntl.ioctl(to, termios.FIONREAD, bytes(4)))[0]: time.sleep(.01)
def say(text, to=sys.stdout):
  print(text, file=to, flush=True)
  taken(to)
`;

/** Python: says "one", sleeps so that wake() of stack.mjs finds it, and says "two". What was read before it is woken was not kept back. */
export const twoParts = (seconds) => `${SAY}import subprocess\nsay('one')\nsubprocess.run(['sleep', '${seconds}'])\nprint('two')`;

/**
 * → {status, headers, response, text, events, pings, rest, read(), ended, destroy()}: `events` is a list of {type, data, at} that
 * grows, `at` in ms since the request; `pings` the times of signs of life; `rest` what is no whole event yet; `ended` resolves
 * at the end of the answer. With `paused` nothing is read before read(). data of a `started`, `stdout` or `stderr` event: the
 * members beside "type" in NDJSON.
 */
export async function openStream({ base, ca, body, headers, accept, h2 = false, paused = false }) {
  const begin = performance.now();
  const all = { ...headers, Accept: accept, "Content-Type": "application/json" };
  const opened = await (h2 ? openH2 : openH1)({ base: new URL(base), ca: readFileSync(ca), path: "/execute", body, headers: all });
  const stream = {
    ...opened,
    response: decodeHeader(opened.headers["payment-response"] ?? opened.headers["x-payment-response"]),
    text: "",
    events: [],
    pings: [],
    rest: "",
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const take = reader(accept, stream, () => performance.now() - begin);
  async function readAll() {
    for await (const chunk of opened.source) {
      const text = decoder.decode(chunk, { stream: true });
      stream.text += text;
      take(text);
    }
    decoder.decode();
  }
  stream.read = () => {
    stream.ended = readAll();
    stream.ended.catch(() => {}); // whoever waits for it sees why
    return stream.ended;
  };
  if (!paused) {
    stream.read();
  }
  return stream;
}

/** The events of one stream joined as api.md promises that they can be. */
export const joined = (events, type) => events.filter((event) => event.type === type).map(({ data }) => data.data).join("");

async function openH1({ base, ca, path, body, headers }) {
  const secure = base.protocol === "https:";
  const request = (secure ? https : http).request({
    host: base.hostname,
    port: base.port,
    path,
    method: "POST",
    headers: { ...headers, "Content-Length": Buffer.byteLength(body) },
    agent: false,
    ...(secure && { ca }),
  });
  request.end(body);
  const [response] = await once(request, "response");
  return { status: response.statusCode, headers: response.headers, source: response, destroy: () => request.destroy() };
}

async function openH2({ base, ca, path, body, headers }) {
  const session = http2.connect(base, { ca });
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const request = session.request({ ":method": "POST", ":path": path, ...lower });
  request.on("close", () => session.close());
  request.end(body);
  const [answer] = await once(request, "response");
  return { status: answer[":status"], headers: answer, source: request, destroy: () => session.destroy() };
}

/** → take(text): cuts what comes into events, strictly: anything that is none is an error. */
function reader(accept, stream, now) {
  // Pieces of the event under way: joined once, however long it gets.
  let pieces = [];
  const separator = accept.includes(SSE) ? "\n\n" : "\n";
  const one = accept.includes(SSE) ? sseEvent : ndjsonEvent;
  return (text) => {
    const edge = separator.length > 1 && text.startsWith("\n") && pieces.at(-1)?.endsWith("\n");
    if (!edge && !text.includes(separator)) {
      pieces.push(text);
      stream.rest = text;
      return;
    }
    const parts = (pieces.join("") + text).split(separator);
    pieces = [parts.pop()];
    [stream.rest] = pieces;
    for (const part of parts) {
      const event = one(part);
      if (event === null) {
        stream.pings.push(now());
      } else {
        stream.events.push({ ...event, at: now() });
      }
    }
  };
}

function sseEvent(part) {
  if (part.startsWith(":") && !part.includes("\n")) {
    return null;
  }
  const [, type, data] = /^event: ([a-z]+)\ndata: ([^\r\n]*)$/.exec(part) ?? [];
  if (!type) {
    throw new Error(`no event: ${part.slice(0, 200)}`);
  }
  return { type, data: JSON.parse(data) };
}

function ndjsonEvent(line) {
  const { type, ...data } = JSON.parse(line);
  if (type === "ping") {
    return null;
  }
  return { type, data: type === "result" || type === "error" ? data.data : data };
}

/**
 * A FastCGI request of its own on the daemon's socket, as a web server without buffers would make it: when the answer has
 * begun, it reads no more until resume() → {resume() → {text, whole}}
 */
export async function openFastcgi(path, { body, headers, accept }) {
  const socket = connect(path);
  await once(socket, "connect");
  const params = {
    REQUEST_METHOD: "POST",
    REQUEST_URI: "/execute",
    CONTENT_LENGTH: String(Buffer.byteLength(body)),
    REMOTE_ADDR: "127.0.0.1",
    HTTP_ACCEPT: accept,
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [`HTTP_${name.toUpperCase().replaceAll("-", "_")}`, value])),
  };
  const pairs = Buffer.concat(Object.entries(params).map(([name, value]) => pair(name, value)));
  socket.write(Buffer.concat([record(1, Buffer.from([0, 1, 0, 0, 0, 0, 0, 0])), record(4, pairs), record(4, Buffer.alloc(0)), record(5, Buffer.from(body)), record(5, Buffer.alloc(0))]));
  await once(socket, "readable");
  return {
    async resume() {
      const chunks = [];
      for await (const chunk of socket) {
        chunks.push(chunk);
      }
      return content(Buffer.concat(chunks));
    },
  };
}

const length = (n) => (n < 128 ? Buffer.from([n]) : Buffer.from([0x80 | (n >> 24), (n >> 16) & 255, (n >> 8) & 255, n & 255]));

const pair = (name, value) => Buffer.concat([length(name.length), length(Buffer.byteLength(value)), Buffer.from(name), Buffer.from(value)]);

/** One FastCGI record of request 1. */
export const record = (type, data) => Buffer.concat([Buffer.from([1, type, 0, 1, data.length >> 8, data.length & 255, 0, 0]), data]);

/** What the records of standard output in `bytes` hold; `whole` if the request was ended in order. */
function content(bytes) {
  const parts = [];
  let whole = false;
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt16BE(at + 4);
    if (bytes[at + 1] === 6) {
      parts.push(bytes.subarray(at + 8, at + 8 + size));
    }
    whole ||= bytes[at + 1] === 3;
    at += 8 + size + bytes[at + 6];
  }
  return { text: Buffer.concat(parts).toString("utf8"), whole };
}
