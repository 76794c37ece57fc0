// What a paying client must find behind any web server: one table, run through each of them (66 to 68). And the servers
// themselves beside the stack that runs, for whoever wants to send more through them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { chmodSync, readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import http2 from "node:http2";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { payV1 } from "../clients/v1/client.mjs";
import { payV2 } from "../devnet/client.mjs";
import { startApache, startFcgiwrap, startNginx } from "../harness/servers.mjs";
import { wake } from "../harness/stack.mjs";
import { assertCommon, assertError, assertRefused, assertRequired, assertRun } from "./shape.mjs";
import { NDJSON, SSE, joined, openStream, record, twoParts } from "./streams.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const MIB = 1024 * 1024;
export const STRANGER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

let folders = 0;
const settings = (world, more) => ({
  folder: join(world.folder, `server-${folders++}`),
  socket: world.socket,
  cert: world.stack.ca,
  key: world.stack.ca.replace(/cert\.pem$/, "key.pem"),
  ...more,
});

/** Apache before the world's daemon, by mod_proxy_fcgi or, with `cgi`, by cgi-fcgi → startApache()'s answer, host "main" */
export const apacheFront = (world, { cgi = false, hosts = [] } = {}) =>
  startApache(settings(world, { hosts: [{ name: "main", include: cgi ? "tollbox-cgi.conf" : "tollbox-server.conf" }, ...hosts] }));

export const nginxFront = (world, { hosts = [] } = {}) => startNginx(settings(world, { hosts: [{ name: "main" }, ...hosts] }));

/** nginx, fcgiwrap and cgi-fcgi before the world's daemon → as nginxFront(); hosts "away" and "half" are before one that is not there and a dying one. */
export async function fcgiwrapFront(world, half) {
  const wrap = await startFcgiwrap({ folder: join(world.folder, `server-${folders++}`) });
  const host = (name, socket, more = "") => ({ name, lines: `${more}set $tollbox_script ${wrap.script};\nset $tollbox_script_socket ${socket};` });
  const hosts = [host("main", world.socket), host("away", "/nonexistent/tollbox.sock"), host("half", half, "keepalive_timeout 1s;\n")];
  const front = await startNginx(settings(world, { socket: wrap.socket, hosts }));
  return {
    ...front,
    async stop() {
      await front.stop();
      await wrap.stop();
    },
  };
}

