// What this site sells and for how much, asked of the service itself.
import { get, quote, text } from "./service.js";

// A tier's limits as /llms.txt lists them: name, price, then the four.
const TIER_ROW = /^\| \S+ \| \$[0-9.]+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm;

/** null where the service refuses the body; throws for anything else */
async function quoteOrNull(body) {
  try {
    return await quote(body);
  } catch (error) {
    if (error.status === 400) {
      return null;
    }
    throw error;
  }
}

/** The limits of each tier; where the site does not list them only those that hold without any named. */
async function limitsToAsk() {
  const list = await text("llms.txt").catch(() => "");
  const rows = [...list.matchAll(TIER_ROW)].map(([, ...numbers]) => numbers.map(Number));
  const limits = rows.map(([timeoutMs, maxMemoryBytes, maxOutputBytes, workDirBytes]) => ({ timeoutMs, maxMemoryBytes, maxOutputBytes, workDirBytes }));
  return limits.length > 0 ? limits : [{}];
}

/** → a list of {tier, price, limits, accepts}, the cheapest first. What is shown is what /quote says of the tier's own limits. */
export async function tiers() {
  const quotes = await Promise.all((await limitsToAsk()).map((limits) => quoteOrNull({ limits })));
  return quotes.filter(Boolean).sort((one, other) => one.priceUsd - other.priceUsd);
}

/** → the names of the runtimes that this site offers */
export async function runtimes() {
  const { paths } = await get("openapi.json");
  return paths["/execute"].post.requestBody.content["application/json"].schema.properties.runtime.enum;
}
