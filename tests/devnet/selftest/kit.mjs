// What the parts of the self-test share: the counting of checks, a devnet with a seller, and payments asked for by hand.
import { balance, payloadV1, payloadV2, signV2 } from "../client.mjs";
import { startDevnet } from "../devnet.mjs";
import { serve } from "../http.mjs";
import { ask, createSeller, offers } from "../seller.mjs";

export const PRICE = "10000";
export const PRICE_ATOMIC = BigInt(PRICE);

export const tally = { passed: 0, failed: 0 };

export async function check(name, test) {
  try {
    await test();
    tally.passed += 1;
    console.log(`ok   ${name}`);
  } catch (error) {
    tally.failed += 1;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}

export async function openMarket() {
  const devnet = await startDevnet();
  const { info } = devnet;
  let handler;
  const server = await serve((request, response) => handler(request, response));
  const url = `${server.url}/execute`;
  const { v2, v1 } = offers(info, PRICE, url);
  const held = (address) => balance(info.rpcUrl, info.asset, address);

  // The seller asks whichever facilitator it was pointed at last.
  const sellThrough = (facilitatorUrl) => {
    handler = createSeller({ ...info, facilitatorUrl }, { amount: PRICE, resource: url });
  };
  sellThrough(info.facilitatorUrl);

  return {
    info,
    url,
    v2,
    v1,
    held,
    sellThrough,
    payer: info.payers[0],
    handle: (request, response) => handler(request, response),

    /** Signs with the first payer's key and asks a facilitator, the devnet's own by default. */
    async direct(endpoint, overrides, { version = 2, facilitatorUrl = info.facilitatorUrl } = {}) {
      const requirements = version === 2 ? v2 : v1;
      const payload = await signV2(requirements, info.payers[0].privateKey, overrides);
      const make = version === 2 ? payloadV2 : payloadV1;
      return ask(facilitatorUrl, endpoint, make({ requirements, payload }), requirements);
    },

    /** → {result of work(), atomic: what the seller holds more after it} */
    async earned(work) {
      const before = await held(info.payTo);
      const result = await work();
      return { result, atomic: (await held(info.payTo)) - before };
    },

    async close() {
      await server.stop();
      await devnet.stop();
    },
  };
}
