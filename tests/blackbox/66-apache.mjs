// Apache 2.4 with the shipped files, by mod_proxy_fcgi: whole virtual hosts and hosts of other things, its own answers, and
// settings of a site.
import assert from "node:assert/strict";
import { readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { STRANGER, apacheFront, assertCut, assertOwnAnswer, startHalf, startSilence, throughFront } from "./fronts.mjs";
import { assertRefused } from "./shape.mjs";
import { HELLO, OWNER } from "./world.mjs";

export default async function apache(test, world) {
  const { send } = world;
  const silence = await startSilence(world);
  const half = await startHalf(world);
  const impatient = [/timeout=600/, "timeout=1"];
  const front = await apacheFront(world, {
    hosts: [
      { name: "owner", include: "tollbox.conf", lines: `SetEnv TOLLBOX_PAY_TO ${OWNER}\n  SetEnv TOLLBOX_PUBLIC_URL https://owner.example\n  SetEnv TOLLBOX_PRICES "small=$0.002"\n  SetEnv TOLLBOX_TIERS "small large"` },
      { name: "chosen", include: "tollbox.conf", lines: `ProxyFCGISetEnvIf "true" TOLLBOX_PAY_TO "${OWNER}"\n  ProxyFCGISetEnvIf "true" TOLLBOX_PUBLIC_URL "https://chosen.example"` },
      { name: "metrics", include: "tollbox.conf", lines: `<Location "/metrics">\n    ProxyPass "unix:${world.socket}|fcgi://tollbox/metrics"\n    SetEnv TOLLBOX_METRICS on\n    Require local\n  </Location>` },
      { name: "broken", include: "tollbox.conf", lines: "SetEnv TOLLBOX_PAY_TO nonsense" },
      { name: "away", lines: `Define TOLLBOX_SOCKET ${world.folder}/nobody.sock` },
      { name: "half", lines: `Define TOLLBOX_SOCKET ${half.socket}\n  KeepAliveTimeout 1` },
      { name: "silent", lines: `Define TOLLBOX_SOCKET ${silence.socket}`, patch: impatient },
    ],
  });
  const { main, owner, chosen, broken, away, silent } = front.urls;

  await throughFront(test, world, { ...main, lengthless: false, header: 15_900 });

  await test("its routes are those of the nginx file", () => {
    const shipped = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    const nginx = [...shipped("nginx/tollbox.conf").matchAll(/^location = (\S+) \{\n\tinclude tollbox-pass.conf;/gm)].map(([, path]) => path);
    const [, routes] = /Define TOLLBOX_ROUTES "(.*)"/.exec(shipped("apache/tollbox-common.conf"));
    assert.deepEqual(routes.split("|").map((route) => `/${route.replaceAll("\\.", ".")}`).sort(), nginx.sort());
  });

  await test("what is none of Tollbox's in a host of other things stays Apache's", async () => {
    const answer = await send({ base: owner.http, path: "/nothing", method: "GET" });
    assert.equal(answer.status, 404);
    assert.match(answer.headers["content-type"], /^text\/html/);
    assertRefused(await send({ base: main.http, path: "/nothing", method: "GET" }), "REQUEST_MALFORMED", { status: 404 });
  });

  for (const path of ["/.tollbox/error/size.json", "/.tollbox/error/", "//execute", "/execute/", "/execute%2f", "/.tollbox/error/none"]) {
    await test(`${path}: 404, paid or not`, async () => {
      const payer = world.nextPayer();
      const headers = await world.payment({ payer });
      assertRefused(await world.free(payer, () => send({ base: main.http, path, headers, body: HELLO })), "REQUEST_MALFORMED", { status: 404 });
    });
  }

  await test("a site of its own by SetEnv: recipient, price, address, and its money", async () => {
    const { required } = await send({ base: owner.http, body: HELLO });
    assert.deepEqual([required.accepts[0].payTo, required.accepts[0].amount, required.resource.url], [getAddress(OWNER), "2000", "https://owner.example/execute"]);
    const before = await world.held(OWNER);
    const answer = await send({ base: owner.http, body: HELLO, headers: await world.paymentOf(required.accepts[0]) });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await world.held(OWNER)) - before, 2000n);
  });

  await test("a site of its own by ProxyFCGISetEnvIf", async () => {
    const { required } = await send({ base: chosen.http, body: HELLO });
    assert.deepEqual([required.accepts[0].payTo, required.resource.url], [getAddress(OWNER), "https://chosen.example/execute"]);
  });

  await test("a client sets nothing of a site that has settings", async () => {
    for (const base of [owner.http, chosen.http]) {
      const { required } = await send({ base, body: HELLO, headers: { "TOLLBOX-PAY-TO": STRANGER, TOLLBOX_PAY_TO: STRANGER, "Redirect-Tollbox-Pay-To": STRANGER } });
      assert.equal(required.accepts[0].payTo, getAddress(OWNER));
    }
  });

  await test("a site whose settings are wrong says so, and the log says where", async () => {
    assertRefused(await send({ base: broken.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE");
    const { port } = new URL(broken.http);
    assert.match(readFileSync(world.logFile, "utf8"), new RegExp(`location are wrong \\(server 127.0.0.1, port ${port}, /execute\\): .*TOLLBOX_PAY_TO`));
  });

  await test("the counters, where the operator guide's lines are, and nowhere else", async () => {
    const answer = await send({ base: front.urls.metrics.http, path: "/metrics", method: "GET" });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.text, /^tollbox_/m);
    assert.equal((await send({ base: front.urls.metrics.http, body: HELLO })).status, 402);
    assertRefused(await send({ base: main.http, path: "/metrics", method: "GET" }), "REQUEST_MALFORMED", { status: 404 });
  });

  await test("the daemon is away: 503 in the same form, and at once when it is back", async () => {
    assertOwnAnswer(await send({ base: away.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 503);
    symlinkSync(world.socket, join(world.folder, "nobody.sock"));
    assert.equal((await send({ base: away.http, body: HELLO })).status, 402);
    rmSync(join(world.folder, "nobody.sock"));
  });

  await test("the daemon says nothing: 504 in the same form", async () => {
    assertOwnAnswer(await send({ base: silent.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 504);
  });

  await test("the daemon dies in the middle of an answer: the connection ends", () => assertCut(front.urls.half.http));

  await test("an address and a header that are too long, TRACE, no HTTP: in the same form", async () => {
    assertOwnAnswer(await send({ base: main.http, path: `/${"a".repeat(40000)}`, method: "GET" }), "REQUEST_MALFORMED", 414);
    assertOwnAnswer(await send({ base: main.http, headers: { "PAYMENT-SIGNATURE": "A".repeat(40000) }, body: HELLO }), "REQUEST_MALFORMED", 400);
    const trace = await send({ base: main.http, method: "TRACE" });
    assertOwnAnswer(trace, "REQUEST_MALFORMED", 405);
    assert.match(trace.headers.allow, /POST/);
  });

  await front.stop();
  await Promise.all([silence.stop(), half.stop()]);
}
