// What this site sells and for how much, asked of the service itself.
import { get, quote } from "./service.js";

const MIB = 2 ** 20;

// Limits to ask the price of: none, then those of the larger tiers as shipped. Which tier holds them the site decides.
const QUESTIONS = [
  {},
  { timeoutMs: 60_000, maxMemoryBytes: 512 * MIB, maxOutputBytes: 4 * MIB, workDirBytes: 256 * MIB },
  { timeoutMs: 300_000, maxMemoryBytes: 2048 * MIB, maxOutputBytes: 16 * MIB, workDirBytes: 1024 * MIB },
];

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

/** → a list of {tier, price, limits, accepts}, one for each tier that was met, with the largest limits that it was seen to hold */
export async function tiers() {
  const quotes = await Promise.all(QUESTIONS.map((limits) => quoteOrNull({ limits })));
  const byName = new Map(quotes.filter(Boolean).map((told) => [told.tier, told]));
  return [...byName.values()].sort((one, other) => one.priceUsd - other.priceUsd);
}

/** → the names of the runtimes that the host has and this site offers */
export async function runtimes() {
  const { pool } = await get("health");
  const names = Object.keys(pool);
  const quotes = await Promise.all(names.map((runtime) => quoteOrNull({ runtime })));
  return names.filter((_, index) => quotes[index]);
}