/** A daemon that does to each peer what `behave` does → {socket, stop()} */
async function startImpostor(world, behave) {
  const socket = join(world.folder, `impostor-${folders++}.sock`);
  const peers = new Set();
  const server = createServer((peer) => {
    peers.add(peer.on("error", () => {}).resume());
    behave(peer);
  });
  await new Promise((resolve) => server.listen(socket, resolve));
  chmodSync(socket, 0o666);
  return {
    socket,
    stop() {
      peers.forEach((peer) => peer.destroy());
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A daemon that takes requests and never answers → {socket, stop()} */
export const startSilence = (world) => startImpostor(world, () => {});

const HALF = "Status: 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n0123456789";
/** A daemon that dies in the middle of each answer → {socket, stop()} */
export const startHalf = (world) => startImpostor(world, (peer) => peer.once("data", () => peer.end(record(6, Buffer.from(HALF)))));

/** Half an answer ends with the connection, and that ends as an idle one does (here after 1 s): a client does not wait for the rest. */
export async function assertCut(base) {
  const begin = performance.now();
  const agent = new Agent({ keepAlive: true });
  const request = get(`${base}/version`, { agent });
  const [response] = await once(request, "response");
  assert.equal(response.headers["content-length"], "100");
  await assert.rejects(text(response), /aborted/);
  assert.ok(performance.now() - begin < 20_000, `after ${performance.now() - begin} ms`);
  agent.destroy();
}

/** An answer of the web server's own: its status differs from the code's, and it may say when to come again. */
export function assertOwnAnswer(answer, code, status) {
  assert.equal(answer.status, status, answer.text);
  assertCommon(answer);
  assert.match(answer.headers["content-type"], /^application\/json/);
  assert.equal(answer.headers["cache-control"], "no-store");
  assert.equal(answer.headers["retry-after"], status > 500 || code === "SERVICE_INTERNAL_FAILURE" ? "2" : undefined);
  assertError(answer.json.error, code);
}

/**
 * Runs the table through the server at {http, https}. What differs: `lengthless`, it passes bodies on that do not tell their
 * length (else it says 411); `header`, the length of a header that it passes on; `repeats`, the daemon learns of a header that
 * comes twice.
 */
export async function throughFront(test, world, { http, https, lengthless = true, header = 20_000, repeats = true }) {
  const { send } = world;
  const base = http;
  const { ca } = world.stack;
  const url = `${https}/execute`;
  const body = JSON.stringify(HELLO);

  await test("the free routes", async () => {
    for (const path of ["/health", "/version", "/.well-known/did.json", "/.well-known/jwks.json"]) {
      const answer = await world.patiently({ base: https, path, method: "GET" });
      assert.equal(answer.status, 200, path);
      assertCommon(answer);
      const head = await world.patiently({ base, path, method: "HEAD" });
      assert.deepEqual([head.status, head.bytes.length], [200, 0], path);
    }
  });

  await test("a 402 without a payment, in both forms; a quote", async () => {
    const answer = await send({ base, body });
    assert.equal(answer.status, 402);
    assertCommon(answer);
    assertRequired(answer);
    assert.equal(answer.required.accepts[0].payTo, world.info.payTo);
    assert.equal((await send({ base, path: "/quote", body: {} })).json.price, "$0.0010");
  });

  await test("a preflight, another method, HEAD", async () => {
    const preflight = await send({ base, method: "OPTIONS", headers: { Origin: "https://app.example", "Access-Control-Request-Method": "POST" } });
    assert.equal(preflight.status, 204);
    assertCommon(preflight);
    assertRefused(await send({ base, method: "PUT", body }), "REQUEST_MALFORMED", { status: 405 });
    assert.equal((await send({ base, method: "HEAD" })).status, 405);
  });

  await test("a paid run by the official v2 client, and its replay", async () => {
    const payer = world.nextPayer();
    const answer = await payV2({ url, key: payer.privateKey, body, headers: { "Content-Type": "application/json" }, ca });
    const header = answer.payment;
    assert.equal(answer.json.stdout, "hello\n", answer.text);
    const again = await send({ base, body, headers: [header.name, header.value] });
    assertRun(again, { world, body, payer, amount: "1000" });
    assert.deepEqual([again.text, again.headers["idempotency-replayed"]], [answer.text, "true"]);
  });

  await test("a paid run by the official v1 client", async () => {
    const payer = world.nextPayer();
    const answer = await payV1({ url, key: payer.privateKey, body, headers: { "Content-Type": "application/json" }, ca });
    assert.equal(answer.json?.stdout, "hello\n", answer.text);
  });

  await test("a body that is refused is not charged", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    assertRefused(await world.free(payer, () => send({ base, headers, body: { ...HELLO, sauce: 1 } })), "SANDBOX_INVALID_REQUEST");
  });

  await test("text that is not ASCII, both ways, byte for byte", async () => {
    const { stdout } = await world.run({ runtime: "python3", source: "print(input())", stdin: "Grüße 你好 \u{1f9f0}\n" }, { base });
    assert.equal(stdout, "Grüße 你好 \u{1f9f0}\n");
  });

  await test("a paid body of 20 MiB, and an answer of 8", async () => {
    const job = { runtime: "python3", source: `import sys\ndata = sys.stdin.read()\nprint(len(data), end='')\nprint('x' * ${8 * MIB}, end='')`, stdin: "y".repeat(15 * MIB), files: { a: "z".repeat(5 * MIB) }, limits: { maxOutputBytes: 9 * MIB, timeoutMs: 60_000 } };
    const { stdout } = await world.run(job, { base, amount: "20000" });
    assert.equal(stdout.length, 8 * MIB + 8);
    assert.ok(stdout.startsWith(String(15 * MIB)));
  });

  await test("32 MiB is not too long, a byte more is for the daemon, over 33 for the web server", async () => {
    const padded = Buffer.alloc(33 * MIB + 1, " ");
    padded.write(body);
    assert.equal((await send({ base, body: padded.subarray(0, 32 * MIB) })).status, 402);
    assertRefused(await send({ base, body: padded.subarray(0, 32 * MIB + 1) }), "REQUEST_MALFORMED", { status: 413, message: /33554432 bytes/ });
    // It may close while the body is still on its way.
    const answer = await send({ base, body: padded.subarray(0, 1000), headers: { "Content-Length": String(33 * MIB + 1), Expect: "100-continue" } });
    assertOwnAnswer(answer, "REQUEST_MALFORMED", 413);
  });

  await test(lengthless ? "a chunked body" : "a chunked body: 411", async () => {
    const answer = await send({ base, body, headers: { "Transfer-Encoding": "chunked" } });
    if (lengthless) {
      assert.equal(answer.status, 402);
    } else {
      assertOwnAnswer(answer, "REQUEST_MALFORMED", 411);
    }
  });

  await test(`a payment header of ${header} bytes, and one that is too long: never as if there were none`, async () => {
    assertRefused(await send({ base, body, headers: { "PAYMENT-SIGNATURE": "e30A".repeat(header / 4) } }), "PAYMENT_MALFORMED");
    for (const length of [16_200, 16_380, 16_400, 33_000]) {
      const answer = await send({ base, body, headers: { "PAYMENT-SIGNATURE": "e30A".repeat(length / 4) } });
      assert.equal(answer.status, 400, `${length}`);
    }
  });

  await test("a payment header twice", async () => {
    const payer = world.nextPayer();
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    const twice = () => send({ base, body, headers: [name, value, name, value] });
    if (repeats) {
      assertRefused(await world.free(payer, twice), "PAYMENT_MALFORMED");
    } else {
      const { result, payer: paid } = await world.moved(payer, twice);
      assert.deepEqual([result.status, paid], [200, -1000n]);
    }
  });

  // All at once, since most of each is waiting.
  const ways = [["SSE", SSE], ["NDJSON", NDJSON]].flatMap((form) => [[...form, "HTTP/1.1", false], [...form, "HTTP/2", true]]);
  await Promise.all(ways.map(([form, accept, over, h2], index) =>
    test(`${form} over ${over}: events leave as they come`, async () => {
      const payer = world.nextPayer();
      const seconds = 40.125 + index;
      const slow = JSON.stringify({ runtime: "python3", source: twoParts(seconds), limits: { timeoutMs: 60_000 } });
      const headers = { ...(await world.payment({ payer, amount: "5000" })), "Content-Length": String(Buffer.byteLength(slow)) };
      const stream = await openStream({ base: https, ca, body: slow, headers, accept, h2 });
      await until("the first part has come", () => joined(stream.events, "stdout") === "one\n");
      await wake(world.stack.pid, seconds);
      await stream.ended;
      assert.equal(stream.status, 200, stream.text);
      assert.equal(joined(stream.events, "stdout"), "one\ntwo\n");
      const { data } = stream.events.at(-1);
      assertRun({ status: 200, json: data, response: stream.response, headers: { ...stream.headers, "content-type": "application/json" } }, { world, body: slow, payer, amount: "5000" });
    })));

  await test("HTTP/2 is spoken: a 402 over it, and two requests at a time on one connection", async () => {
    const session = http2.connect(https, { ca: readFileSync(ca) });
    const one = async () => {
      const request = session.request({ ":method": "POST", ":path": "/execute", "content-length": String(body.length) });
      request.end(body);
      const [headers] = await once(request, "response");
      request.resume();
      await once(request, "close");
      return [headers[":status"], "payment-required" in headers];
    };
    try {
      assert.deepEqual(await Promise.all([one(), one()]), [[402, true], [402, true]]);
    } finally {
      session.close();
    }
  });

  await test("a client sets nothing, by whatever header or query", async () => {
    const names = ["TOLLBOX_PAY_TO", "TOLLBOX-PAY-TO", "HTTP_TOLLBOX_PAY_TO", "Redirect-Tollbox-Pay-To", "Proxy", "CGI-Tollbox-Socket", "Remote-Addr", "Script-Filename"];
    const answer = await send({ base, path: `/execute?TOLLBOX_PAY_TO=${STRANGER}`, headers: names.flatMap((name) => [name, STRANGER]), body });
    assert.deepEqual([answer.status, answer.required?.accepts[0].payTo], [402, world.info.payTo], answer.text);
  });

  await test("each answer has a Request-Id of its own", async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => send({ base, path: "/version", method: "GET", headers: { "Request-Id": "chosen-by-client-1234" } })));
    assert.equal(new Set(ids.map(({ headers }) => headers["request-id"])).size, 5);
    assert.ok(ids.every(({ headers }) => headers["request-id"] !== "chosen-by-client-1234"));
  });

  await test("a sender who takes his time holds none of the daemon's threads", async () => {
    await until("what others asked is over", () => connections(world.socket) === 0);
    const socket = connect(Number(new URL(base).port), "127.0.0.1");
    try {
      socket.on("error", () => {}).write(`POST /execute HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
      await sleep(300);
      assert.equal(connections(world.socket), 0);
      const [answer] = await Promise.all([once(socket, "data"), socket.write(body.slice(10))]);
      assert.match(String(answer), /^HTTP\/1\.1 402 /);
    } finally {
      socket.destroy();
    }
  });
}

/** How many connections to the socket are open. */
export const connections = (socket) =>
  // The listening one has a flag.
  readFileSync("/proc/net/unix", "utf8").split("\n").filter((line) => line.endsWith(` ${socket}`) && !/: \S+ \S+ 00010000 /.test(line)).length;
