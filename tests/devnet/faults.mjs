// A proxy in front of a real facilitator that misbehaves on request.
//   node faults.mjs --upstream URL [--port N] [--out FILE] [--exit-with-stdin]        prints {"url":…}
//   POST /__fault  {"verify": MODE, "settle": MODE, "supported": MODE}   sets those named, answers with all modes
//   POST /__reset                                                        all modes none, all counters 0
//   GET  /__stats  per endpoint {calls, forwarded, faulted, active, maxActive, distinct}
//   GET  /__last   per endpoint the last request: {headers, body}
// MODE is a name of fault-modes.mjs or {"mode": name, …options}. Options of every mode: ms (wait before the answer, after
// the real facilitator was asked), times (that many calls, then none), forward (true or false, against the mode's habit), of
// (only calls whose body holds that text; all others get the truth, and use nothing up).
// In this process there is hold() too: answers that come when the caller says so, and not after some time.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { MODES } from "./fault-modes.mjs";
import { isProgram, numberOption, readOptions, runInForeground } from "./foreground.mjs";
import { readBody, sendJson, serve } from "./http.mjs";

const BODY_LIMIT = 1024 * 1024;
const ENDPOINTS = ["verify", "settle", "supported"];
const NONE = { mode: "none" };
// Answers of the facilitator that are worth passing on besides the body.
const PASSED_HEADERS = ["content-type", "retry-after", "extension-responses"];

/**
 * → {url, set(modes), reset(), stats(), last(), stop(), hold(modes)}; the functions do what the paths above do
 * hold(): as set(), and each answer waits, where it would for `ms`, until the function that hold() gives is called, or reset()
 */
export async function startFaults({ upstream, port = 0 }) {
  const base = upstream.replace(/\/$/, "");
  const memory = new Map(); // answers held back by `pending`, by digest of the question
  const held = new Set(); // what lets the answers go that hold() keeps
  let modes;
  let counters;
  let last;

  function reset() {
    modes = Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, NONE]));
    counters = Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, new Counter()]));
    last = Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, null]));
    memory.clear();
    held.forEach((release) => release());
  }

  function set(wanted) {
    const checked = Object.entries(wanted).map(([endpoint, mode]) => [endpoint, checkMode(endpoint, mode)]);
    Object.assign(modes, Object.fromEntries(checked));
    return modes;
  }

  function hold(wanted) {
    let release;
    const released = new Promise((resolve) => {
      release = () => {
        held.delete(release);
        resolve();
      };
    });
    set(Object.fromEntries(Object.entries(wanted).map(([endpoint, mode]) => [endpoint, { ...withOptions(mode), released }])));
    held.add(release);
    return release;
  }

  const stats = () => Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, counters[endpoint].report()]));

  // `times` counts calls, not answers: the choice is made, and used up, when the call comes in; with `of`, when its body is there.
  function takeMode(endpoint) {
    const options = modes[endpoint];
    if (options.times !== undefined) {
      modes[endpoint] = options.times > 1 ? { ...options, times: options.times - 1 } : NONE;
    }
    return options;
  }

  async function proxy(endpoint, request, response) {
    let options = modes[endpoint].of === undefined ? takeMode(endpoint) : null;
    const counter = counters[endpoint];
    counter.begin();
    response.once("close", () => counter.end());

    const body = await readBody(request, BODY_LIMIT);
    if (body === null) {
      sendJson(response, 413, { error: "body too long" });
      return;
    }
    options ??= body.includes(modes[endpoint].of ?? "") ? takeMode(endpoint) : NONE;
    const digest = createHash("sha256").update(body).digest("base64");
    counter.ask(digest, options.mode);
    last[endpoint] = { headers: request.headers, body: body.toString("utf8") };

    const known = memory.get(digest);
    const mode = known ? MODES.none : MODES[options.mode];
    const call = { endpoint, options, upstream: base, path: request.url, memory, digest, request, response };
    call.question = parseOrEmpty(body);
    call.real = known ?? null;
    if (!known && (options.forward ?? mode.forward)) {
      counter.forwarded += 1;
      call.real = await ask(base + request.url, request.method, body);
    }
    if (options.ms) {
      await sleep(options.ms);
    }
    await options.released;
    await mode.act(call);
  }

  const control = {
    "POST /__fault": async (request) => set(JSON.parse(await readBody(request, BODY_LIMIT))),
    "POST /__reset": async () => {
      reset();
      return modes;
    },
    "GET /__stats": async () => stats(),
    "GET /__last": async () => last,
  };

  reset();
  const server = await serve(async (request, response) => {
    const path = request.url.split("?")[0];
    const answer = control[`${request.method} ${path}`];
    const endpoint = path.slice(1);
    if (answer) {
      await answer(request).then(
        (value) => sendJson(response, 200, value),
        (error) => sendJson(response, 400, { error: error.message }),
      );
    } else if (ENDPOINTS.includes(endpoint)) {
      await proxy(endpoint, request, response);
    } else {
      sendJson(response, 404, { error: "no such route" });
    }
  }, port);
  return { url: server.url, set, reset, stats, last: () => last, stop: server.stop, hold };
}

class Counter {
  calls = 0;
  forwarded = 0;
  faulted = 0;
  active = 0;
  maxActive = 0;
  #digests = new Set();

  begin() {
    this.calls += 1;
    this.active += 1;
    this.maxActive = Math.max(this.maxActive, this.active);
  }

  ask(digest, mode) {
    this.faulted += mode === "none" ? 0 : 1;
    this.#digests.add(digest);
  }

  end() {
    this.active -= 1;
  }

  /** `distinct`: how many different bodies came; fewer than `calls` when a caller repeated itself exactly. */
  report() {
    const { calls, forwarded, faulted, active, maxActive } = this;
    return { calls, forwarded, faulted, active, maxActive, distinct: this.#digests.size };
  }
}

const withOptions = (mode) => (typeof mode === "string" ? { mode } : mode);

function checkMode(endpoint, wanted) {
  const options = withOptions(wanted);
  if (!ENDPOINTS.includes(endpoint)) {
    throw new Error(`no such endpoint: ${endpoint}`);
  }
  if (!Object.hasOwn(MODES, options?.mode)) {
    throw new Error(`no such mode: ${JSON.stringify(wanted)}; there are ${Object.keys(MODES).join(", ")}`);
  }
  return options;
}

function parseOrEmpty(body) {
  try {
    return JSON.parse(body.toString("utf8")) ?? {};
  } catch {
    return {};
  }
}

async function ask(url, method, body) {
  const answer = await fetch(url, {
    method,
    headers: { "content-type": "application/json" },
    body: method === "GET" ? undefined : body,
  });
  const headers = Object.fromEntries(
    PASSED_HEADERS.filter((name) => answer.headers.has(name)).map((name) => [name, answer.headers.get(name)]),
  );
  return { status: answer.status, headers, text: await answer.text() };
}

if (isProgram(import.meta.url)) {
  const { values } = readOptions({
    options: {
      upstream: { type: "string" },
      port: { type: "string", default: "0" },
      out: { type: "string" },
      "exit-with-stdin": { type: "boolean", default: false },
    },
  });
  if (!values.upstream) {
    console.error("usage: faults.mjs --upstream URL [--port N] [--out FILE] [--exit-with-stdin]");
    process.exit(2);
  }
  const port = numberOption("port", values.port, { min: 0, max: 65535 });
  const start = async () => {
    const faults = await startFaults({ upstream: values.upstream, port });
    return { info: { url: faults.url }, stop: faults.stop };
  };
  await runInForeground(start, { out: values.out, exitWithStdin: values["exit-with-stdin"] });
}
