// A proxy in front of the chain's JSON-RPC that lies or fails on request. For one caller in this process:
//   faults.set("dead")                              a mode by its name, see MODES
//   faults.set({ eth_getLogs: (result) => [] })     what the node's answers are turned into, by method
//   faults.set(null)                                the truth
import { readBody, sendJson, serve } from "./http.mjs";

const BODY_LIMIT = 64 * 1024;

const MODES = {
  dead: ({ request }) => request.socket.resetAndDestroy(),
  hang: () => {},
  html: ({ response }) => sendText(response, 200, "text/html", "<html>busy</html>"),
  "error-500": ({ response }) => sendText(response, 500, "text/plain", "oops"),
  refuse: ({ response, question }) =>
    sendJson(response, 200, { jsonrpc: "2.0", id: question.id, error: { code: -32000, message: "no" } }),
  "other-id": ({ response, question, answer }) => sendJson(response, 200, { ...answer, id: question.id + 1 }),
  cut: ({ response, request, answer }) => {
    const whole = JSON.stringify(answer);
    response.writeHead(200, { "content-type": "application/json", "content-length": whole.length });
    response.write(whole.slice(0, whole.length / 2), () => request.socket.end());
  },
  null: ({ response, question }) => sendJson(response, 200, { jsonrpc: "2.0", id: question.id, result: null }),
  huge: ({ response, answer }) => sendJson(response, 200, { ...answer, pad: "x".repeat(8 * 1024 * 1024) }),
};

/** → {url, set(mode), calls(): how often each method was called, stop()} */
export async function startRpcFaults({ upstream }) {
  let mode = null;
  const calls = {};
  const server = await serve(async (request, response) => {
    const question = JSON.parse(await readBody(request, BODY_LIMIT));
    calls[question.method] = (calls[question.method] ?? 0) + 1;
    const wanted = mode;
    const answer = await ask(upstream, question);
    if (typeof wanted === "string") {
      MODES[wanted]({ request, response, question, answer });
      return;
    }
    const alter = wanted?.[question.method];
    sendJson(response, 200, alter ? { ...answer, result: alter(structuredClone(answer.result), question.params) } : answer);
  }, 0);
  return {
    url: server.url,
    set: (wanted) => {
      mode = wanted;
    },
    calls: () => ({ ...calls }),
    stop: server.stop,
  };
}

async function ask(upstream, question) {
  const answer = await fetch(upstream, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
  });
  return answer.json();
}

function sendText(response, status, type, text) {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
  response.end(text);
}
