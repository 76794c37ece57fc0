// A facilitator that says yes at once and settles nothing: what is left of a paid request when its facilitator costs nothing.
import { randomBytes } from "node:crypto";
import { readBody, sendJson, serve } from "../devnet/http.mjs";

const BODY_LIMIT = 256 * 1024;

/** → {url, stop()} */
export async function startYes(network) {
  const supported = {
    kinds: [{ x402Version: 2, scheme: "exact", network }],
    extensions: [],
    signers: {},
  };
  const routes = {
    "GET /supported": () => supported,
    "POST /verify": ({ payer }) => ({ isValid: true, payer }),
    "POST /settle": ({ payer, amount }) => ({
      success: true,
      transaction: `0x${randomBytes(32).toString("hex")}`,
      network,
      payer,
      amount,
    }),
  };
  return serve(async (request, response) => {
    const route = routes[`${request.method} ${request.url}`];
    if (!route) {
      sendJson(response, 404, { error: "no such route" });
      return;
    }
    const body = await readBody(request, BODY_LIMIT);
    const { paymentPayload, paymentRequirements } = body?.length ? JSON.parse(body.toString("utf8")) : {};
    sendJson(response, 200, route({ payer: paymentPayload?.payload.authorization.from, amount: paymentRequirements?.amount }));
  });
}
