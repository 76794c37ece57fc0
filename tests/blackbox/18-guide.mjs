// Every example in docs/api.md is run as it stands there, against this stack: the shell's one after the other in one bash, the
// programs by them or after them. What the page shows as an answer must be what came.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { jsonIn, readBlocks, writePrograms } from "./guide.mjs";
import { program } from "./tool.mjs";

const execute = promisify(execFile);
/** Members that another run has otherwise. */
const MEASURED = ["durationMs", "execution_time_ms"];

/** Is `actual` what the page shows? "…" stands for the rest of a string. */
function assertShown(actual, shown, where) {
  if (typeof shown === "string" && shown.endsWith("…")) {
    assert.ok(actual.startsWith(shown.slice(0, -1)), `${where}: ${actual}`);
  } else if (shown !== null && typeof shown === "object") {
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(shown).sort(), where);
    Object.entries(shown).forEach(([name, value]) => MEASURED.includes(name) || assertShown(actual[name], value, `${where}.${name}`));
  } else {
    assert.equal(actual, shown, where);
  }
}

export default async function guide(test, world) {
  const { http, https, ca } = world.stack;
  const folder = join(world.folder, "guide");
  const blocks = readBlocks();
  writePrograms(folder, blocks);
  const shell = blocks.map((block, index) => ({ ...block, next: blocks[index + 1] })).filter(({ language }) => language === "sh");
  const env = { PATH: `${folder}:${process.env.PATH}`, BASE: http, KEY: world.nextPayer().privateKey, NODE_EXTRA_CA_CERTS: ca };
  // As the page says: with `make run` the command is told which certificate to trust.
  writeFileSync(join(folder, "tollbox"), `#!/bin/sh\nexec '${program}' "$@" --ca '${ca}'\n`);
  // It says 503 while the sandboxes are too busy to tell how they are.
  writeFileSync(join(folder, "curl"), `#!/bin/sh\ncase "$*" in */health*) set -- -f --retry 60 --retry-delay 1 "$@" ;; esac\nexec /usr/bin/curl "$@"\n`);
  chmodSync(join(folder, "tollbox"), 0o755);
  chmodSync(join(folder, "curl"), 0o755);

  const blocksRun = new Map();
  await test("docs/api.md: its shell examples run, in their order, in one shell", async () => {
    const script = shell.map(({ code }, index) => `{\n${code}\n} >out-${index}`).join("\n");
    await execute("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env });
    shell.forEach((block, index) => blocksRun.set(block, readFileSync(join(folder, `out-${index}`), "utf8")));
  });

  for (const block of shell) {
    await test(`docs/api.md, ${block.heading}: ${block.code.split("\n").find((line) => /^(pay|curl|tollbox|python3|echo|call)/.test(line)).slice(0, 60)}`, () => {
      const text = blocksRun.get(block);
      const answers = jsonIn(text.replace(/^(data|event): /gm, ""));
      assert.ok(text.trim() !== "" || / >\S+$/m.test(block.code), "it says something");
      // What went wrong would be told in one of these ways; where the page speaks of a 402, one is what comes.
      for (const answer of answers.filter(({ x402Version }) => !(x402Version === 1 && block.code.includes("# 402")))) {
        assert.ok(!("error" in answer) || answer.error === null, JSON.stringify(answer));
        assert.ok(!answer.result?.isError, JSON.stringify(answer));
      }
      if (block.next?.language === "json" && block.next.heading === block.heading) {
        const shown = jsonIn(block.next.code);
        shown.forEach((value, index) => assertShown(answers.at(index - shown.length), value, `answer ${index}`));
      }
    });
  }

  await test("docs/api.md: a receipt's three checks say that it holds", () => {
    const text = blocksRun.get(shell.find(({ code }) => code.includes("verify-receipt")));
    assert.match(text, /^both digests hold\nsigned by did:web:/);
    assert.equal(text.match(/^ok {4}/gm).length, 4, text);
  });

  for (const [name, stdout] of [["pay.mjs", /^200 completed 42\n 0x/], ["v1/pay-v1.mjs", /^200 completed 42\n 0x/]]) {
    await test(`docs/api.md: ${name} pays`, async () => {
      const said = await execute("node", [name], { cwd: folder, env: { ...env, URL: `${https}/execute` } });
      assert.match(said.stdout, stdout);
    });
  }

  await test("docs/api.md: an example for every route of its table", () => {
    const table = readFileSync(new URL("../../docs/api.md", import.meta.url), "utf8").match(/^## Routes\n[^]*?\n- /m)[0];
    const routes = [...table.matchAll(/^\| (`(?:GET|POST) [^|]*) \|/gm)].flatMap(([, cell]) => [...cell.matchAll(/\/[\w./-]*/g)].map(([path]) => path));
    assert.ok(routes.length >= 15, String(routes));
    const code = shell.map((block) => block.code).join("\n");
    for (const route of routes) {
      assert.ok([`"$BASE${route}"`, `pay ${route} `].some((call) => code.includes(call)), route);
    }
  });
}
