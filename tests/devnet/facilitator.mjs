// The official x402 facilitator (packages @x402/core and @x402/evm) behind the HTTP interface that servers expect.
import { x402Facilitator } from "@x402/core/facilitator";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/facilitator";
import { readBody, sendJson, serve } from "./http.mjs";
import { createWallet } from "./wallet.mjs";
import { FACTORY } from "./wallets.mjs";

const BODY_LIMIT = 256 * 1024;

/** → {url, stats: {verify, settle, settled}, stop()} */
export async function startFacilitator({ rpcUrl, chainId, network, networkV1, key, port = 0 }) {
  const wallet = createWallet({ rpcUrl, chainId, key });
  const config = { eip6492AllowedFactories: [FACTORY] };
  const facilitator = new x402Facilitator()
    .register(network, new ExactEvmScheme(wallet, config))
    .registerV1(networkV1, new ExactEvmSchemeV1(wallet, config));
  const stats = { verify: 0, settle: 0, settled: 0 };

  const routes = {
    "GET /supported": async () => facilitator.getSupported(),
    "GET /stats": async () => stats,
    "POST /verify": async ({ paymentPayload, paymentRequirements }) => {
      stats.verify += 1;
      return facilitator.verify(paymentPayload, paymentRequirements);
    },
    "POST /settle": async ({ paymentPayload, paymentRequirements }) => {
      stats.settle += 1;
      const verdict = await facilitator.settle(paymentPayload, paymentRequirements);
      stats.settled += verdict.success ? 1 : 0;
      return verdict;
    },
  };

  const server = await serve(async (request, response) => {
    const route = routes[`${request.method} ${request.url}`];
    if (!route) {
      sendJson(response, 404, { error: "no such route" });
      return;
    }
    const body = await readBody(request, BODY_LIMIT);
    if (body === null) {
      sendJson(response, 413, { error: `body longer than ${BODY_LIMIT} bytes` });
      return;
    }
    const question = request.method === "POST" ? parseQuestion(body) : {};
    if (!question) {
      sendJson(response, 400, { error: "wanted: JSON with the objects paymentPayload and paymentRequirements" });
      return;
    }
    // What the packages throw on a malformed payload becomes a 500, as with the public facilitators.
    sendJson(response, 200, await route(question));
  }, port);

  return { url: server.url, stats, stop: server.stop };
}

function parseQuestion(body) {
  const isObject = (value) => typeof value === "object" && value !== null;
  try {
    const question = JSON.parse(body.toString("utf8"));
    return isObject(question?.paymentPayload) && isObject(question?.paymentRequirements) ? question : null;
  } catch {
    return null;
  }
}
