// How the programs of this folder live: say where they are in one line of JSON, then run until told to stop.
import { realpathSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

/** Whether the module `import.meta.url` is the program that node was asked to run, rather than an import of it. */
export const isProgram = (url) => Boolean(process.argv[1]) && url === pathToFileURL(realpathSync(process.argv[1])).href;

/** node's parseArgs; what it does not like ends the program with 2. */
export function readOptions(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

/** The number in the command line's `text`; ends the program with 2 when it is none. */
export function numberOption(name, text, { min, max, integer = true }) {
  const number = Number(text);
  if (text.trim() === "" || !(number >= min && number <= max) || (integer && !Number.isInteger(number))) {
    console.error(`--${name}: wanted a number from ${min} to ${max}`);
    process.exit(2);
  }
  return number;
}

/**
 * start() → {info, stop(), failed?}; prints `info` once on stdout, and writes it to the file `out` too (by rename, so that
 * who waits for the file never reads half of it). Ends with 0 on SIGTERM or SIGINT, with `exitWithStdin` also when standard
 * input is closed, and with 1 when the promise `failed` is kept.
 */
export async function runInForeground(start, { out, exitWithStdin = false }) {
  const asked = new Promise((resolve) => {
    process.once("SIGTERM", resolve);
    process.once("SIGINT", resolve);
    if (exitWithStdin) {
      process.stdin.once("end", resolve).once("error", resolve).resume();
    }
  });

  const service = await start();
  const line = `${JSON.stringify(service.info)}\n`;
  if (out) {
    const unfinished = `${out}.${process.pid}.tmp`;
    await writeFile(unfinished, line);
    await rename(unfinished, out);
  }
  process.stdout.write(line);

  const failure = await Promise.race([asked.then(() => null), service.failed ?? asked]);
  await service.stop();
  if (failure instanceof Error) {
    console.error(failure.message);
  }
  // Not left to the event loop: idle keep-alive connections and standard input would hold it for a while.
  process.exit(failure instanceof Error ? 1 : 0);
}
