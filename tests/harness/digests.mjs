// Checks an answer of POST /execute against its receipt, knowing nothing but the wire contract (api.md section 6).
//   node digests.mjs REQUEST RESPONSE     two files: the exact body sent, the body received; ends with 0 if all digests hold
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

// RFC 8785: JavaScript's own spelling of strings and numbers, members sorted by UTF-16 units, which is what sort() does.
export function canonical(value) {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

export const requestDigest = (bytes) => sha256(bytes);

export function outputDigest({ exitCode, outcome, stderr, stdout, truncated }) {
  return sha256(canonical({ exitCode, outcome, stderr, stdout, truncated }));
}

/** Of what was asked for beside the output; null where that was nothing. */
export function extrasDigest({ outputs, result }) {
  if (outputs === undefined && result === undefined) {
    return null;
  }
  return sha256(canonical({ outputs: outputs ?? null, result: result ?? null }));
}

/** → [{name, told, computed}] */
export function compareDigests(requestBytes, response) {
  const { receipt } = response;
  return [
    { name: "requestDigest", told: receipt.requestDigest, computed: requestDigest(requestBytes) },
    { name: "outputDigest", told: receipt.outputDigest, computed: outputDigest(response) },
    { name: "extrasDigest", told: receipt.extrasDigest ?? null, computed: extrasDigest(response) },
  ].filter(({ told, computed }) => told !== null || computed !== null);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [request, response] = process.argv.slice(2);
  for (const { name, told, computed } of compareDigests(readFileSync(request), JSON.parse(readFileSync(response, "utf8")))) {
    console.log(`${name} ${computed} ${told === computed ? "as told" : `but the receipt says ${told}`}`);
    process.exitCode ||= told === computed ? 0 : 1;
  }
}
