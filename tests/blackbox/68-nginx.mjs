// The table that every web server has to pass, through nginx; what nginx says itself when the daemon does not answer.
import { assertOwnAnswer, nginxFront, startSilence, throughFront } from "./fronts.mjs";
import { HELLO } from "./world.mjs";

export default async function nginx(test, world) {
  const { send } = world;
  const silence = await startSilence(world);
  const front = await nginxFront(world, {
    hosts: [
      { name: "away", lines: `set $tollbox_backend unix:${world.folder}/nobody.sock;` },
      { name: "silent", lines: `set $tollbox_backend unix:${silence.socket};`, patch: [/fastcgi_read_timeout 600s/, "fastcgi_read_timeout 1s"] },
    ],
  });

  await throughFront(test, world, front.urls.main);

  await test("the daemon is away: 502 in the same form", async () => {
    assertOwnAnswer(await send({ base: front.urls.away.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 502);
  });

  await test("the daemon says nothing: 504 in the same form", async () => {
    assertOwnAnswer(await send({ base: front.urls.silent.http, body: HELLO }), "SERVICE_INTERNAL_FAILURE", 504);
  });

  await front.stop();
  await silence.stop();
}
