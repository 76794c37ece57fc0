// The page that the processes share with the test (fcgi/base/point.h): which point is armed, and what became of it.
import { chmodSync, closeSync, openSync, readFileSync, readSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCES = fileURLToPath(new URL("../../fcgi", import.meta.url));
const PAGE_BYTES = 4096;
const AT = { state: 0, left: 4, self: 8, clock: 16, name: 24 };
const NAME_BYTES = 48;

export const STATE = { idle: 0, armed: 1, asked: 2, fired: 3 };

/** The names of all points, as the sources have them. */
export function allPoints() {
  const names = readdirSync(SOURCES, { recursive: true })
    .filter((file) => file.endsWith(".c"))
    .flatMap((file) => [...readFileSync(join(SOURCES, file), "utf8").matchAll(/\bPOINT\("([a-z.]+)"\)/g)])
    .map(([, name]) => name);
  return [...new Set(names)].sort();
}

/** → {path, arm({name, left, self}), disarm(), state(), done(), jump(seconds), close()} */
export function createPage(path) {
  const fd = openSync(path, "w+");
  chmodSync(path, 0o666); // the processes have users of their own
  const bytes = Buffer.alloc(PAGE_BYTES);
  writeSync(fd, bytes, 0, PAGE_BYTES, 0);

  const put = (at, value) => {
    const word = Buffer.alloc(4);
    word.writeUInt32LE(value);
    writeSync(fd, word, 0, 4, at);
  };
  return {
    path,
    // The state goes last: from then on the rest counts.
    arm({ name, left, self }) {
      put(AT.state, STATE.idle);
      const text = Buffer.alloc(NAME_BYTES);
      text.write(name, "latin1");
      writeSync(fd, text, 0, NAME_BYTES, AT.name);
      put(AT.left, left);
      put(AT.self, self ? 1 : 0);
      put(AT.state, STATE.armed);
    },
    disarm: () => put(AT.state, STATE.idle),
    done: () => put(AT.state, STATE.fired),
    state() {
      const word = Buffer.alloc(4);
      readSync(fd, word, 0, 4, AT.state);
      return word.readUInt32LE(0);
    },
    /** Adds so many seconds to the wall clock that the processes see. */
    jump(seconds) {
      const word = Buffer.alloc(8);
      word.writeBigInt64LE(BigInt(seconds));
      writeSync(fd, word, 0, 8, AT.clock);
    },
    close: () => closeSync(fd),
  };
}
