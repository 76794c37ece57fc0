// Signed receipts and offers (api.md section 6), checked by npm's `jose` and by the released `@x402/extensions`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { calculateJwkThumbprint, compactVerify, createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader } from "../devnet/node_modules/jose/dist/webapi/index.js";
import {
  decodeSignedOffers,
  extractOfferPayload,
  extractOffersFromPaymentRequired,
  extractPublicKeyFromKid,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureEIP712,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureEIP712,
  verifyReceiptSignatureJWS,
} from "../devnet/node_modules/@x402/extensions/dist/esm/offer-receipt/index.mjs";
import { payV1 } from "../clients/v1/client.mjs";
import { encodeV2, nowSeconds, payV2, signV2 } from "../devnet/client.mjs";
import { attached, receiptHolds } from "../harness/receipts.mjs";
import { startStack } from "../harness/stack.mjs";
import { until } from "./runner.mjs";
import { assertCommon, members } from "./shape.mjs";
import { openStream, NDJSON } from "./streams.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TOLLBOX = resolve(ROOT, process.env.TOLLBOX_TEST_B ?? "build", "tollbox");
const EXTENSION = "offer-receipt";
const PYTHON = (source, more) => JSON.stringify({ runtime: "python3", source, ...more });
const DID_PATH = "/.well-known/did.json";
const JWKS_PATH = "/.well-known/jwks.json";

/** → {status, out, errors} */
const tollbox = (...args) =>
  new Promise((done) => {
    execFile(TOLLBOX, args, { encoding: "utf8" }, (error, out, errors) => done({ status: error?.code ?? 0, out, errors }));
  });

/** Every place of a JSON value → [the value with that place changed] */
function* changes(value) {
  if (typeof value === "string") {
    yield value.length > 0 ? `${value.slice(0, -1)}${value.endsWith("0") ? "1" : "0"}` : "0";
  } else if (typeof value === "number") {
    yield value + 1;
  } else if (typeof value === "boolean") {
    yield !value;
  } else if (value === null) {
    yield 0;
  } else {
    for (const [name, member] of Object.entries(value)) {
      for (const changed of changes(member)) {
        yield { ...value, [name]: changed };
      }
      const { [name]: _, ...rest } = value;
      yield rest;
    }
  }
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** `text` with the highest bit of the base64url character at each place changed: the last character's low bits mean nothing. */
function* otherTexts(text) {
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== ".") {
      yield text.slice(0, at) + BASE64URL[BASE64URL.indexOf(text[at]) ^ 32] + text.slice(at + 1);
    }
  }
}

