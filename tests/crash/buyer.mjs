// One job as a caller sees it: pays once, repeats the same request with the same payment until it has the answer, and signs
// a new payment only where a conforming client would: when it is answered 402. Some send an Idempotency-Key; of these some
// are naive and sign anew each time.
import { setTimeout as sleep } from "node:timers/promises";
import { encodeV1, encodeV2, nowSeconds, signV2 } from "../devnet/client.mjs";

export const PRICE = 1000n;
const PAUSE_MS = 40;
const NAIVE_PAUSE_MS = 200;
/** What nobody settles is open until then, and the accounts wait for it. */
const VALID_S = 45;
/** nginx keeps a connection on which half an answer came open for 75 s when the gate dies just then. */
const PATIENCE_MS = 3000;
const NDJSON = "application/x-ndjson";

/** What callers ask for; each prints a mark of its own, so that no answer can be taken for another's. */
const KINDS = [
  { runtime: "bash", source: (mark) => `echo ${mark}`, prints: (mark) => `${mark}\n` },
  { runtime: "bash", source: (mark) => `echo ${mark}; sleep 0.2`, prints: (mark) => `${mark}\n` },
  { runtime: "python3", source: (mark) => `print("${mark}")`, prints: (mark) => `${mark}\n` },
  // Larger than what one write takes to the web server, so that there is a half of an answer.
  {
    runtime: "bash",
    source: (mark) => `echo ${mark}; for i in {1..300}; do printf '%01000d' 0; done`,
    prints: (mark) => `${mark}\n${"0".repeat(300_000)}`,
  },
];

let count = 0;

/**
 * only: {runtime, source, prints}, the one program that it shall be
 * → {mark, payer, body, prints, live, version, authorizations, …}; version: of x402; live: asks for the output while it runs
 */
export function createJob(payers, random, only) {
  const number = count++;
  const keyed = !only && random() < 0.25;
  const mark = `mark-${number}-${Math.floor(random() * 2 ** 32)}`;
  const kind = only
    ? { ...only, source: () => `${only.source} # ${mark}`, prints: () => only.prints }
    : KINDS[Math.floor(random() * KINDS.length)];
  return {
    mark,
    payer: payers[number % payers.length],
    body: JSON.stringify({ runtime: kind.runtime, source: kind.source(mark) }),
    prints: kind.prints(mark),
    version: random() < 0.25 ? 1 : 2,
    live: random() < 0.25,
    key: keyed ? `key-${mark}-`.padEnd(40, "k") : null,
    naive: keyed && random() < 0.5,
    authorizations: [], // of every payment that was signed for it
    answer: null, // the first whole one, its bytes
    tries: 0,
    wrong: [], // what no caller should ever see
    last: "",
  };
}

async function sign(job, offers) {
  const requirements = offers[job.version];
  const payload = await signV2(requirements, job.payer.privateKey, { validBefore: nowSeconds() + VALID_S });
  job.authorizations.push(payload.authorization);
  job.header = job.version === 2 ? encodeV2({ requirements, payload }) : encodeV1({ requirements, payload });
}

// The answer's object, from either form; null when it is not whole.
function resultOf(answer, live) {
  if (!live || answer.headers["content-type"] !== NDJSON) {
    return { text: answer.text, json: answer.json };
  }
  const lines = answer.text.split("\n").filter(Boolean);
  const line = lines.find((one) => one.startsWith('{"type":"result"'));
  const error = lines.find((one) => one.startsWith('{"type":"error"'));
  try {
    return line ? { json: JSON.parse(line).data } : { failed: error ?? "the stream ended early" };
  } catch {
    return { failed: "the stream was cut in its last line" };
  }
}

const headersOf = ({ header, live, key }) => ({
  ...header,
  ...(live ? { Accept: NDJSON } : {}),
  ...(key ? { "Idempotency-Key": key } : {}),
});

/** One request → "answered", "again" (the same once more), "sign" (402), or "refused" (what must not happen to it). */
export async function ask(job, service, offers) {
  if (!job.header) {
    await sign(job, offers);
  }
  job.tries += 1;
  let answer;
  try {
    answer = await service.send({ body: job.body, abortAfterMs: PATIENCE_MS, headers: headersOf(job) });
  } catch (error) {
    job.last = `no answer: ${error.code ?? error.message}`;
    return "again";
  }
  const code = answer.json?.error?.code ?? answer.json?.details?.code ?? "";
  job.last = `${answer.status} ${code}`;
  if (answer.status === 402) {
    return "sign";
  }
  if (answer.status !== 200) {
    return answer.status >= 500 ? "again" : "refused";
  }
  const result = resultOf(answer, job.live);
  if (!result.json) {
    job.last = result.failed ?? "no JSON";
    return "again";
  }
  take(job, result.json);
  return "answered";
}

// The same answer each time: the signed receipt and the output tell.
function take(job, json) {
  const { stdout, outcome, payment, receipt } = json;
  const kept = JSON.stringify({ stdout, outcome, payment, receipt });
  if (outcome !== "completed" || stdout !== job.prints) {
    job.wrong.push(`another answer: ${outcome} ${String(stdout).slice(0, 80)}`);
  }
  if (job.answer !== null && job.answer !== kept) {
    job.wrong.push("the answer changed");
  }
  job.answer ??= kept;
}

/** Asks until there is an answer; gives up when `stop` says so → the last outcome */
export async function askUntilAnswered(job, service, offers, stop) {
  for (;;) {
    const outcome = await ask(job, service, offers);
    if (outcome === "answered") {
      return outcome;
    }
    if (outcome === "refused") {
      job.wrong.push(job.last);
      return outcome;
    }
    if (stop(job)) {
      return outcome;
    }
    if (outcome === "sign" || job.naive) {
      await sign(job, offers);
    }
    await sleep(job.naive ? NAIVE_PAUSE_MS : PAUSE_MS);
  }
}
