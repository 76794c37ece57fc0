// Bodies that are a little wrong, to see whether a JSON Schema and the server say the same of each.

/** What the server refuses and no schema can say: by the words of the refusal. */
const BEYOND = [
  ["source, stdin and code are measured in bytes", /^(source|stdin|code) is over /],
  ["args, env and files have a limit over all", / over (32 KiB|16 MiB \(16777216 bytes\)) in all$/],
  ["a part of a path is measured in bytes", /of at most 255 bytes$/],
  ["the entry file depends on the source", /is the entry file that source is written to$/],
  ["no file is another's folder", /is a file and the folder of/],
  ["source and files fit the work folder", /which limits\.workDirBytes .* does not hold$/],
  ["one tier holds all four limits", /^limits: no offered tier holds /],
];

/** The rule beyond schemas that a refusal is about, or undefined. */
export const beyondSchemas = (message) => BEYOND.find(([, words]) => words.test(message))?.[0];

const NAMES = ["x".repeat(255), "x".repeat(256), `${"d/".repeat(15)}x`, `${"d/".repeat(16)}x`];

const VALUES = [
  null, true, false, 0, -1, 1, 1.5, 99, 100, 1023, 1024, 10000, 300000, 300001, 33554432, 67108864, 2147483648, 1e300,
  "", "a", "a/b", "../x", "/etc", ".", "a//b", "..a", ".a", "a.", "a\0b", "é", "python3", "python", "node", "javascript", "cobol", "main",
  ...NAMES, "*.txt", "[a-z]", "**/x",
  [], {}, [""], ["a", "b"], [1], ["a\0b"], [["a"]], Array(64).fill("a"), Array(65).fill("a"),
  { a: "x" }, { a: 1 }, { "": "x" }, { A: "x" }, { "1A": "x" }, { "A-B": "x" }, { A: "a\0b" }, { LD_PRELOAD: "x" }, { PYTHONPATH: "x" }, { NODE_OPTIONS: "x" }, { R_HOME: "x" },
  { a: { base64: "AP8=" } }, { a: { base64: "AP8" } }, { a: { base64: "AP9=" } }, { a: { base64: "-_8" } }, { a: { base64: "+_8" } }, { a: { base64: "!" } }, { a: { base64: "A" } },
  { a: { base64: 1 } }, { a: {} }, { a: { base64: "", x: 1 } }, { a: ["x"] }, { "a/../b": "x" }, { "a\0b": "x" },
  { timeoutMs: 100 }, { timeoutMs: 99 }, { timeoutMs: "100" }, { timeoutms: 100 }, { timeoutMs: null }, { maxMemoryBytes: 33554432 }, { maxMemoryBytes: 67108864 },
  { maxOutputBytes: 1023 }, { workDirBytes: 1048575 }, { workDirBytes: 1073741824, timeoutMs: 300000 },
];

/** Values at the edges of what `schema` says, just inside and just outside. */
function edges(schema) {
  const list = (count) => Array(count).fill("a");
  const map = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`v${index}`, "x"]));
  const around = (edge, make) => (edge === undefined ? [] : [edge - 1, edge, edge + 1].map(make));
  return [
    ...around(schema.minimum, (value) => value),
    ...around(schema.maximum, (value) => value),
    ...around(schema.maxLength, (length) => "x".repeat(length)).slice(1),
    ...around(schema.maxItems, list),
    ...around(schema.maxProperties, map),
    ...(schema.enum ?? []),
  ];
}

/** Bodies with one member at an edge of its own schema, or of any value at all; likewise one level down. */
export function bodiesAtEdges(schema, valid) {
  const all = [...VALUES, ...NAMES.map((name) => ({ [name]: "x" }))];
  return Object.entries(schema.properties).flatMap(([name, member]) => [
    ...[...all, ...edges(member)].map((value) => ({ ...valid, [name]: value })),
    ...Object.entries(member.properties ?? {}).flatMap(([inner, rule]) => [...all, ...edges(rule)].map((value) => ({ ...valid, [name]: { [inner]: value } }))),
  ]);
}

/** A repeatable source of numbers below `below` (mulberry32). */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** `count` bodies made from the valid ones: members replaced, dropped, renamed, added, at the top or one level down. */
export function bodiesLike(valid, names, count, seed) {
  const next = numbers(seed);
  const pick = (list) => list[next(list.length)];
  const change = (object) => {
    const keys = Object.keys(object);
    const key = keys.length > 0 ? pick(keys) : pick(names);
    switch (next(6)) {
      case 0:
        delete object[key];
        break;
      case 1:
        object[`${key}s`] = object[key];
        break;
      case 2:
        object[pick(names)] = pick(VALUES);
        break;
      case 3:
        if (object[key] && typeof object[key] === "object" && !Array.isArray(object[key])) {
          change(object[key]);
          break;
        }
      // falls through
      default:
        object[key] = pick(VALUES);
    }
  };
  return Array.from({ length: count }, () => {
    const body = structuredClone(pick(valid));
    for (let times = next(3); times >= 0; times--) {
      change(body);
    }
    return body;
  });
}
