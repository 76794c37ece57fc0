// The service's free routes, and what it says when nothing was paid. Addresses are below the page's own.
import { fromHeader } from "./coding.js";
import { Refusal } from "./words.js";

const JSON_TYPE = { "Content-Type": "application/json" };

/** What stands in a body that is no JSON, or none of ours: nothing. */
async function bodyOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

/** The error that an answer other than 2xx stands for. */
export async function refusal(response) {
  const body = await bodyOf(response);
  const { code = null, message = "" } = (response.status === 402 ? body.details : body.error) ?? {};
  return new Refusal({ status: response.status, code, message, retryAfter: Number(response.headers.get("Retry-After")) || null });
}

async function accepted(response) {
  if (!response.ok) {
    throw await refusal(response);
  }
  return response;
}

const load = async (path) => accepted(await fetch(path, { cache: "no-store" }));

export const get = async (path) => (await load(path)).json();

export const text = async (path) => (await load(path)).text();

/** {tier, price, limits, accepts} of a body; source and runtime may be missing. Throws a Refusal. */
export async function quote(body) {
  const response = await accepted(await fetch("quote", { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) }));
  return response.json();
}

/**
 * Sends a body without a payment → {required: what is to be paid (x402 version 2), clock: the server's Unix time in ms}.
 * Throws a Refusal where it is anything but the question for a payment.
 */
export async function ask(body) {
  const response = await fetch("execute", { method: "POST", headers: JSON_TYPE, body });
  const header = response.headers.get("PAYMENT-REQUIRED");
  if (response.status !== 402 || !header) {
    throw await refusal(response);
  }
  return { required: fromHeader(header), clock: Date.parse(response.headers.get("Date") ?? "") || Date.now() };
}