export default async function receipts(test, world) {
  const { itself, owner, twin } = world.siteUrls;
  const get = (path, base = world.stack.https) => world.send({ base, path, method: "GET" });
  const pay = async (base, payer, body) => {
    const { required } = await world.send({ base, body });
    const payload = await signV2(required.accepts[0], payer.privateKey);
    const answer = await world.send({ base, body, headers: encodeV2({ requirements: required.accepts[0], payload, extensions: required.extensions }) });
    assert.equal(answer.status, 200, answer.text);
    return { required, answer };
  };
  const headersOf = (answer) => ({ headers: new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])) });

  // ---- the documents

  await test("did.json and jwks.json list the same public keys", async () => {
    const [did, jwks] = await Promise.all([get(DID_PATH), get(JWKS_PATH)]);
    for (const answer of [did, jwks]) {
      assert.equal(answer.status, 200, answer.text);
      assertCommon(answer);
      assert.equal(answer.headers["content-type"], "application/json");
      assert.equal(answer.headers["cache-control"], "public, max-age=300");
      assert.ok(!/"d"/.test(answer.text), "no private member");
    }
    const name = `did:web:127.0.0.1%3A${new URL(world.stack.https).port}`;
    assert.equal(did.json.id, name);
    assert.deepEqual(did.json.verificationMethod.map(({ id }) => id), did.json.assertionMethod);
    assert.deepEqual(jwks.json.keys.map(({ kid }) => kid), did.json.assertionMethod);
    assert.equal(jwks.json.keys.length, 2, "one for receipts, one for the extension");
    for (const [index, { kid, ...jwk }] of jwks.json.keys.entries()) {
      const { id, type, controller, publicKeyJwk } = did.json.verificationMethod[index];
      assert.deepEqual({ id, type, controller, publicKeyJwk }, { id: kid, type: "JsonWebKey2020", controller: name, publicKeyJwk: jwk });
      assert.equal(kid, `${name}#${await calculateJwkThumbprint(jwk)}`);
    }
  });

  await test("each site is an issuer of its own, and the keys are shared", async () => {
    const [one, two] = await Promise.all([get(DID_PATH, owner), get(DID_PATH, twin)]);
    assert.equal(one.json.id, "did:web:owner.example");
    assert.equal(two.json.id, "did:web:twin.example");
    assert.deepEqual(one.json.verificationMethod.map(({ publicKeyJwk }) => publicKeyJwk.x), two.json.verificationMethod.map(({ publicKeyJwk }) => publicKeyJwk.x));
    assert.equal((await get(DID_PATH, world.siteUrls.broken)).status, 500);
    assert.equal((await get(DID_PATH, world.siteUrls.quotesOnly)).status, 200, "whatever routes a site offers");
  });

  await test("a public URL with a path finds its document below it", async () => {
    assert.deepEqual((await get("/did.json")).json, (await get(DID_PATH)).json);
  });

  await test("the keys are files of the service's user alone", () => {
    const folder = join(world.folder, "state", "keys");
    const { uid } = statSync(join(world.folder, "state", "ledger.db"));
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(folder).sort(), ["offers.pem", "receipts.pem"]);
    for (const name of readdirSync(folder)) {
      const { mode, uid: owns } = statSync(join(folder, name));
      assert.deepEqual([mode & 0o777, owns], [0o600, uid]);
    }
  });

  // ---- the receipt, by jose

  const ends = [
    ["a program that completes", HELLO],
    ["one that fails", { runtime: "python3", source: "raise SystemExit(3)" }],
    ["one that is stopped", { runtime: "python3", source: "while True: pass", limits: { timeoutMs: 200 } }],
    ["text that JCS must escape", { runtime: "python3", source: "print('\\x01\\x7f\\\\ \\u2028 \"é😀')", evaluate: true, outputs: ["*.py"] }],
  ];
  for (const [name, job] of ends) {
    await test(`jose verifies the receipt of ${name}`, async () => {
      const { receipt } = await world.run(job);
      const { payload, protectedHeader } = await compactVerify(attached(receipt), createLocalJWKSet(world.jwks));
      const { signature, ...content } = receipt;
      assert.deepEqual(JSON.parse(new TextDecoder().decode(payload)), content);
      assert.deepEqual(protectedHeader, { alg: "EdDSA", kid: world.jwks.keys[0].kid, typ: "tollbox-receipt" });
      assert.match(signature, /^[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]{86}$/);
    });
  }

  await test("jose fetches the keys from jwks.json by itself", async () => {
    const payer = world.nextPayer();
    const { answer } = await pay(itself, payer, JSON.stringify(HELLO));
    const keys = createRemoteJWKSet(new URL(`${itself}${JWKS_PATH}`));
    const { protectedHeader } = await compactVerify(attached(answer.json.receipt), keys);
    assert.ok(protectedHeader.kid.startsWith(`did:web:127.0.0.1%3A${new URL(itself).port}#`));
  });

  await test("any member changed or left out: the receipt fails", async () => {
    const { receipt } = await world.run(HELLO);
    const { signature, ...content } = receipt;
    const keys = createLocalJWKSet(world.jwks);
    let tried = 0;
    for (const changed of changes(content)) {
      await assert.rejects(compactVerify(attached({ ...changed, signature }), keys), { code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" });
      tried++;
    }
    assert.ok(tried > 40, `${tried} changes`);
  });

  await test("any character of the signature changed: the receipt fails", async () => {
    const { receipt } = await world.run(HELLO);
    const keys = createLocalJWKSet(world.jwks);
    for (const signature of otherTexts(receipt.signature)) {
      await assert.rejects(compactVerify(attached({ ...receipt, signature }), keys), signature);
    }
    await compactVerify(attached(receipt), keys);
  });

  await test("a live answer's receipt is signed too, and is the stored one's", async () => {
    const payer = world.nextPayer();
    const body = PYTHON("print('live')");
    const headers = await world.payment({ payer });
    const stream = await openStream({ base: world.stack.https, ca: world.stack.ca, body, headers, accept: NDJSON });
    await stream.ended;
    const { receipt } = stream.events.at(-1).data;
    assert.ok(receiptHolds(receipt, world.jwks));
    const again = await world.send({ body, headers });
    assert.deepEqual(again.json.receipt, receipt);
    assert.equal(again.headers["payment-response"], stream.headers["payment-response"]);
  });

  // ---- the extension, by the released package

  const offerOf = (required) => extractOffersFromPaymentRequired(required)[0];

  await test("the offer of a 402 verifies, and is what is asked for", async () => {
    const before = nowSeconds();
    const { required, json } = await world.send({ base: itself, body: HELLO });
    const offers = extractOffersFromPaymentRequired(required);
    assert.equal(offers.length, required.accepts.length);
    // The key comes from the DID document that the signature names: nothing is given.
    const payload = await verifyOfferSignatureJWS(offers[0]);
    const [{ network, asset, payTo, amount, scheme }] = required.accepts;
    const { validUntil, ...terms } = payload;
    assert.deepEqual(terms, { version: 1, resourceUrl: required.resource.url, scheme, network, asset, payTo, amount });
    assert.ok(validUntil >= before + 300 && validUntil <= nowSeconds() + 300);
    assert.deepEqual(members(decodeProtectedHeader(offers[0].signature)), ["alg", "kid"]);
    const [decoded] = decodeSignedOffers(offers);
    assert.equal(findAcceptsObjectFromSignedOffer(decoded, required.accepts), required.accepts[0]);
    assert.deepEqual(json.extensions[EXTENSION], required.extensions[EXTENSION], "version 1 has it in its place");
  });

  await test("the receipt in the payment response verifies, and fits the offer", async () => {
    const payer = world.nextPayer();
    const { required, answer } = await pay(itself, payer, PYTHON("print(1)"));
    const receipt = extractReceiptFromResponse(headersOf(answer));
    const payload = await verifyReceiptSignatureJWS(receipt);
    const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required));
    assert.ok(verifyReceiptMatchesOffer(receipt, offer, [payer.address]));
    assert.ok(!verifyReceiptMatchesOffer(receipt, offer, [world.nextPayer().address]));
    const { network, transaction } = answer.json.payment;
    const { issuedAt, ...rest } = payload;
    assert.deepEqual(rest, { version: 1, network, resourceUrl: `${itself}/execute`, payer: payer.address, transaction });
    assert.ok(Math.abs(issuedAt - nowSeconds()) < 60);
  });

  await test("receipts and the extension have a key each", async () => {
    const { receipt, answer } = await world.run(HELLO);
    const kidOf = (jws) => JSON.parse(Buffer.from(jws.split(".")[0], "base64url")).kid;
    const told = extractReceiptFromResponse(headersOf(answer));
    assert.notEqual(kidOf(receipt.signature), kidOf(told.signature));
    assert.deepEqual([kidOf(receipt.signature), kidOf(told.signature)], world.jwks.keys.map(({ kid }) => kid));
  });

  await test("a changed character anywhere in offer or receipt fails", async () => {
    const { required, answer } = await pay(itself, world.nextPayer(), PYTHON("print(2)"));
    const offer = offerOf(required);
    const receipt = extractReceiptFromResponse(headersOf(answer));
    const key = await extractPublicKeyFromKid(decodeProtectedHeader(offer.signature).kid);
    for (const [signed, verify] of [[offer, verifyOfferSignatureJWS], [receipt, verifyReceiptSignatureJWS]]) {
      await verify(signed, key);
      for (const signature of otherTexts(signed.signature)) {
        await assert.rejects(verify({ ...signed, signature }, key), signature);
      }
    }
  });

  await test("each 402 has a fresh offer", async () => {
    const validUntil = async () => extractOfferPayload(offerOf((await world.send({ body: HELLO })).required)).validUntil;
    const first = await validUntil();
    await until("a later offer", async () => (await validUntil()) > first);
  });

  await test("both released clients pay a 402 that has it, and get the receipt", async () => {
    for (const [client, name] of [[payV2, "PAYMENT-RESPONSE"], [payV1, "X-PAYMENT-RESPONSE"]]) {
      const payer = world.nextPayer();
      const answer = await client({ url: `${world.stack.https}/execute`, key: payer.privateKey, ca: world.stack.ca, body: PYTHON(`print('${name}')`) });
      assert.equal(answer.status, 200, answer.text);
      const replayed = await world.send({ body: PYTHON(`print('${name}')`), headers: { [answer.payment.name]: answer.payment.value } });
      const receipt = extractReceiptFromResponse(headersOf(replayed));
      const jwk = world.jwks.keys[1];
      assert.equal((await verifyReceiptSignatureJWS(receipt, jwk)).payer, payer.address);
      assert.equal(replayed.response.extensions[EXTENSION].info.receipt.signature, receipt.signature);
    }
  });

  await test("what a client echoes of it does not matter", async () => {
    const { required } = await world.send({ body: HELLO });
    const echoes = [
      required.extensions,
      { [EXTENSION]: { info: { offers: [{ format: "jws", signature: "x.y.z" }] } } },
      { [EXTENSION]: 7 },
      {},
    ];
    for (const extensions of echoes) {
      const payer = world.nextPayer();
      const payload = await signV2(required.accepts[0], payer.privateKey);
      const headers = encodeV2({ requirements: required.accepts[0], payload, extensions });
      const answer = await world.send({ body: PYTHON(`print(${Math.random()})`), headers });
      assert.equal(answer.status, 200, `${JSON.stringify(extensions).slice(0, 80)}: ${answer.text}`);
    }
  });

  // ---- tollbox verify-receipt

  const folder = mkdtempSync(join(tmpdir(), "tollbox-test."));
  const file = (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content));
    return path;
  };

  await test("verify-receipt: an answer, with the keys that the issuer publishes over https", async () => {
    const { answer, body } = await world.run({ runtime: "python3", source: "print(7)\n7", evaluate: true });
    const args = [file("answer", answer.bytes), "--request", file("request", body), "--ca", world.stack.ca];
    const said = await tollbox("verify-receipt", ...args);
    assert.equal(said.status, 0, said.out + said.errors);
    assert.deepEqual(said.out.match(/^ok +\w+/gm), ["ok    receipt", "ok    signature", "ok    request", "ok    answer"]);
    assert.ok(said.out.includes(`issued by ${answer.json.receipt.issuer}\n`));
    assert.equal((await tollbox("verify-receipt", ...args.slice(0, 3))).status, 3, "a certificate that it does not know");
  });

  await test("verify-receipt: offline, a receipt alone, and as the header carries it", async () => {
    const { receipt, answer, body } = await world.run(HELLO);
    const did = await get(DID_PATH);
    for (const [name, keys] of [["jwks", world.jwks], ["did", did.text]]) {
      for (const [form, content] of [["plain", receipt], ["coded", Buffer.from(JSON.stringify(receipt)).toString("base64url")]]) {
        const said = await tollbox("verify-receipt", file(form, content), "--jwks", file(name, keys));
        assert.equal(said.status, 0, said.out + said.errors);
        assert.match(said.out, /^- +request: not looked at/m);
        assert.match(said.out, /^- +answer: not looked at/m);
      }
    }
    const all = ["--jwks", `${world.stack.http}${JWKS_PATH}`, "--request", file("request", body), "--answer", file("answer", answer.bytes)];
    const said = await tollbox("verify-receipt", file("plain", receipt), ...all);
    assert.equal(said.status, 0, said.out + said.errors);
    assert.doesNotMatch(said.out, /not looked at/);
  });

  await test("verify-receipt: any change fails, and it says what", async () => {
    const { answer, body } = await world.run({ runtime: "python3", source: "print(8)" });
    const { receipt } = answer.json;
    const jwks = file("jwks", world.jwks);
    const [header, mac] = receipt.signature.split("..");
    const spelled = (text) => Buffer.from(text).toString("base64url");
    const { kid } = JSON.parse(Buffer.from(header, "base64url"));
    const cases = [
      [{ ...answer.json, stdout: "9\n" }, body, /FAIL +answer: output/],
      [{ ...answer.json, payment: { ...answer.json.payment, amount: "1" } }, body, /FAIL +answer: payment\.amount/],
      [{ ...answer.json, result: null }, body, /FAIL +answer: .*extrasDigest/],
      [answer.json, `${body} `, /FAIL +request: /],
      [{ ...answer.json, receipt: { ...receipt, price: "$0.0001" } }, body, /FAIL +signature: .*does not fit/],
      [{ ...answer.json, receipt: { ...receipt, issuer: "did:web:other.example" } }, body, /FAIL +receipt: .*not the issuer's/],
      [{ ...answer.json, receipt: { ...receipt, signature: `${header}..${"A".repeat(86)}` } }, body, /FAIL +signature: /],
      [{ ...answer.json, receipt: { ...receipt, signature: `${spelled(JSON.stringify({ alg: "EdDSA", kid }))}..${mac}` } }, body, /FAIL +receipt: .*header/],
      [{ ...answer.json, receipt: { ...receipt, signature: attached(receipt) } }, body, /FAIL +receipt: .*detached/],
      ["{", body, /FAIL +receipt: this is no JSON/],
    ];
    for (const [content, request, says] of cases) {
      const said = await tollbox("verify-receipt", file("changed", content), "--jwks", jwks, "--request", file("request", request));
      assert.equal(said.status, 1, said.out + said.errors);
      assert.match(said.out, says);
    }
    const evil = file("evil", { ...receipt, issuer: "did:web:x\u001b[2J", signature: `${spelled(`{"alg":"EdDSA","kid":"did:web:x\\u001b[2J#k","typ":"tollbox-receipt"}`)}..${mac}` });
    const said = await tollbox("verify-receipt", evil, "--jwks", jwks);
    assert.equal(said.status, 1);
    assert.ok(!said.out.includes("\u001b"), "nothing acts on a terminal");
  });

  await test("verify-receipt: usage, and what cannot be had", async () => {
    const { receipt } = await world.run(HELLO);
    const plain = file("plain", receipt);
    const statuses = [
      [[], 2],
      [[plain, plain], 2],
      [[plain, "--nonsense"], 2],
      [[join(folder, "nothing")], 3],
      [[plain, "--jwks", join(folder, "nothing")], 3],
      [[plain, "--jwks", `${world.stack.http}/nothing`], 3],
      [[plain, "--jwks", "http://127.0.0.1:1/jwks.json"], 3],
      [[plain, "--jwks", plain], 1],
    ];
    for (const [args, status] of statuses) {
      const said = await tollbox("verify-receipt", ...args);
      assert.equal(said.status, status, `${args}: ${said.out}${said.errors}`);
      assert.notEqual(said.out + said.errors, "");
    }
  });

  // ---- restart, rotation, EVM key

  await test("rotate-keys: new ones at the next start, receipts of the old ones still verify", async () => {
    const conf = file("tollbox.ini", "[service]\n");
    process.env.TOLLBOX_STATE_DIR = join(world.folder, "state");
    const { receipt, answer } = await world.run({ runtime: "python3", source: "print('old')" });
    const before = world.jwks.keys.map(({ kid }) => kid);
    try {
      const said = await tollbox("rotate-keys", "-c", conf);
      assert.equal(said.status, 0, said.errors);
    } finally {
      delete process.env.TOLLBOX_STATE_DIR;
    }
    const during = await world.run({ runtime: "python3", source: "print('during')" });
    assert.ok(receiptHolds(during.receipt, world.jwks), "the running service goes on with its keys");
    await world.restart();
    const after = world.jwks.keys.map(({ kid }) => kid);
    assert.equal(after.length, 4);
    assert.ok(before.every((kid) => after.slice(2).includes(kid)), "the old ones are listed behind the new ones");
    assert.ok(receiptHolds(receipt, world.jwks));
    await verifyReceiptSignatureJWS(extractReceiptFromResponse(headersOf(answer)), world.jwks.keys.find(({ kid }) => kid === before[1]));
    const fresh = await world.run({ runtime: "python3", source: "print('new')" });
    assert.equal(decodeProtectedHeader(attached(fresh.receipt)).kid, after[0]);
    const keys = join(world.folder, "state", "keys");
    assert.equal(readdirSync(keys).filter((name) => /^old-.*\.pem$/.test(name)).length, 2);
    assert.ok(readdirSync(keys).every((name) => (statSync(join(keys, name)).mode & 0o777) === 0o600));
  });

  await test("a restart keeps the keys", async () => {
    const { receipt } = await world.run(HELLO);
    const before = world.jwks;
    await world.restart();
    assert.deepEqual(world.jwks, before);
    assert.ok(receiptHolds(receipt, world.jwks));
  });

  await test("with an EVM key offers and receipts are EIP-712, and did.json has that key", async () => {
    const signer = world.info.payers[6];
    const payer = world.nextPayer();
    const key = file("offers.key", `${signer.privateKey}\n`);
    const env = { ...siteSettings(world.info), TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0", TOLLBOX_OFFER_SIGNING_KEY_FILE: key };
    let stack;
    try {
      chmodSync(key, 0o640);
      await assert.rejects(startStack({ env, stderr: "ignore" }), /ended \(1\)/, "a file that others can read");
      chmodSync(key, 0o600);
      stack = await startStack({ env, stderr: "ignore" });
      const { required } = await world.send({ base: stack.http, body: HELLO });
      const offer = offerOf(required);
      const { signer: offered, payload: terms } = await verifyOfferSignatureEIP712(offer);
      assert.equal(offered, signer.address);
      assert.equal(findAcceptsObjectFromSignedOffer(offer, required.accepts), required.accepts[0]);
      const { answer } = await pay(stack.http, payer, JSON.stringify(HELLO));
      const receipt = extractReceiptFromResponse(headersOf(answer));
      const { signer: received, payload } = await verifyReceiptSignatureEIP712(receipt);
      assert.equal(received, signer.address);
      assert.equal(payload.transaction, answer.json.payment.transaction);
      assert.ok(verifyReceiptMatchesOffer(receipt, terms, [payer.address]));
      for (const changed of changes(payload)) {
        const other = await verifyReceiptSignatureEIP712({ ...receipt, payload: changed }).catch(() => ({ signer: null }));
        assert.notEqual(other.signer, signer.address, JSON.stringify(changed));
      }
      const { json } = await get(JWKS_PATH, stack.http);
      assert.deepEqual(json.keys.map(({ crv }) => crv), ["Ed25519", "Ed25519", "secp256k1"]);
      const { kid, ...jwk } = json.keys[2];
      assert.ok(kid.endsWith(`#${await calculateJwkThumbprint(jwk)}`));
      assert.ok(receiptHolds(answer.json.receipt, json), "our own receipt stays EdDSA");
    } finally {
      await stack?.stop();
    }
  });
  rmSync(folder, { recursive: true, force: true });
}
