// Server blocks with settings of their own before one daemon (api.md section 11). The blocks are in world.mjs.
import assert from "node:assert/strict";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { encodeV2, signV2 } from "../devnet/client.mjs";
import { assertRefused } from "./shape.mjs";
import { HELLO, OWNER } from "./world.mjs";

export default async function sites(test, world) {
  const { owner, twin, quotesOnly, broken, daring, own } = world.siteUrls;
  const offerOf = async (base, body = HELLO) => (await world.send({ base, body })).required;
  const pay = async (requirements, payer) => encodeV2({ requirements, payload: await signV2(requirements, payer.privateKey) });

  await test("a site has its own recipient, price and address", async () => {
    const { accepts, resource } = await offerOf(owner);
    assert.equal(resource.url, "https://owner.example/execute");
    assert.deepEqual([accepts[0].payTo, accepts[0].amount], [getAddress(OWNER), "2000"]);
    assert.equal((await world.requirement()).payTo, world.info.payTo, "and the others have theirs");
  });

  await test("a paid run there pays its owner", async () => {
    const payer = world.nextPayer();
    const [requirements] = (await offerOf(owner)).accepts;
    const before = await world.held(OWNER);
    const answer = await world.send({ base: owner, body: HELLO, headers: await pay(requirements, payer) });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.receipt.priceUsd, 0.002);
    assert.equal(answer.json.receipt.price, "$0.0020");
    assert.equal((await world.held(OWNER)) - before, 2000n);
  });

  await test("its tiers and runtimes are those it offers", async () => {
    const medium = await world.send({ base: owner, path: "/quote", body: { limits: { timeoutMs: 10001 } } });
    assert.equal(medium.json.tier, "large", "there is no medium there");
    assertRefused(await world.send({ base: owner, path: "/quote", body: { runtime: "node" } }), "RUNTIME_UNSUPPORTED");
  });

  await test("a payment for one site buys nothing at another", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    assertRefused(await world.free(payer, () => world.send({ base: owner, body: HELLO, headers })), "PAYMENT_REQUIREMENTS_MISMATCH");
  });

  await test("a payment that was used at one site is used up at its twin", async () => {
    const first = await world.run(HELLO);
    assertRefused(await world.free(first.payer, () => world.send({ base: twin, body: first.body, headers: first.header })), "PAYMENT_REPLAYED");
  });

  await test("a route that a site does not offer is unknown there", async () => {
    assert.equal((await world.send({ base: quotesOnly, path: "/quote", body: {} })).status, 200);
    assertRefused(await world.send({ base: quotesOnly, body: HELLO }), "REQUEST_MALFORMED", { status: 404 });
  });

  await test("a site whose settings are wrong says so, and the others go on", async () => {
    assertRefused(await world.send({ base: broken, body: HELLO }), "SERVICE_INTERNAL_FAILURE");
    assertRefused(await world.send({ base: broken, path: "/quote", body: {} }), "SERVICE_INTERNAL_FAILURE");
    assert.equal((await world.send({ body: HELLO })).status, 402);
  });

  await test("a location may set the site's names by fastcgi_param", async () => {
    const { accepts, resource } = await offerOf(own);
    assert.deepEqual([resource.url, accepts[0].amount], ["https://own.example/execute", "3000"]);
  });

  await test("a location cannot set what is the daemon's alone", async () => {
    assertRefused(await world.send({ base: daring, body: HELLO }), "SERVICE_INTERNAL_FAILURE");
  });
}
