// A buyer that pays with the released x402 v2 client, as a library and as a program:
//   node client.mjs pay URL (--key HEX | --devnet FILE [--payer N]) [--body TEXT] [--header 'Name: value']
//                         [--method M] [--ca FILE]
//   node client.mjs balance ADDRESS --devnet FILE
// --devnet is the file that devnet.mjs --out wrote. Prints JSON; `pay` ends with 0 when the answer is 2xx, else with 1.
import { readFileSync } from "node:fs";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { registerExactEvmScheme } from "@x402/evm/exact/client";
import { appendPaymentIdentifierToExtensions } from "@x402/extensions/payment-identifier";
import { privateKeyToAccount } from "viem/accounts";
import { encodeHeader, readAnswer, requestInit, trustingFetch, watchPayments } from "./fetch.mjs";
import { isProgram, readOptions } from "./foreground.mjs";
import { balance } from "./rpc.mjs";

export { decodeHeader, encodeHeader, readAnswer, requestInit, trustingFetch } from "./fetch.mjs";
export { authorizationState, balance } from "./rpc.mjs";
export {
  encodeV1,
  encodeV2,
  highS,
  nowSeconds,
  payloadV1,
  payloadV2,
  randomNonce,
  rebuilt,
  recoveryId,
  signV2,
} from "./sign.mjs";

/**
 * The official client around `baseFetch`: a fetch that pays when it is asked to. `paymentId`: with the released extension
 * payment-identifier, where the seller offers it.
 */
export function payingFetch(key, baseFetch = fetch, { paymentId } = {}) {
  const client = registerExactEvmScheme(new x402Client(), { signer: privateKeyToAccount(key) });
  if (paymentId) {
    client.onBeforePaymentCreation(async ({ paymentRequired }) => {
      appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, paymentId);
    });
  }
  return wrapFetchWithPayment(baseFetch, client);
}

/** A payment of what a 402 requires (the decoded PAYMENT-REQUIRED), signed by the official client → its header {name: value} */
export async function paymentFor(required, key) {
  const client = registerExactEvmScheme(new x402Client(), { signer: privateKeyToAccount(key) });
  return { "PAYMENT-SIGNATURE": encodeHeader(await client.createPaymentPayload(required)) };
}

/**
 * One paid request → what readAnswer says, and `payment`, the header {name, value} that was sent (null when none was).
 * `body`: an object goes as JSON. `ca`: a file of CA certificates. `fetchOptions`: for fetch, a signal for instance.
 */
export async function payV2({ url, key, method, body, headers, ca, fetchOptions, paymentId }) {
  const watched = watchPayments(trustingFetch(ca), fetchOptions);
  const response = await payingFetch(key, watched.fetch, { paymentId })(url, requestInit({ method, body, headers }));
  return { ...(await readAnswer(response)), payment: watched.seen.payment };
}

async function main() {
  const { values, positionals } = readOptions({
    allowPositionals: true,
    options: {
      body: { type: "string" },
      header: { type: "string", multiple: true, default: [] },
      method: { type: "string" },
      ca: { type: "string" },
      key: { type: "string" },
      devnet: { type: "string" },
      payer: { type: "string", default: "0" },
    },
  });
  const devnet = values.devnet ? JSON.parse(readFileSync(values.devnet, "utf8")) : null;
  const [command, target] = positionals;

  if (command === "pay" && target && (values.key || devnet)) {
    const answer = await payV2({
      url: target,
      key: values.key ?? devnet.payers[Number(values.payer)].privateKey,
      method: values.method,
      body: values.body,
      headers: Object.fromEntries(values.header.map(splitHeader)),
      ca: values.ca,
    });
    console.log(JSON.stringify(answer));
    process.exitCode = answer.status >= 200 && answer.status < 300 ? 0 : 1;
  } else if (command === "balance" && target && devnet) {
    const atomic = await balance(devnet.rpcUrl, devnet.asset, target);
    console.log(JSON.stringify({ address: target, atomic: String(atomic), decimals: devnet.assetDecimals }));
  } else {
    console.error("usage: client.mjs pay URL (--key HEX | --devnet FILE) … | balance ADDRESS --devnet FILE");
    process.exitCode = 2;
  }
}

function splitHeader(line) {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

if (isProgram(import.meta.url)) {
  await main();
}
