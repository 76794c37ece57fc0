// A seller by hand, for the self-test: one price, one route, both versions, verify and settle at a facilitator.
import { decodeHeader, encodeHeader } from "./fetch.mjs";
import { readBody, sendJson } from "./http.mjs";

const BODY_LIMIT = 64 * 1024;

/** The element of `accepts` that a devnet's seller offers, in both versions. */
export function offers(devnet, amount, resource) {
  const common = {
    scheme: "exact",
    asset: devnet.asset,
    payTo: devnet.payTo,
    maxTimeoutSeconds: 300,
    extra: { name: devnet.assetName, version: devnet.assetVersion },
  };
  return {
    v2: { ...common, network: devnet.network, amount },
    v1: {
      ...common,
      network: devnet.networkV1,
      maxAmountRequired: amount,
      resource,
      description: "A test",
      mimeType: "application/json",
    },
  };
}

export async function ask(facilitatorUrl, endpoint, paymentPayload, paymentRequirements) {
  const response = await fetch(`${facilitatorUrl}/${endpoint}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements }),
  });
  return response.json();
}

/** A request handler for `serve` that sells an echo of the request's body. */
export function createSeller(devnet, { amount, resource }) {
  const { v2, v1 } = offers(devnet, amount, resource);

  function demand(response, error) {
    const required = {
      x402Version: 2,
      error,
      resource: { url: resource, description: "A test", mimeType: "application/json" },
      accepts: [v2],
    };
    sendJson(
      response,
      402,
      { x402Version: 1, error, accepts: [v1] },
      { "payment-required": encodeHeader(required), "cache-control": "no-store" },
    );
  }

  return async (request, response) => {
    const echo = (await readBody(request, BODY_LIMIT)).toString("utf8");
    const isV2 = "payment-signature" in request.headers;
    const payment = decodeHeader(request.headers[isV2 ? "payment-signature" : "x-payment"]);
    if (!payment) {
      demand(response, "Payment required");
      return;
    }
    const offer = isV2 ? v2 : v1;
    const verified = await ask(devnet.facilitatorUrl, "verify", payment, offer);
    if (!verified.isValid) {
      demand(response, verified.invalidReason);
      return;
    }
    const settled = await ask(devnet.facilitatorUrl, "settle", payment, offer);
    if (!settled.success) {
      demand(response, settled.errorReason);
      return;
    }
    sendJson(response, 200, { echo }, { [isV2 ? "payment-response" : "x-payment-response"]: encodeHeader(settled) });
  };
}
