// The customer, on Debian's own Node.js; CLIENT is tests/devnet/client.mjs, DEVNET what the
// local chain has written:
//   node buyer.mjs pay URL CA FILE    a paid run by the official client; payment and answer go to FILE
//   node buyer.mjs again URL CA FILE  the same request with the same payment must get the stored answer
//   node buyer.mjs long URL CA FILE   a paid run of some seconds; makes FILE once the program runs, and ends with 0 if it
//                                     came to its end
import "./webcrypto.mjs";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

const { decodeHeader, payV2, paymentFor, readAnswer, requestInit, trustingFetch } = await import(process.env.CLIENT);
const key = JSON.parse(readFileSync(process.env.DEVNET, "utf8")).payers[0].privateKey;
const [command, site, ca, file] = process.argv.slice(2);
const url = `${site}/execute`;
const BODY = JSON.stringify({ runtime: "python3", source: "print(6 * 7)" });
const LONG = JSON.stringify({
  runtime: "python3",
  source: `import time
print("begun", flush=True)
time.sleep(4)
print("ended")`,
});

async function pay() {
  const { status, text, json, payment } = await payV2({ url, key, body: BODY, ca });
  assert.equal(status, 200, text);
  assert.equal(json.outcome, "completed", text);
  assert.equal(json.stdout, "42\n");
  writeFileSync(file, JSON.stringify({ payment, text }));
}

async function again() {
  const { payment, text } = JSON.parse(readFileSync(file, "utf8"));
  const init = requestInit({ body: BODY, headers: { [payment.name]: payment.value } });
  const answer = await readAnswer(await trustingFetch(ca)(url, init));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers["idempotency-replayed"], "true");
  assert.equal(answer.text, text);
}

async function long() {
  const ask = trustingFetch(ca);
  const unpaid = await ask(url, requestInit({ body: LONG }));
  const headers = {
    ...(await paymentFor(decodeHeader(unpaid.headers.get("payment-required")), key)),
    accept: "application/x-ndjson",
  };
  const response = await ask(url, requestInit({ body: LONG, headers }));
  assert.equal(response.status, 200);
  let result = null;
  for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
    const { type, data } = JSON.parse(line);
    if (type === "stdout") {
      writeFileSync(file, "");
    } else if (type === "result") {
      result = data;
    }
  }
  assert.equal(result?.outcome, "completed");
  assert.equal(result.stdout, "begun\nended\n");
}

await { pay, again, long }[command]();
