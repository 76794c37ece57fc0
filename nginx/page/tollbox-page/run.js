// A paid request, sent until it is answered: always the same bytes with the same payment and key.
import { refusal } from "./service.js";
import { Refusal } from "./words.js";

const ATTEMPTS = 6;
const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

// What says for certain that this payment buys nothing, or that what it bought cannot be had.
const isFinal = (error) => error instanceof Refusal && ([400, 402, 409].includes(error.status) || error.isLast);

/** The answer did not come, and nothing says that it never will. */
export class Unanswered extends Error {
  constructor(cause) {
    super("no answer", { cause });
  }
}

/**
 * record: see pending.js; told: {event(type, data), waits(seconds, error)}, called while it goes on.
 * → the result; throws a Refusal that is final, or Unanswered.
 */
export async function run(record, told) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(record, told);
    } catch (error) {
      if (isFinal(error)) {
        throw error;
      }
      if (attempt === ATTEMPTS) {
        throw new Unanswered(error);
      }
      const pause = error.retryAfter ? error.retryAfter * 1000 : PAUSE_MS * 2 ** (attempt - 1);
      const ms = Math.min(pause, LONGEST_PAUSE_MS);
      told.waits(ms / 1000, error);
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }
}

async function once({ body, key, payment }, told) {
  const response = await fetch("execute", {
    method: "POST",
    headers: {
      Accept: "application/x-ndjson",
      "Content-Type": "application/json",
      "Idempotency-Key": key,
      "PAYMENT-SIGNATURE": payment,
    },
    body,
  });
  if (!response.ok) {
    const error = await refusal(response);
    // A 500 that is stored is what the run ended as, after three starts.
    error.isLast = response.status === 500 && response.headers.get("Idempotency-Replayed") === "true";
    throw error;
  }
  for await (const { type, data } of lines(response.body)) {
    if (type === "result") {
      return data;
    }
    if (type === "error") {
      throw new Refusal({ status: 500, ...data });
    }
    told.event(type, data);
  }
  throw new Error("the answer ended too early");
}

async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    yield* parts.filter(Boolean).map((line) => JSON.parse(line));
  }
}
