// Server blocks with settings of their own before one daemon (api.md section 11). The blocks are in world.mjs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { assertRefused } from "./shape.mjs";
import { HELLO, OWNER } from "./world.mjs";

export default async function sites(test, world) {
  const { owner, twin, quotesOnly, broken, daring, own, twice, hosts } = world.siteUrls;
  const begin = readFileSync(world.logFile, "utf8").length;
  const logged = (pattern) => readFileSync(world.logFile, "utf8").slice(begin).split("\n").filter((line) => pattern.test(line));
  const offerOf = async (base, body = HELLO) => (await world.send({ base, body })).required;

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
    const answer = await world.send({ base: owner, body: HELLO, headers: await world.paymentOf(requirements, payer) });
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

  await test("the log tells it once, with the location and the setting", async () => {
    await world.send({ base: broken, body: HELLO });
    const lines = logged(new RegExp(`location are wrong \\(server [^,]*, port ${new URL(broken).port}, `));
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(lines[0], /\/execute\): .*TOLLBOX_PAY_TO/);
  });

  await test("in the form of the route's dialect too", async () => {
    for (const [path, method] of [["/v1/code", "POST"], ["/v1/health", "GET"]]) {
      const { status, json } = await world.send({ base: broken, path, method });
      assert.deepEqual([status, json.details.code, json.error], [500, "SERVICE_INTERNAL_FAILURE", json.details.message]);
    }
  });

  await test("a location may set the site's names by fastcgi_param", async () => {
    const { accepts, resource } = await offerOf(own);
    assert.deepEqual([resource.url, accepts[0].amount], ["https://own.example/execute", "3000"]);
  });

  await test("a location cannot set what is the daemon's alone", async () => {
    assertRefused(await world.send({ base: daring, body: HELLO }), "SERVICE_INTERNAL_FAILURE");
  });

  await test("a setting that comes twice is refused, whatever the web server thinks of it", async () => {
    assertRefused(await world.send({ base: twice, body: HELLO }), "SERVICE_INTERNAL_FAILURE");
    assert.equal(logged(/TOLLBOX_PRICES is given twice/).length, 1);
  });

  await test("a client sets nothing, by whatever header", async () => {
    const stolen = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const names = ["TOLLBOX_PAY_TO", "TOLLBOX-PAY-TO", "Tollbox-Pay-To", "HTTP_TOLLBOX_PAY_TO", "X-TOLLBOX_PAY_TO", "Proxy", "Redirect-Tollbox-Pay-To", "CONTENT_TYPE"];
    const headers = names.flatMap((name) => [name, stolen]);
    const path = `/execute?TOLLBOX_PAY_TO=${stolen}&tollbox_pay_to=${stolen}`;
    for (const base of [undefined, owner]) {
      const { status, required } = await world.send({ base, path, headers, body: HELLO });
      assert.equal(status, 402);
      assert.equal(required.accepts[0].payTo, base ? getAddress(OWNER) : world.info.payTo);
    }
  });

  await test("sites made of the Host that a client chooses cost no memory, and shut nobody out", async () => {
    const held = () => Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${world.processes().gate.pid}/status`, "utf8"))[1]);
    const send = async (n) => {
      const { status, required } = await world.send({ base: hosts, headers: { Host: `h${n}.example` }, body: HELLO });
      assert.deepEqual([status, required?.resource.url], [402, `https://h${n}.example/execute`]);
    };
    const many = async (from, to) => {
      for (let n = from; n < to; n += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, i) => send(n + i)));
      }
    };
    await many(0, 400);
    // A leak grows with each batch; threads that were never all busy before, and what others left, grow once.
    const grown = [];
    do {
      const before = held();
      const from = 400 + 800 * grown.length;
      await many(from, from + 800);
      grown.push(held() - before);
    } while (grown.at(-1) >= 4096 && grown.length < 5);
    assert.ok(grown.at(-1) < 4096, `${grown.join(", ")} kB more`);
    assert.equal((await world.send({ base: owner, body: HELLO })).required.accepts[0].payTo, getAddress(OWNER));
    assert.equal(logged(/different sets of TOLLBOX_\* parameters/).length, 1);
  });
}
