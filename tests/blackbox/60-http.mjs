// Routes, methods, headers, and the answers that nginx makes itself (api.md sections 1 and 7).
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { connect } from "node:net";
import { promisify } from "node:util";
import { assertCommon, assertRefused, members } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const run = promisify(execFile);
const ROUTES = {
  "/execute": "POST",
  "/quote": "POST",
  "/health": "GET",
  "/version": "GET",
  "/openapi.json": "GET",
  "/llms.txt": "GET",
  "/.well-known/x402": "GET",
  "/.well-known/x402.json": "GET",
  "/.well-known/did.json": "GET",
  "/.well-known/jwks.json": "GET",
};

export default async function http(test, world) {
  const { send, stack } = world;

  await test("GET /health", async () => {
    const answer = await world.patiently({ path: "/health", method: "GET" });
    assert.equal(answer.status, 200);
    assertCommon(answer);
    assert.deepEqual(members(answer.json), ["memoryLimit", "pool", "queue", "slots", "status", "version"]);
    assert.equal(answer.json.status, "ok");
    assert.ok(["cgroup2", "cgroup1", "meter"].includes(answer.json.memoryLimit));
    assert.ok(Number.isInteger(answer.json.queue) && answer.json.slots > 0);
    assert.ok(Object.keys(answer.json.pool).every((name) => members(answer.json.pool[name]).join() === "starting,warm"));
  });

  await test("GET /version", async () => {
    const answer = await send({ path: "/version", method: "GET" });
    assert.equal(answer.status, 200);
    assertCommon(answer);
    assert.deepEqual(members(answer.json), ["commit", "name", "version"]);
    assert.equal(answer.json.name, "tollbox");
  });

  for (const path of Object.keys(ROUTES).filter((name) => ROUTES[name] === "GET")) {
    await test(`HEAD ${path}`, async () => {
      const answer = await world.patiently({ path, method: "HEAD" });
      assert.equal(answer.status, 200);
      assertCommon(answer);
      assert.equal(answer.bytes.length, 0);
      assert.ok(Number(answer.headers["content-length"]) > 2);
    });
  }

  for (const [path, method] of Object.entries(ROUTES)) {
    const wrong = ["GET", "POST", "PUT", "DELETE", "PATCH"].filter((other) => other !== method);
    for (const other of method === "POST" ? [...wrong, "HEAD"] : wrong) {
      await test(`${other} ${path}: 405`, async () => {
        const answer = await send({ path, method: other });
        assert.match(answer.headers.allow, new RegExp(`\\b${method}\\b`));
        assert.match(answer.headers.allow, /\bOPTIONS\b/);
        assert.equal(/\bHEAD\b/.test(answer.headers.allow), method === "GET");
        if (other === "HEAD") {
          assert.equal(answer.status, 405);
          assert.equal(answer.bytes.length, 0);
        } else {
          assertRefused(answer, "REQUEST_MALFORMED", { status: 405 });
        }
      });
    }

    await test(`preflight for ${path}`, async () => {
      const headers = { Origin: "https://app.example", "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "payment-signature" };
      const answer = await send({ path, method: "OPTIONS", headers });
      assert.equal(answer.status, 204);
      assertCommon(answer);
      assert.equal(answer.bytes.length, 0);
      assert.match(answer.headers["access-control-allow-methods"], new RegExp(`\\b${method}\\b`));
      const allowed = answer.headers["access-control-allow-headers"].toLowerCase().split(/\s*,\s*/);
      for (const name of ["content-type", "payment-signature", "x-payment", "access-control-expose-headers", "authorization", "idempotency-key", "accept"]) {
        assert.ok(allowed.includes(name), name);
      }
    });
  }

  const unknown = ["/nothing", "/Execute", "/execute/", "/execute/x", "//execute", "/./execute/.", "/exec%75te%2f", "/execute;x", "/.tollbox/error/size", "/.tollbox/error/", "/etc/passwd"];
  for (const path of unknown) {
    await test(`POST ${path}: 404, paid or not`, async () => {
      const payer = world.nextPayer();
      const headers = await world.payment({ payer });
      assertRefused(await world.free(payer, () => send({ path, headers, body: HELLO })), "REQUEST_MALFORMED", { status: 404 });
      assertRefused(await send({ path, body: HELLO }), "REQUEST_MALFORMED", { status: 404 });
    });
  }

  await test("a zero byte in the address: 400 by nginx", async () => {
    assertRefused(await send({ path: "/execute%00", body: HELLO }), "REQUEST_MALFORMED", { status: 400 });
  });

  await test("/%65xecute is /execute, and costs the same", async () => {
    assert.equal((await send({ path: "/%65xecute", body: HELLO })).status, 402);
  });

  await test("each answer has a Request-Id of its own", async () => {
    const ids = new Set();
    for (let index = 0; index < 5; index++) {
      ids.add((await send({ path: "/version", method: "GET" })).headers["request-id"]);
    }
    assert.equal(ids.size, 5);
  });

  await test("a client's Request-Id is not taken over", async () => {
    const answer = await send({ path: "/version", method: "GET", headers: { "Request-Id": "chosen-by-client-1234" } });
    assert.notEqual(answer.headers["request-id"], "chosen-by-client-1234");
  });

  await test("a payment header of 20 KiB passes nginx", async () => {
    const answer = await send({ headers: { "PAYMENT-SIGNATURE": Buffer.from(JSON.stringify({ pad: "x".repeat(15000) })).toString("base64") } });
    assertRefused(answer, "PAYMENT_MALFORMED");
  });

  await test("a header of 40 KB: 400 by nginx", async () => {
    assertRefused(await send({ headers: { "PAYMENT-SIGNATURE": "A".repeat(40000) } }), "REQUEST_MALFORMED", { status: 400 });
  });

  await test("an address of 40 KB: 414 by nginx", async () => {
    assertRefused(await send({ path: `/${"a".repeat(40000)}`, method: "GET" }), "REQUEST_MALFORMED", { status: 414 });
  });

  await test("an address of 30 KB: 404 by the daemon", async () => {
    assertRefused(await send({ path: `/${"a".repeat(30000)}`, method: "GET" }), "REQUEST_MALFORMED", { status: 404 });
  });

  await test("headers of 90 KB in all: 500 by nginx, in the same form", async () => {
    const headers = { "X-A": "a".repeat(30000), "X-B": "a".repeat(30000), "X-C": "a".repeat(30000) };
    assertRefused(await send({ headers }), "SERVICE_INTERNAL_FAILURE");
  });

  await test("TRACE: 405 by nginx", async () => {
    const answer = await send({ path: "/execute", method: "TRACE" });
    assert.match(answer.headers.allow, /POST/);
    assertRefused(answer, "REQUEST_MALFORMED", { status: 405 });
  });

  await test("no HTTP at all: 400 by nginx", async () => {
    const text = await rawExchange(new URL(stack.http).port, "HELO there\r\n\r\n");
    assert.match(text, /REQUEST_MALFORMED/);
  });

  await test("plain HTTP on the TLS port: 400 by nginx", async () => {
    const answer = await send({ base: stack.https.replace("https", "http"), path: "/version", method: "GET" });
    assertRefused(answer, "REQUEST_MALFORMED", { status: 400 });
  });

  await test("a body cut short is never run", async () => {
    const payer = world.nextPayer();
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    const body = JSON.stringify(HELLO);
    await world.free(payer, async () => {
      const head = `POST /execute HTTP/1.1\r\nHost: x\r\n${name}: ${value}\r\nContent-Length: ${body.length + 10}\r\n\r\n${body}`;
      await rawExchange(new URL(stack.http).port, head, { endAfterMs: 300 });
    });
  });

  await test("TLS 1.2 and 1.3, and nothing older", async () => {
    const handshake = (version) =>
      new Promise((resolve) => {
        const running = execFile("openssl", ["s_client", "-connect", new URL(stack.https).host, version, "-CAfile", stack.ca], (error, stdout) =>
          resolve(/Verify return code: 0/.test(stdout) && /Cipher is [A-Z]/.test(stdout)));
        running.stdin.end();
      });
    assert.deepEqual(await Promise.all(["-tls1_3", "-tls1_2", "-tls1_1"].map(handshake)), [true, true, false]);
  });

  await test("HTTP/2 is spoken", async () => {
    const { stdout } = await run("curl", ["-sS", "--http2", "--noproxy", "*", "--cacert", stack.ca, "-o", "/dev/null", "-w", "%{http_version} %{http_code}", `${stack.https}/version`]);
    assert.equal(stdout, "2 200");
  });
}

function rawExchange(port, text, { endAfterMs } = {}) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
    if (endAfterMs) {
      setTimeout(() => socket.destroy(), endAfterMs);
    }
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks).toString()));
    socket.on("error", reject);
  });
}
