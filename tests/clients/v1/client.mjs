// A buyer that pays with the released x402 v1 client (package x402-fetch).
//   node client.mjs URL --key HEX [--body TEXT] [--ca FILE]     prints the answer as JSON; ends with 0 when it is 2xx
import { createSigner, wrapFetchWithPayment } from "x402-fetch";
import { readAnswer, requestInit, trustingFetch, watchPayments } from "../../devnet/fetch.mjs";
import { isProgram, readOptions } from "../../devnet/foreground.mjs";

/** As payV2: one paid request → what readAnswer says, and `payment`, the header {name, value} that was sent. */
export async function payV1({ url, key, method, body, headers, ca, fetchOptions, network = "base-sepolia" }) {
  const watched = watchPayments(trustingFetch(ca), fetchOptions);
  const payingFetch = wrapFetchWithPayment(watched.fetch, await createSigner(network, key));
  const response = await payingFetch(url, requestInit({ method, body, headers }));
  return { ...(await readAnswer(response)), payment: watched.seen.payment };
}

if (isProgram(import.meta.url)) {
  const { values, positionals } = readOptions({
    allowPositionals: true,
    options: { key: { type: "string" }, body: { type: "string" }, ca: { type: "string" } },
  });
  const [url] = positionals;
  if (!url || !values.key) {
    console.error("usage: client.mjs URL --key HEX [--body TEXT] [--ca FILE]");
    process.exit(2);
  }
  const answer = await payV1({ url, ...values });
  console.log(JSON.stringify(answer));
  process.exitCode = answer.status >= 200 && answer.status < 300 ? 0 : 1;
}
