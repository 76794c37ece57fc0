// Clients that are told a host's address and no more: each finds by itself what is sold there and how, and buys a run.
// People's browsers do so in 14, a page of another origin in 12.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "../clients/mcp/client.mjs";
import { payV1 } from "../clients/v1/client.mjs";
import { privateKeyToAccount } from "../devnet/node_modules/viem/_esm/accounts/index.js";
import { decodeHeader, payV2, paymentFor, readAnswer, trustingFetch } from "../devnet/client.mjs";
import { readBlocks, writePrograms } from "./guide.mjs";

const execute = promisify(execFile);
const fromPackage = (path) => import(new URL(`../clients/discovery/node_modules/${path}`, import.meta.url));

export default async function alone(test, world) {
  const { https: host, ca } = world.stack;
  const fetchFrom = async (url, init) => readAnswer(await trustingFetch(ca)(new URL(url, host), init));

  /** `buy(payer)` gives the answer's object: one that costs and tells what was asked for. */
  const buys = (name, buy) =>
    test(name, async () => {
      const payer = world.nextPayer();
      const { result, ...moved } = await world.moved(payer, () => buy(payer));
      assert.equal(result.outcome, "completed", JSON.stringify(result));
      assert.equal(result.stdout, "42\n");
      assert.deepEqual(moved, { payer: -1000n, seller: 1000n });
    });

  await buys("@x402/fetch, by /openapi.json", async ({ privateKey: key }) => {
    const { json: doc } = await fetchFrom("/openapi.json");
    const [path, { post }] = Object.entries(doc.paths).find(([, item]) => item.post?.["x-payment-info"]?.protocols.some((protocol) => "x402" in protocol));
    return (await payV2({ url: `${doc.servers[0].url}${path}`, key, ca, body: post.requestBody.content["application/json"].example })).json;
  });

  await buys("x402-fetch of version 1, by /.well-known/x402 and the 402 of what stands there", async ({ privateKey: key }) => {
    const { json: { resources: [url] } } = await fetchFrom("/.well-known/x402");
    const { json: demand } = await fetchFrom(url, { method: "POST" });
    const fields = Object.entries(demand.accepts[0].outputSchema.input.bodyFields).filter(([, { required }]) => required);
    const known = { runtime: "python3", source: "print(42)" };
    assert.deepEqual(fields.map(([name]) => name).sort(), Object.keys(known), "it says which members it needs");
    assert.ok(fields.find(([name]) => name === "runtime")[1].enum.includes(known.runtime));
    return (await payV1({ url, key, ca, body: known })).json;
  });

  await buys("curl, by /llms.txt and the sign.mjs of docs/api.md", async ({ privateKey }) => {
    const folder = join(world.folder, "alone");
    const blocks = readBlocks();
    writePrograms(folder, blocks);
    const { code: pay } = blocks.find(({ code }) => code.startsWith("pay() {"));
    const script = `${pay.slice(0, pay.indexOf("\n}\n") + 3)}
curl -s "$BASE/llms.txt" >llms.txt
url=$(sed -n 's/.*\`POST \\(http[^\`]*\\)\`.*/\\1/p' llms.txt | head -n 1)
body=$(sed -n '/^\`\`\`json$/,/^\`\`\`$/p' llms.txt | sed -n '2,/^\`\`\`$/{/^\`\`\`$/q;p}')
pay "\${url#"$BASE"}" "$body"`;
    const env = { PATH: process.env.PATH, BASE: host, KEY: privateKey, CURL_CA_BUNDLE: ca };
    const { stdout } = await execute("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env });
    return JSON.parse(stdout);
  });

  await buys("the MCP SDK's client, by /openapi.json", async ({ privateKey }) => {
    const { json: doc } = await fetchFrom("/openapi.json");
    const [path] = Object.entries(doc.paths).find(([, { post }]) => post?.tags.includes("mcp"));
    const client = await connect({ url: `${doc.servers[0].url}${path}`, ca });
    try {
      const { tools: [{ name }] } = await client.listTools();
      const { structuredContent: demand } = await client.callTool({ name, arguments: {} });
      const { example } = demand.extensions.bazaar.info.input;
      const [payment] = Object.values(await paymentFor(demand, privateKey));
      const result = await client.callTool({ name, arguments: example, _meta: { "x402/payment": decodeHeader(payment) } });
      return result.structuredContent;
    } finally {
      await client.close();
    }
  });

  // A client that pays any x402 API, and shares no code with the official ones. Of the generic clients on npm it takes any
  // address, chain and key. agentcash, the best known, pays on Base's own chain only and asks its maker's server for the balance
  // first; its reader of origins finds the site here. @x402/axios and x402-axios are the official client once more.
  // The reader trusts what node trusts: this site has its own address without TLS.
  await buys("@faremeter/fetch, by agentcash's reader of whole origins", async ({ privateKey }) => {
    const reader = await fromPackage("@agentcash/discovery/dist/index.js");
    const { wrap } = await fromPackage("@faremeter/fetch/dist/src/index.js");
    const { createPaymentHandler } = await fromPackage("@faremeter/payment-evm/dist/src/exact/index.js");
    const found = await reader.discoverOriginSchema({ target: world.siteUrls.itself });
    const { path } = found.endpoints.find(({ authMode, protocols }) => authMode === "paid" && protocols.includes("x402"));
    const url = new URL(path, world.siteUrls.itself).href;
    const { advisories } = await reader.checkEndpointSchema({ url, probe: true });
    const { paymentRequiredBody } = advisories.find(({ method }) => method === "POST");
    const account = privateKeyToAccount(privateKey);
    const handler = createPaymentHandler({ chain: { id: 84532, name: "Base Sepolia" }, address: account.address, account });
    const body = JSON.stringify(paymentRequiredBody.extensions.bazaar.info.input.body);
    return (await wrap(fetch, { handlers: [handler], retryCount: 0 })(url, { method: "POST", body })).json();
  });
}
