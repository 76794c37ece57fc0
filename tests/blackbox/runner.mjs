// Counts tests. Each prints "ok   name" or "FAIL name" with the reason.
import { setTimeout as sleep } from "node:timers/promises";

const TEST_TIMEOUT_MS = 120_000;

/** → {test(name, work), passed, failed}; `work` fails by throwing, or by taking longer than `timeoutMs` */
export function createRunner() {
  const runner = { passed: 0, failed: 0, prefix: "" };
  runner.test = async (name, work, { timeoutMs = TEST_TIMEOUT_MS } = {}) => {
    const begin = performance.now();
    const tooLong = new AbortController();
    try {
      await Promise.race([
        work(),
        sleep(timeoutMs, null, { signal: tooLong.signal }).then(() => {
          throw new Error(`took longer than ${timeoutMs / 1000} s`);
        }),
      ]);
      runner.passed += 1;
      const seconds = (performance.now() - begin) / 1000;
      console.log(`ok   ${runner.prefix}${name}${seconds >= 2 ? ` (${seconds.toFixed(1)} s)` : ""}`);
    } catch (error) {
      runner.failed += 1;
      console.log(`FAIL ${runner.prefix}${name}\n${String(error.stack ?? error).replace(/^/gm, "     ")}`);
    } finally {
      tooLong.abort();
    }
  };
  return runner;
}

/** Calls `ask` until it gives something true, or throws after `withinMs`. */
export async function until(what, ask, { withinMs = 60_000, everyMs = 50 } = {}) {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) {
      return answer;
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    }
    await sleep(everyMs);
  }
}
