// Small HTTP server helpers shared by the facilitator, the fault proxy and the test seller.
import http from "node:http";

/** The whole request body as a Buffer, or null when it is longer than `limit` (the rest is read and dropped). */
export async function readBody(request, limit) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= limit) {
      chunks.push(chunk);
    }
  }
  return size <= limit ? Buffer.concat(chunks) : null;
}

export function sendJson(response, status, value, headers = {}) {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Serves `handler` on 127.0.0.1; port 0 takes a free one. → {url, stop()} */
export async function serve(handler, port = 0) {
  const server = http.createServer((request, response) => {
    handler(request, response).catch((error) => {
      if (response.headersSent) {
        response.destroy();
      } else {
        sendJson(response, 500, { error: error.message });
      }
    });
  });
  // Longer than any client keeps an idle connection: else it may send a request into one that is just being closed,
  // and a settle that dies so looks like an unknown outcome.
  server.keepAliveTimeout = 120_000;
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
