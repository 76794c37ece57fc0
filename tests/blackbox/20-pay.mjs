// Paying: the released clients of both versions and plain curl, and that money really moves.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { payV1 } from "../clients/v1/client.mjs";
import { payV2 } from "../devnet/client.mjs";
import { rpc, word } from "../devnet/rpc.mjs";
import { decodeHeader, encodeHeader } from "../devnet/fetch.mjs";
import { assertRequired, assertRun } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const run = promisify(execFile);

export default async function pay(test, world) {
  const { info, stack } = world;
  const url = `${stack.https}/execute`;
  const job = { runtime: "python3", source: "import sys\nprint('Grüße 🧰', sys.version_info[0])" };

  async function onChain({ payment }, payer, amount) {
    const receipt = await rpc(info.rpcUrl, "eth_getTransactionReceipt", [payment.transaction]);
    assert.equal(receipt.status, "0x1");
    const transfer = receipt.logs.find(({ topics }) => topics[0] === TRANSFER);
    assert.deepEqual(transfer.topics.slice(1), [`0x${word(payer.address)}`, `0x${word(info.payTo)}`]);
    assert.equal(BigInt(transfer.data), BigInt(amount));
  }

  for (const [version, client] of [[2, payV2], [1, payV1]]) {
    await test(`the released v${version} client pays and gets its run`, async () => {
      const payer = world.nextPayer();
      const body = JSON.stringify(job);
      const { result, ...moved } = await world.moved(payer, () => client({ url, key: payer.privateKey, ca: stack.ca, body }));
      assertRun({ ...result, response: result.receipt }, { world, body, payer, amount: "1000", version });
      assert.deepEqual(moved, { payer: -1000n, seller: 1000n });
      assert.equal(result.json.stdout, "Grüße 🧰 3\n");
      await onChain(result.json, payer, 1000);
    });
  }

  await test("the log's line of a run tells where its time went", async () => {
    const { answer } = await world.run(HELLO);
    const log = readFileSync(world.logFile, "utf8");
    const [, text] = new RegExp(`run id=${answer.headers["request-id"]} .* us: (.*)$`, "m").exec(log);
    const us = Object.fromEntries([...text.matchAll(/(\w+)=(\d+)/g)].map(([, name, value]) => [name, Number(value)]));
    assert.deepEqual(Object.keys(us), ["read", "parse", "check", "claim", "reserve", "settle", "facilitator", "run", "start", "program", "answer", "keep", "whole"]);
    // Two durable commits are in settle beside the call; a stage that was not entered would read 0.
    assert.ok(us.facilitator > 0 && us.facilitator < us.settle, text);
    assert.ok(us.program > 0 && us.program <= us.run && us.claim > 0 && us.keep > 0, text);
  });

  await test("the v2 client pays the price of a larger tier", async () => {
    const payer = world.nextPayer();
    const body = JSON.stringify({ ...HELLO, limits: { timeoutMs: 60001 } });
    const { result, ...moved } = await world.moved(payer, () => payV2({ url, key: payer.privateKey, ca: stack.ca, body }));
    assertRun({ ...result, response: result.receipt }, { world, body, payer, amount: "20000" });
    assert.deepEqual(moved, { payer: -20000n, seller: 20000n });
  });

  await test("a hand-made header and curl over HTTP/2", async () => {
    const payer = world.nextPayer();
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    const [bodyFile, headFile] = ["curl-body.json", "curl-head.txt"].map((file) => join(world.folder, file));
    writeFileSync(bodyFile, JSON.stringify(job));
    const { result, ...moved } = await world.moved(payer, () =>
      run("curl", ["-sS", "--http2", "--noproxy", "*", "--cacert", stack.ca, "-D", headFile, "-H", `${name}: ${value}`, "--data-binary", `@${bodyFile}`, url]),
    );
    const json = JSON.parse(result.stdout);
    assert.equal(json.stdout, "Grüße 🧰 3\n");
    assert.deepEqual(moved, { payer: -1000n, seller: 1000n });
    await onChain(json, payer, 1000);
  });

  await test("curl without a payment sees what to pay", async () => {
    const { stdout } = await run("curl", ["-sS", "-i", "--http1.1", "--noproxy", "*", "--cacert", stack.ca, "-d", "", url]);
    const [head, body] = stdout.split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 402 /);
    const required = decodeHeader(/^payment-required: (\S+)/im.exec(head)[1]);
    assert.equal(required.accepts[0].payTo, info.payTo);
    assert.equal(JSON.parse(body).accepts[0].payTo, info.payTo);
  });

  // Spellings that clients are known to use (x402.md 1.4 to 1.7, 8).
  const spelled = (change) => async (payer) => {
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    return { [name]: change(value) };
  };
  const changed = (change) => async (payer) => {
    const [[name, value]] = Object.entries(await world.payment({ payer }));
    return { [name]: encodeHeader(change(decodeHeader(value))) };
  };
  const accepted = [
    ["base64 without padding", spelled((value) => value.replace(/=+$/, ""))],
    ["base64url", spelled((value) => value.replaceAll("+", "-").replaceAll("/", "_"))],
    ["blanks around the header", spelled((value) => `  ${value} \t`)],
    ["pretty-printed JSON", async (payer) => {
      const [[name, value]] = Object.entries(await world.payment({ payer }));
      return { [name]: Buffer.from(JSON.stringify(decodeHeader(value), null, 2)).toString("base64") };
    }],
    ["payTo and asset in lower case", async (payer) =>
      world.payment({ payer, accepted: { payTo: info.payTo.toLowerCase(), asset: info.asset.toLowerCase() } })],
    ["a from in lower case", changed((payment) => {
      payment.payload.authorization.from = payment.payload.authorization.from.toLowerCase();
      return payment;
    })],
    ["unknown members everywhere", changed((payment) => ({
      ...payment,
      surprise: { nested: [1, null] },
      accepted: { ...payment.accepted, more: true, extra: { ...payment.accepted.extra, tag: "é" } },
    }))],
    ["resource and extensions echoed", async (payer) =>
      world.payment({ payer, resource: { url: "http://127.0.0.1/other/" }, extensions: { bazaar: { info: {}, schema: {} } } })],
    ["another maxTimeoutSeconds in accepted", async (payer) => world.payment({ payer, accepted: { maxTimeoutSeconds: 60 } })],
  ];
  for (const [name, headers] of accepted) {
    await test(`${name} is a payment too`, async () => {
      const payer = world.nextPayer();
      const body = JSON.stringify(HELLO);
      const answer = await world.send({ body, headers: await headers(payer) });
      assertRun(answer, { world, body, payer, amount: "1000" });
    });
  }

  await test("a v1 payment whose number says 2 is a v1 payment", async () => {
    const payer = world.nextPayer();
    const body = JSON.stringify(HELLO);
    const headers = await world.payment({ payer, version: 1, x402Version: 2 });
    assertRun(await world.send({ body, headers }), { world, body, payer, amount: "1000", version: 1 });
  });

  await test("with both headers PAYMENT-SIGNATURE counts", async () => {
    const { payment } = await world.run(HELLO, { headers: { "X-PAYMENT": "rubbish!" } });
    assert.equal(payment.amount, "1000");
  });

  await test("the body is JSON whatever its content type says", async () => {
    await world.run(HELLO, { headers: { "Content-Type": "text/plain;charset=UTF-8" } });
  });

  await test("a chunked body is taken", async () => {
    await world.run(HELLO, { headers: { "Transfer-Encoding": "chunked" } });
  });

  await test("a paid run over plain HTTP", async () => {
    await world.run(HELLO, { base: stack.http });
  });

  await test("the 402 after a refused payment can be paid", async () => {
    const payer = world.nextPayer();
    const body = JSON.stringify(HELLO);
    const refused = await world.send({ body, headers: await world.payment({ payer, amount: "999" }) });
    assert.equal(refused.status, 402);
    assertRequired(refused);
    assert.equal(refused.required.accepts[0].amount, "1000");
  });
}
