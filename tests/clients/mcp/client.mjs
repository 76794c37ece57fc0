// The released MCP client: connects to a server by streamable HTTP.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { trustingFetch } from "../../devnet/fetch.mjs";

/**
 * → a connected client, to be closed by close(); `seen` gets what the transport sent and received: {status, type}; `ca`: a file of
 * the certificates to trust
 */
export async function connect({ url, headers = {}, seen = [], ca }) {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: async (target, init) => {
      const response = await trustingFetch(ca)(target, init);
      seen.push({ method: init?.method ?? "GET", status: response.status, type: response.headers.get("content-type") });
      return response;
    },
  });
  const client = new Client({ name: "tollbox-test", version: "1.0.0" });
  await client.connect(transport);
  return client;
}
