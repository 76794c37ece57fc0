// The examples of docs/api.md, taken out of it to be run.
import { readFileSync, symlinkSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);
const packages = (path) => fileURLToPath(new URL(`tests/${path}/node_modules`, ROOT));

/** → [{language, code, heading}] in the order of the page */
export function readBlocks() {
  const text = readFileSync(new URL("docs/api.md", ROOT), "utf8");
  let heading = "";
  return [...text.matchAll(/^#+ (.+)$|^```(\w*)\n([^]*?)^```$/gm)].flatMap(([, title, language, code]) => {
    heading = title ?? heading;
    return title ? [] : [{ language, code, heading }];
  });
}

/** The programs that say their file's name in their first line, in `folder`, each where it finds its packages. */
export function writePrograms(folder, blocks = readBlocks()) {
  mkdirSync(folder);
  symlinkSync(packages("devnet"), join(folder, "node_modules"));
  mkdirSync(join(folder, "v1"));
  symlinkSync(packages("clients/v1"), join(folder, "v1/node_modules"));
  for (const { code } of blocks) {
    const [, name] = /^(?:\/\/|#) ([\w-]+\.(?:mjs|py))\b/.exec(code) ?? [];
    if (name) {
      writeFileSync(join(folder, /-v1\./.test(name) ? "v1" : "", name), code);
    }
  }
}

/** The JSON objects in a text, whatever stands between them and has braces too. */
export function jsonIn(text) {
  const found = [];
  let depth = 0;
  let begin = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === "{" && depth++ === 0) {
      begin = index;
    } else if (token === "}" && --depth === 0) {
      found.push(parseOrNull(text.slice(begin, index + 1)));
    }
  }
  return found.filter((value) => value !== null);
}

function parseOrNull(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
