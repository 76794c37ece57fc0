// What agents, catalogues and browsers find a site by: /openapi.json, /.well-known/x402, /llms.txt, the bazaar extension, CORS
// (api.md section 1). The judges are released packages: an OpenAPI validator, ajv, the reader of the x402scan catalogue,
// the bazaar validators. Clients that know the host's address alone are in 17.
import assert from "node:assert/strict";
import {
  extractDiscoveryInfo,
  extractDiscoveryInfoV1,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from "../devnet/node_modules/@x402/extensions/dist/esm/bazaar/index.mjs";
import { startBrowser } from "../clients/browser/browser.mjs";
import { decodeHeader, paymentFor, payV2 } from "../devnet/client.mjs";
import { assertCommon, assertRefused, members } from "./shape.mjs";
import { beyondSchemas, bodiesAtEdges, bodiesLike } from "./agreement.mjs";

const PACKAGES = new URL("../clients/discovery/node_modules/", import.meta.url);
const fromPackage = (path) => import(new URL(path, PACKAGES));
const DOCUMENTS = ["/openapi.json", "/.well-known/x402", "/.well-known/x402.json", "/llms.txt", "/.well-known/did.json", "/.well-known/jwks.json"];
/** Request headers that api.md names; those that released clients send besides (x402.md 1.12, MCP). */
const SENT = [
  "content-type", "accept", "content-encoding", "idempotency-key", "payment-signature", "x-payment", "request-id",
  "access-control-expose-headers", "authorization", "mcp-protocol-version", "mcp-session-id", "last-event-id", "if-none-match",
];
/** Answer headers that api.md names. */
const READ = [
  "payment-required", "payment-response", "x-payment-response", "tollbox-receipt", "idempotency-replayed", "retry-after", "request-id", "allow",
];
const SEED = 20261130;
const shown = (body) => JSON.stringify(body).slice(0, 300);
/** Valid bodies of /execute that hold every member. */
const FULL = [
  {
    runtime: "python3",
    source: "1",
    stdin: "x",
    files: { "d/a.txt": "x", "b.bin": { base64: "AP8=" } },
    args: ["-x", ""],
    env: { A: "1", _b2: "" },
    limits: { timeoutMs: 100, maxMemoryBytes: 33554432, maxOutputBytes: 1024, workDirBytes: 1048576 },
    outputs: ["out/**", "x[1]"],
    evaluate: true,
  },
  { runtime: "node", source: "1", limits: { maxMemoryBytes: 67108864, timeoutMs: 10000.0 }, evaluate: true },
  { runtime: "bash", source: "1", evaluate: false, files: { "...": "x", "..a/.b": "y" } },
];

export default async function discovery(test, world) {
  const { send } = world;
  const { Validator } = await fromPackage("@seriousme/openapi-schema-validator/index.js");
  const { default: Ajv } = await fromPackage("ajv/dist/2020.js");
  const reader = await fromPackage("@agentcash/discovery/dist/index.js");

  const get = async (path, more) => {
    const answer = await send({ path, method: "GET", ...more });
    assert.equal(answer.status, 200, answer.text);
    assertCommon(answer);
    return answer;
  };
  const documentAt = async (base) => (await get("/openapi.json", { base })).json;
  const document = await documentAt();
  const paidIn = (doc) => Object.keys(doc.paths).filter((path) => doc.paths[path].post?.["x-payment-info"]);
  const paid = paidIn(document);
  /** Paid, but not by a 402. */
  const calls = Object.keys(document.paths).filter((path) => document.paths[path].post?.tags.includes("mcp"));
  const requestOf = (path, doc = document) => doc.paths[path].post.requestBody.content["application/json"];
  const unpaid = async (path, body, base) => {
    const answer = await send({ path, body, base });
    assert.equal(answer.status, 402, answer.text);
    return answer;
  };

  // Unknown keywords and rules that can never hold are errors.
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  ajv.addVocabulary(["components"]);
  /** The schema at that place of the document, which may refer to the document's components. */
  const compile = (...pointer) => ajv.compile({ ...pointer.reduce((at, name) => at[name], document), components: document.components });
  const assertValid = (validate, value) => assert.ok(validate(value), ajv.errorsText(validate.errors));

  // ---- openapi.json

  await test("openapi.json is OpenAPI 3.1 to a validator", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors));
    assert.match(document.openapi, /^3\.1\./);
    assert.deepEqual(document.servers, [{ url: world.stack.https }]);
  });

  await test("it lists every route that is served, and no other", async () => {
    const routes = [...paid, ...calls, "/quote", "/health", "/version", "/v1/health", "/v1/version", ...DOCUMENTS.filter((path) => path !== "/openapi.json")];
    assert.deepEqual(Object.keys(document.paths).sort(), routes.sort());
    assert.ok(paid.includes("/execute"));
  });

  await test("every read in it answers as it says", async () => {
    for (const [path, { get: operation }] of Object.entries(document.paths).filter(([, item]) => item.get)) {
      const answer = await world.patiently({ path, method: "GET" });
      const [[media]] = Object.entries(operation.responses[200].content);
      assert.ok(answer.headers["content-type"].startsWith(media), path);
      assertValid(compile("paths", path, "get", "responses", "200", "content", media, "schema"), answer.json ?? answer.text);
    }
  });

  await test("/quote answers as it says", async () => {
    const answer = await send({ path: "/quote", body: {} });
    assertValid(compile("paths", "/quote", "post", "responses", "200", "content", "application/json", "schema"), answer.json);
  });

  for (const path of paid) {
    const schemaOf = (...pointer) => compile("paths", path, "post", ...pointer, "content", "application/json", "schema");
    const { example, schema } = requestOf(path);

    await test(`${path}: its example is valid, and runs for a price in its range`, async () => {
      assertValid(schemaOf("requestBody"), example);
      const { price } = document.paths[path].post["x-payment-info"];
      const [payer, url] = [world.nextPayer(), `${world.stack.https}${path}`];
      const moved = await world.moved(payer, () => payV2({ url, key: payer.privateKey, body: example, ca: world.stack.ca }));
      assert.equal(moved.result.status, 200, moved.result.text);
      const dollars = Number(moved.seller) / 1e6;
      assert.ok(dollars >= Number(price.min ?? price.amount) && dollars <= Number(price.max ?? price.amount), `${dollars} is none of ${JSON.stringify(price)}`);
      assertValid(schemaOf("responses", "200"), moved.result.json);
      // What the other documents show as its answer is what it answers, but for times.
      const { items } = (await get("/.well-known/x402")).json;
      const { durationMs, execution_time_ms: time, ...told } = items.find(({ resource }) => resource.url === url).output.example;
      assert.deepEqual(Object.fromEntries(Object.keys(told).map((name) => [name, moved.result.json[name]])), told);
    });

    await test(`${path}: refusals are as it says`, async () => {
      const required = compile("components", "responses", "PaymentRequired", "content", "application/json", "schema");
      assertValid(required, (await unpaid(path, example)).json);
      const bad = await send({ path, body: "{", headers: await world.payment({ payer: world.nextPayer() }) });
      assert.equal(bad.status, 400);
      assertValid(schemaOf("responses", "400"), bad.json);
      assert.match(document.paths[path].post.responses[400].description, new RegExp(`\\b${(bad.json.details ?? bad.json.error).code}\\b`));
    });

    await test(`${path}: schema and server agree about bodies that are a little wrong`, async () => {
      const names = Object.keys(schema.properties);
      const valid = path === "/execute" ? [example, ...FULL] : [example];
      // A quote lets be missing what a run needs.
      const { required, ...partial } = schema;
      const validate = ajv.compile(partial);
      const seen = new Set();
      const judge = async (body) => {
        const says = validate(body);
        const answer = await send({ path: `/quote?route=${path}`, body });
        if (answer.status === 200 || !says) {
          assert.equal(says, answer.status === 200, `${shown(body)}: ${answer.text} but ${ajv.errorsText(validate.errors)}`);
          seen.add(says ? "taken" : answer.json.error.code);
        } else {
          assert.equal(answer.status, 400);
          assert.ok(beyondSchemas(answer.json.error.message), `${shown(body)}: the schema takes it, but: ${answer.text}`);
        }
      };
      const bodies = [...valid, ...bodiesAtEdges(schema, example), ...bodiesLike(valid, names, 300, SEED)];
      await Promise.all(Array.from({ length: 8 }, async (_, worker) => {
        for (let index = worker; index < bodies.length; index += 8) {
          await judge(bodies[index]);
        }
      }));
      assert.ok(["taken", "REQUEST_MALFORMED"].every((verdict) => seen.has(verdict)), [...seen].join());
      // What is required is so for a run.
      const payer = world.nextPayer();
      const headers = await world.payment({ payer });
      for (const name of required) {
        const { [name]: dropped, ...body } = example;
        assert.ok(dropped !== undefined && !ajv.compile(schema)(body));
        const answer = await world.free(payer, () => send({ path, headers, body }));
        assert.equal(answer.status, 400, answer.text);
      }
    });
  }

  // ---- the reader of the x402scan catalogue

  await test("a catalogue's reader finds every paid route, without a warning", async () => {
    const base = world.siteUrls.itself;
    const found = await reader.discoverOriginSchema({ target: base });
    assert.ok(found.found, JSON.stringify(found));
    const sold = found.endpoints.filter(({ authMode }) => authMode === "paid");
    assert.deepEqual(sold.map(({ path }) => path).sort(), [...paid].sort());
    assert.ok(sold.every(({ price, protocols }) => price && protocols.join() === "x402"));
    assert.ok(found.endpoints.every(({ authMode }) => authMode === "paid" || authMode === "unprotected"));
    assert.ok(found.guidanceTokens > 100 && found.guidance.length <= 4000);
    const openapi = (await reader.getOpenAPI(base)).unwrapOr(null);
    assert.equal(found.info.contactEmail, "operator@example.com");
    assert.deepEqual([...reader.getWarningsForOpenAPI(openapi), ...reader.getWarningsForL2(reader.checkL2ForOpenAPI(openapi)), ...reader.getWarningsForL4(reader.checkL4ForOpenAPI(openapi))], []);
  });

  await test("and its probe of each finds the 402 sound", async () => {
    for (const path of paid) {
      const url = `${world.siteUrls.itself}${path}`;
      const told = await reader.checkEndpointSchema({ url });
      assert.deepEqual(reader.getWarningsForL3(told.advisories[0]).filter(({ code }) => code !== "L3_PAYMENT_OPTIONS_MISSING_ON_PAID"), []);
      assert.deepEqual(told.advisories[0].inputSchema, requestOf(path, await documentAt(world.siteUrls.itself)).schema);
      const probed = await reader.checkEndpointSchema({ url, probe: true });
      const post = probed.advisories.find(({ method }) => method === "POST");
      assert.equal(post.authMode, "paid");
      assert.deepEqual(reader.getWarningsForL3(post), []);
      const { valid, issues } = reader.validatePaymentRequiredDetailed(post.paymentRequiredBody);
      assert.ok(valid && issues.length === 0, JSON.stringify(issues));
    }
  });

  // ---- the bazaar extension

  for (const path of paid) {
    await test(`${path}: the bazaar extension, to the released package`, async () => {
      const { required, json, headers } = await unpaid(path, "");
      const { bazaar } = required.extensions;
      assert.deepEqual(validateDiscoveryExtension(bazaar), { valid: true });
      assert.deepEqual(validateDiscoveryExtensionSpec(bazaar), { valid: true });
      const found = extractDiscoveryInfo({ x402Version: 2, resource: required.resource, extensions: required.extensions }, required.accepts[0]);
      assert.equal(found.resourceUrl, `${world.stack.https}${path}`);
      assert.equal(found.method, "POST");
      assert.deepEqual(found.discoveryInfo.input.body, requestOf(path).example);
      assert.deepEqual(members(bazaar.schema.properties.input.properties.body.properties), members(requestOf(path).schema.properties));
      assert.ok(headers["payment-required"].length <= 6 * 1024, `${headers["payment-required"].length} bytes`);
      const changed = structuredClone(bazaar);
      changed.info.input.body[Object.keys(changed.info.input.body)[0]] = 7;
      assert.equal(validateDiscoveryExtension(changed).valid, false, "the schema refuses another body");
      for (const element of json.accepts) {
        const info = extractDiscoveryInfoV1(element);
        assert.equal(info.input.method, "POST");
        assert.deepEqual(members(info.input.body), members(requestOf(path).schema.properties));
        assert.deepEqual(info.output.example, found.discoveryInfo.output.example);
      }
    });
  }

  for (const path of calls) {
    await test(`${path}: the bazaar extension of the tool, to the released package`, async () => {
      const example = requestOf("/execute").example;
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "execute", arguments: example } };
      const required = (await send({ path, body: call, headers: { Accept: "application/json" } })).json.result.structuredContent;
      const { bazaar } = required.extensions;
      assert.deepEqual(validateDiscoveryExtension(bazaar), { valid: true });
      assert.deepEqual(validateDiscoveryExtensionSpec(bazaar), { valid: true });
      const found = extractDiscoveryInfo({ x402Version: 2, resource: required.resource, extensions: required.extensions }, required.accepts[0]);
      assert.equal(found.toolName, "execute");
      assert.deepEqual(found.discoveryInfo.input.example, example);
      assert.deepEqual(members(found.discoveryInfo.input.inputSchema.properties), members(requestOf("/execute").schema.properties));
    });
  }

  // ---- .well-known/x402

  await test(".well-known/x402 names what answers 402, with what that asks for", async () => {
    const { json, text } = await get("/.well-known/x402");
    assert.equal((await get("/.well-known/x402.json")).text, text);
    assert.equal(json.version, 1);
    assert.equal(json.x402Version, 2);
    assert.ok(json.lastUpdated <= Date.now() / 1000 && json.lastUpdated > Date.now() / 1000 - 3600);
    assert.deepEqual(json.resources, paid.map((path) => `${world.stack.https}${path}`));
    const byMcp = json.items.filter(({ type }) => type === "mcp");
    assert.deepEqual(byMcp.map(({ resource, input }) => [resource.url, input.toolName]), calls.map((path) => [`${world.stack.https}${path}`, "execute"]));
    const items = json.items.filter((item) => !byMcp.includes(item));
    assert.deepEqual(items.map(({ resource }) => resource.url), json.resources);
    for (const item of items) {
      const answer = await unpaid(new URL(item.resource.url).pathname, "");
      assert.deepEqual(item.accepts, answer.required.accepts);
      assert.deepEqual(item.resource, answer.required.resource);
      assert.equal(item.type, "http");
      assert.deepEqual(item.input, { method: "POST", bodyType: "json", body: requestOf(new URL(item.resource.url).pathname).schema });
    }
  });

  // ---- llms.txt

  await test("llms.txt: its links work, its examples are the ones that run", async () => {
    const { text, headers } = await get("/llms.txt");
    assert.match(headers["content-type"], /^text\/markdown/);
    assert.match(text, /^# \S/);
    const links = [...text.matchAll(/\]\((https?:[^)]+)\)/g)].map(([, url]) => url).filter((url) => url.startsWith(world.stack.https));
    assert.ok(links.length >= 4);
    for (const url of links) {
      await get(new URL(url).pathname);
    }
    const posts = [...text.matchAll(/`POST (https?:[^`]+)`/g)].map(([, url]) => new URL(url).pathname);
    assert.deepEqual(posts, paid);
    const examples = [...text.matchAll(/```json\n([^`]+)\n```/g)].map(([, json]) => JSON.parse(json));
    assert.deepEqual(examples.filter((_, index) => index % 2 === 0), paid.map((path) => requestOf(path).example));
    for (const tier of ["small | $0.0010", "medium | $0.0050", "large | $0.0200"]) {
      assert.ok(text.includes(`| ${tier} |`), tier);
    }
  });

  // ---- how documents are served

  for (const path of DOCUMENTS) {
    await test(`${path}: ETag, 304, and HEAD like GET`, async () => {
      const { headers, bytes } = await get(path);
      assert.match(headers["cache-control"], /^public, max-age=\d+$/);
      assert.match(headers.etag, /^"[0-9a-f]{32}"$/);
      assert.equal((await get(path)).headers.etag, headers.etag);
      for (const known of [headers.etag, `W/${headers.etag}`, `"x", ${headers.etag}`, "*"]) {
        const same = await send({ path, method: "GET", headers: { "If-None-Match": known } });
        assert.deepEqual([same.status, same.bytes.length, same.headers.etag], [304, 0, headers.etag], known);
        assertCommon(same);
      }
      assert.equal((await send({ path, method: "GET", headers: { "If-None-Match": '"other"' } })).status, 200);
      const head = await send({ path, method: "HEAD" });
      assert.deepEqual([head.status, head.bytes.length, Number(head.headers["content-length"])], [200, 0, bytes.length]);
      const same = ({ "request-id": id, date, ...rest }) => rest;
      assert.deepEqual(same(head.headers), same(headers));
    });
  }

  // ---- browsers

  for (const [path, item] of [...Object.entries(document.paths), ["/openapi.json", { get: {} }]]) {
    await test(`a browser may call ${path} from any page, with every header, and read every one`, async () => {
      const method = item.post ? "POST" : "GET";
      const headers = { Origin: "https://page.example", "Access-Control-Request-Method": method, "Access-Control-Request-Headers": SENT.join(",") };
      const preflight = await send({ path, method: "OPTIONS", headers });
      assert.ok(preflight.status >= 200 && preflight.status < 300);
      const list = (answer, name) => answer.headers[name].toLowerCase().split(/\s*,\s*/);
      assert.equal(preflight.headers["access-control-allow-origin"], "*");
      assert.ok(list(preflight, "access-control-allow-methods").includes(method.toLowerCase()));
      assert.deepEqual(SENT.filter((name) => !list(preflight, "access-control-allow-headers").includes(name)), []);
      const answer = await send({ path, method, headers: { Origin: "https://page.example" } });
      assert.equal(answer.headers["access-control-allow-origin"], "*");
      assert.deepEqual(READ.filter((name) => !list(answer, "access-control-expose-headers").includes(name)), []);
    });
  }

  await test("a page of another origin pays, in a real browser", async () => {
    const [payer, browser] = [world.nextPayer(), await startBrowser()];
    try {
      const wallet = { answer: async ({ params: [required] }) => ({ result: (await paymentFor(required, payer.privateKey))["PAYMENT-SIGNATURE"] }) };
      const page = await browser.open(`${world.siteUrls.twin}/version`, { wallets: [{ name: "signer", wallet }] });
      const paying = page.evaluate(payAsPage, { url: `${world.siteUrls.itself}/execute`, body: JSON.stringify(requestOf("/execute").example) });
      const { result, payer: paid } = await world.moved(payer, () => paying);
      assert.equal(result.origin, world.siteUrls.twin);
      assert.deepEqual(result.statuses, [402, 200, 200], result.text);
      assert.equal(JSON.parse(result.text).stdout, "42\n");
      assert.equal(decodeHeader(result.settlement).success, true);
      assert.equal(result.replayed, "true");
      assert.equal(paid, -1000n);
      assert.deepEqual(page.seen.problems.filter((text) => /CORS|blocked/.test(text)), []);
    } finally {
      await browser.close();
    }
  });

  // ---- each site its own

  await test("each site tells of itself", async () => {
    const owner = await documentAt(world.siteUrls.owner);
    assert.deepEqual(owner.servers, [{ url: "https://owner.example" }]);
    assert.deepEqual(owner.paths["/execute"].post["x-payment-info"].price, { mode: "dynamic", currency: "USD", min: "0.002", max: "0.02" });
    assert.deepEqual(requestOf("/execute", owner).schema.properties.runtime.enum, ["python3"]);
    const manifest = (await get("/.well-known/x402", { base: world.siteUrls.owner })).json;
    assert.equal(manifest.resources[0], "https://owner.example/execute");
    assert.equal(manifest.items[0].accepts[0].amount, "2000");
    assert.match((await get("/llms.txt", { base: world.siteUrls.owner })).text, /https:\/\/owner\.example\/execute.*\$0\.0020 to \$0\.0200/);
  });

  await test("a narrow site: one tier, one runtime, one route, and an example that runs there", async () => {
    const base = world.siteUrls.narrow;
    const doc = await documentAt(base);
    assert.deepEqual(paidIn(doc), ["/execute"]);
    assert.equal(doc.paths["/quote"], undefined);
    assert.deepEqual(doc.paths["/execute"].post["x-payment-info"].price, { mode: "fixed", currency: "USD", amount: "0.001" });
    const { example, schema } = requestOf("/execute", doc);
    assert.deepEqual(schema.properties.runtime.enum, ["node"]);
    assert.equal(example.runtime, "node");
    assert.equal(schema.properties.limits.properties.timeoutMs.maximum, 10000);
    const { required } = await unpaid("/execute", example, base);
    assert.deepEqual(validateDiscoveryExtension(required.extensions.bazaar), { valid: true });
    assert.deepEqual(required.extensions.bazaar.info.input.body, example);
  });

  await test("a site that sells nothing says so, and still prices", async () => {
    const base = world.siteUrls.quotesOnly;
    const doc = await documentAt(base);
    assert.deepEqual(paidIn(doc), []);
    assert.ok((await new Validator().validate(structuredClone(doc))).valid);
    assert.deepEqual((await get("/.well-known/x402", { base })).json.resources, []);
    assert.match((await get("/llms.txt", { base })).text, /Nothing is sold here now\./);
  });

  await test("a site whose settings are wrong tells nothing", async () => {
    for (const path of DOCUMENTS) {
      assertRefused(await send({ base: world.siteUrls.mistaken, path, method: "GET" }), "SERVICE_INTERNAL_FAILURE");
    }
  });
}

// Runs in the page, which knows no more of the site than its address: 402, payment, and the same again.
async function payAsPage({ url, body }) {
  const key = crypto.randomUUID();
  const ask = (headers) => fetch(url, { method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": key, ...headers }, body });
  const first = await ask({});
  const required = JSON.parse(atob(first.headers.get("PAYMENT-REQUIRED")));
  const { result: signature } = await window.testWallet0({ method: "sign", params: [required] });
  const payment = { "PAYMENT-SIGNATURE": signature, "Access-Control-Expose-Headers": "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE" };
  const paid = await ask(payment);
  const again = await ask(payment);
  return {
    origin: location.origin,
    statuses: [first.status, paid.status, again.status],
    text: await paid.text(),
    settlement: paid.headers.get("PAYMENT-RESPONSE"),
    replayed: again.headers.get("Idempotency-Replayed"),
  };
}
