// Plain CGI hosting through libfcgi's cgi-fcgi and the shipped script: under Apache's mod_cgid, and under nginx with fcgiwrap.
import assert from "node:assert/strict";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { apacheFront, assertCut, assertOwnAnswer, fcgiwrapFront, startHalf, startSilence, throughFront } from "./fronts.mjs";
import { HELLO, OWNER } from "./world.mjs";

export default async function cgi(test, world) {
  const { send } = world;
  const silence = await startSilence(world);
  const half = await startHalf(world);
  const under = (name) => (title, work, options) => test(`${name}: ${title}`, work, options);

  const host = (name, lines, patch) => ({ name, include: "tollbox-cgi.conf", lines, patch });
  const apache = await apacheFront(world, {
    cgi: true,
    hosts: [
      host("owner", `SetEnv TOLLBOX_PAY_TO ${OWNER}\n  SetEnv TOLLBOX_PUBLIC_URL https://owner.example`),
      host("away", `Define TOLLBOX_SOCKET ${world.folder}/nobody.sock`),
      host("half", `Define TOLLBOX_SOCKET ${half.socket}\n  KeepAliveTimeout 1`),
      host("silent", `Define TOLLBOX_SOCKET ${silence.socket}`, [/CGIDScriptTimeout 600s/, "CGIDScriptTimeout 1s"]),
    ],
  });
  await throughFront(under("Apache"), world, { ...apache.urls.main, lengthless: false });
  await under("Apache")("a site of its own by SetEnv", async () => {
    const { required } = await send({ base: apache.urls.owner.http, body: HELLO });
    assert.deepEqual([required.accepts[0].payTo, required.resource.url], [getAddress(OWNER), "https://owner.example/execute"]);
  });
  await under("Apache")("the daemon is away: 502 in the same form", async () => {
    assertOwnAnswer(await send({ base: apache.urls.away.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 502);
  });
  await under("Apache")("the daemon says nothing: 504 in the same form", async () => {
    assertOwnAnswer(await send({ base: apache.urls.silent.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 504);
  });
  await under("Apache")("the daemon dies in the middle of an answer: the connection ends", () => assertCut(apache.urls.half.http));
  await apache.stop();

  const wrapped = await fcgiwrapFront(world, half.socket);
  await throughFront(under("fcgiwrap"), world, { ...wrapped.urls.main, repeats: false });
  await under("fcgiwrap")("the daemon is away: 502 in the same form", async () => {
    assertOwnAnswer(await send({ base: wrapped.urls.away.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 502);
  });
  await under("fcgiwrap")("the daemon dies in the middle of an answer: the connection ends", () => assertCut(wrapped.urls.half.http));
  await wrapped.stop();

  await Promise.all([silence.stop(), half.stop()]);
}
