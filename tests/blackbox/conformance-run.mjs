// Sends the requests of conformance.mjs through one web server, each once, and judges what came.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { decodeHeader } from "../devnet/fetch.mjs";
import { receiptHolds } from "../harness/receipts.mjs";
import { assertCommon, assertRefused, assertRun, members } from "./shape.mjs";
import { until } from "./runner.mjs";

const AT_ONCE = 6;

/** → limited(work): at most `places` of them at a time */
function limiter(places) {
  let free = places;
  const waiting = [];
  return async (work) => {
    if (free === 0) {
      await new Promise((resolve) => waiting.push(resolve));
    } else {
      free -= 1;
    }
    try {
      return await work();
    } finally {
      if (waiting.length > 0) {
        waiting.shift()();
      } else {
        free += 1;
      }
    }
  };
}

/**
 * What sends requests to `base`; `sites` are the addresses of further sites of that server.
 * → ask(request) → {answer, body, payer, pay, payment}: once for each request, whoever asks for it
 */
export function createAsker(world, base, sites) {
  const places = limiter(AT_ONCE);
  const asked = new Map();
  const keys = new Map();
  const it = {
    key(name) {
      keys.set(name, keys.get(name) ?? randomBytes(24).toString("base64url"));
      return keys.get(name);
    },
  };

  /** The request's own payment, that of the request before it, or none → {payer, payment ({name: value})} */
  async function paymentOf({ pay, after, free }) {
    if (after) {
      const { payer, payment } = await ask(after);
      return { payer, payment: free ? {} : payment };
    }
    if (!pay) {
      return { payment: {} };
    }
    if (pay.raw !== undefined) {
      return { payment: { "PAYMENT-SIGNATURE": pay.raw } };
    }
    const payer = world.nextPayer();
    return { payer, payment: await world.payment({ payer, ...pay }) };
  }

  async function send(request) {
    const { payer, payment } = await paymentOf(request);
    const { path, method, headers = {}, site } = request;
    const body = path === "/mcp" ? request.body : toText(request.body);
    const own = typeof headers === "function" ? headers(it) : headers;
    const [paid] = Object.values(payment);
    // A tool's payment is in the message.
    const message = path === "/mcp" && paid ? { ...body, params: { ...body.params, _meta: { ...body.params._meta, "x402/payment": decodeHeader(paid) } } } : body;
    const sent = { base: site ? sites[site] : base, path, method, headers: path === "/mcp" ? own : { ...payment, ...own }, body: message };
    const answer = request.losses ? await losing(sent, request.losses) : request.patient ? await world.patiently(sent) : await faulty(sent, request.facilitator);
    return { answer, body, payer, payment, pay: request.pay };
  }

  async function faulty(sent, settle) {
    if (!settle) {
      return world.send(sent);
    }
    world.faults.set({ settle });
    const answer = await world.send(sent).finally(() => world.faults.reset());
    // Left unknown it would be settled some time later, in the middle of another test with that payer.
    if (answer.status === 503) {
      const again = await world.send(sent);
      assert.equal(again.status, 200, again.text);
    }
    return answer;
  }

  /** The same request `times` times, the sandboxes killed each time while its program runs → the last answer */
  async function losing(sent, times) {
    const [program] = /sleep [\d.]+/.exec(sent.body);
    const runs = () => world.processes().all.some(({ command }) => command.includes(program));
    let answer;
    for (let time = 0; time < times; time += 1) {
      // What an earlier kill left is still on its way out.
      await until("no such program is left", () => !runs());
      const { boxer } = world.processes();
      const sending = world.send(sent);
      await until("the program runs", runs);
      process.kill(boxer.pid, "SIGKILL");
      answer = await sending;
      // Who dies again and again is started again less and less soon.
      await until("new sandboxes", async () => world.processes().boxer?.pid !== boxer.pid && world.health(), { withinMs: 60_000 });
    }
    return answer;
  }

  function ask(request) {
    if (!asked.has(request)) {
      const answer = request.after ? ask(request.after).then(() => places(() => send(request))) : places(() => send(request));
      answer.catch(() => {}); // whoever judges it sees why
      asked.set(request, answer);
    }
    return asked.get(request);
  }
  return ask;
}

const toText = (body) => (body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));

/** Is `actual` what `wanted` tells of it? Objects may have more members, lists may not; a function and a pattern must agree. */
function assertLike(actual, wanted, where) {
  if (wanted instanceof RegExp) {
    assert.ok(wanted.test(String(actual)), `${where} is ${JSON.stringify(actual)}`);
  } else if (typeof wanted === "function") {
    assert.ok(wanted(actual), `${where} is ${JSON.stringify(actual)}`);
  } else if (wanted !== null && typeof wanted === "object") {
    assert.ok(actual !== null && typeof actual === "object", `${where} is ${JSON.stringify(actual)}`);
    if (Array.isArray(wanted)) {
      assert.equal(actual.length, wanted.length, `${where} has ${JSON.stringify(actual)}`);
    }
    for (const [name, value] of Object.entries(wanted)) {
      assertLike(actual[name], value, `${where}.${name}`);
    }
  } else {
    assert.deepEqual(actual, wanted, where);
  }
}

/**
 * Holds what came against what is wanted: `code`, `message`, `status`: a refusal; `ran`: a paid run of the native dialect, with
 * all that any run has, and these members; `json`, `text`, `headers`, `required` (PAYMENT-REQUIRED), `response`
 * (PAYMENT-RESPONSE), `receipt` (TOLLBOX-RECEIPT): what is told of them; `members`: exactly these; `bare`: not an answer of ours.
 */
export function judge(world, { answer, body, payer, pay }, wanted) {
  if (wanted.code) {
    assertRefused(answer, wanted.code, wanted);
  } else if (wanted.ran) {
    const { amount = "1000", version = 2 } = pay;
    assertRun(answer, { world, body, payer, amount, version });
    assertLike(answer.json, wanted.ran, "answer");
  } else {
    assert.equal(answer.status, wanted.status ?? 200, answer.text);
    if (!wanted.bare) {
      assertCommon(answer);
    }
  }
  if (wanted.members) {
    assert.deepEqual(members(answer.json), wanted.members);
  }
  if (wanted.receipt) {
    const receipt = JSON.parse(Buffer.from(answer.headers["tollbox-receipt"], "base64url").toString("utf8"));
    assert.ok(receiptHolds(receipt, world.jwks), "the receipt's signature holds");
    assertLike(receipt, wanted.receipt, "receipt");
  }
  for (const name of ["json", "text", "headers", "required", "response"]) {
    if (wanted[name] !== undefined) {
      assertLike(answer[name], wanted[name], name);
    }
  }
}
