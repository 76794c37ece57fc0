// Checks an answer of POST /execute against its receipt, knowing nothing but the wire contract (api.md section 6).
//   node digests.mjs REQUEST RESPONSE     two files: the exact body sent, the body received; ends with 0 if both digests hold
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

/** → [{name, told, computed}] */
export function compareDigests(requestBytes, response) {
  return [
    { name: "requestDigest", told: response.receipt.requestDigest, computed: requestDigest(requestBytes) },
    { name: "outputDigest", told: response.receipt.outputDigest, computed: outputDigest(response) },
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [request, response] = process.argv.slice(2);
  for (const { name, told, computed } of compareDigests(readFileSync(request), JSON.parse(readFileSync(response, "utf8")))) {
    console.log(`${name} ${computed} ${told === computed ? "as told" : `but the receipt says ${told}`}`);
    process.exitCode ||= told === computed ? 0 : 1;
  }
}
