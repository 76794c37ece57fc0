// The ledger's disk runs full, or turns read-only under it as one with an error does: nobody pays for what cannot be
// recorded, and what was paid before is still had once the disk is well.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeV2, signV2 } from "../devnet/client.mjs";
import { findSleep, startStack, waking } from "../harness/stack.mjs";
import { createSender } from "./http.mjs";
import { until } from "./runner.mjs";
import { assertRefused } from "./shape.mjs";
import { payments } from "./tool.mjs";
import { NDJSON, openStream } from "./streams.mjs";
import { HELLO, siteSettings } from "./world.mjs";

const DISK_MIB = 8;
const ONCE = { payer: -1000n, seller: 1000n };
const NOTHING = { payer: 0n, seller: 0n };
const BIG = { runtime: "python3", source: "import subprocess\nprint('x' * 300000)\nsubprocess.run(['sleep', '8.25'])" };

/** A small disk in a file, with a file system that knows errors → {at, fill(), free(), turnReadOnly(), mend(), remove()} */
function createDisk() {
  const folder = mkdtempSync(join(tmpdir(), "tollbox-disk."));
  const image = join(folder, "image");
  const at = join(folder, "at");
  const filler = join(at, "filler");
  chmodSync(folder, 0o755); // the service has users of its own
  mkdirSync(at);
  const mount = () => execFileSync("mount", ["-o", "loop,errors=remount-ro", image, at]);
  const unmount = () => execFileSync("umount", [at]);
  execFileSync("truncate", ["-s", `${DISK_MIB}M`, image]);
  execFileSync("mkfs.ext4", ["-q", "-m", "0", image]);
  mount();
  return {
    at,
    // To the last byte: large blocks first, then small ones.
    fill() {
      const fd = openSync(filler, "a");
      for (const size of [1 << 16, 1 << 12, 1 << 9]) {
        try {
          for (;;) {
            writeSync(fd, Buffer.alloc(size));
          }
        } catch (error) {
          assert.equal(error.code, "ENOSPC");
        }
      }
      closeSync(fd);
    },
    free: () => rmSync(filler),
    // What the kernel does by itself after an error of the disk.
    turnReadOnly: () => execFileSync("mount", ["-o", "remount,abort", at]),
    async mend() {
      unmount();
      // Whoever has copied the table of mounts meanwhile, as a sandbox that starts, has the disk a little longer.
      const inUse = () => execFileSync("losetup", ["-j", image], { encoding: "utf8" });
      await until("nobody has the disk any more", () => inUse() === "", { withinMs: 60_000 });
      try {
        execFileSync("e2fsck", ["-p", image]);
      } catch (error) {
        assert.ok(error.status <= 1, `e2fsck ${error.status}: ${error.stdout}`); // 1: mended
      }
      mount();
    },
    remove() {
      unmount();
      rmSync(folder, { recursive: true });
    },
  };
}

export default async function disks(test, world) {
  const disk = createDisk();
  const log = openSync(world.logFile, "a");
  let stack;
  let send;

  const start = async () => {
    const env = {
      ...siteSettings(world.info),
      TOLLBOX_FACILITATOR_URL: world.faults.url,
      TOLLBOX_RPC_URL: world.info.rpcUrl,
      TOLLBOX_PORT: "0",
      TOLLBOX_TLS_PORT: "0",
      TOLLBOX_PUBLIC_URL: "https://disk.example", // the same site after a new start, whatever its port
      TOLLBOX_STATE_DIR: join(disk.at, "state"),
    };
    stack = await startStack({ env, stderr: log });
    send = createSender(stack.https, stack.ca);
  };
  const stop = async () => {
    send.close();
    return stack.stop();
  };
  const pay = async () => {
    const payer = world.nextPayer();
    const { required } = await send({ body: HELLO });
    const [requirements] = required.accepts;
    return { payer, headers: encodeV2({ requirements, payload: await signV2(requirements, payer.privateKey) }) };
  };
  const assertAnswered = (answer, stdout) => {
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.stdout, stdout);
  };

  try {
    await start();

    await test("a full disk: nothing is charged that cannot be recorded; with room again the same payment works", async () => {
      const { payer, headers } = await pay();
      disk.fill();
      const { result: refused, ...moved } = await world.moved(payer, () => send({ body: HELLO, headers }));
      assertRefused(refused, "SERVICE_INTERNAL_FAILURE");
      assert.deepEqual(moved, NOTHING);
      assert.equal((await send({ path: "/health", method: "GET" })).status, 200);
      disk.free();
      const { result: answer, ...then } = await world.moved(payer, () => send({ body: HELLO, headers }));
      assertAnswered(answer, "hello\n");
      assert.deepEqual(then, ONCE);
    });

    await test("the disk runs full while the facilitator settles: what it said cannot be recorded, and the chain is asked later", async () => {
      const { payer, headers } = await pay();
      const release = world.faults.hold({ settle: { mode: "none", times: 1 } });
      const { result: answer, ...moved } = await world.moved(payer, async () => {
        const before = await world.held(payer.address);
        const first = send({ body: HELLO, headers });
        await until("it was charged", async () => (await world.held(payer.address)) < before, { everyMs: 10 });
        disk.fill();
        release();
        assertRefused(await first, "PAYMENT_SETTLEMENT_INDETERMINATE");
        disk.free();
        return until("an answer", async () => {
          const again = await send({ body: HELLO, headers });
          assert.ok([200, 503].includes(again.status), again.text);
          return again.status === 200 && again;
        }, { withinMs: 30_000, everyMs: 200 });
      });
      assertAnswered(answer, "hello\n");
      assert.deepEqual(moved, ONCE);
    });

    await test("what the full disk left in the middle is found though its payer never comes back", async () => {
      const { payer, headers } = await pay();
      const before = await world.held(payer.address);
      world.faults.set({ settle: { mode: "delay", ms: 1000, times: 1 } });
      const first = send({ body: HELLO, headers });
      await until("it was charged", async () => (await world.held(payer.address)) < before, { everyMs: 10 });
      disk.fill();
      assertRefused(await first, "PAYMENT_SETTLEMENT_INDETERMINATE");
      const stands = async (state) => (await payments({ folder: disk.at }, state)).some((line) => line.includes(payer.address));
      assert.ok(await stands("settling"));
      disk.free();
      // A round each minute, then a look at the chain five seconds later.
      await until("it is known to be paid", () => stands("settled"), { withinMs: 100_000, everyMs: 500 });
      const { result: answer, ...then } = await world.moved(payer, () => send({ body: HELLO, headers }));
      assertAnswered(answer, "hello\n");
      assert.deepEqual(then, NOTHING);
    });

    await test("the disk runs full while a paid program runs: its answer is had once there is room, for one charge", async () => {
      const { payer, headers } = await pay();
      const { result: answer, ...moved } = await world.moved(payer, async () => {
        const first = await openStream({ base: stack.https, ca: stack.ca, body: JSON.stringify(BIG), headers, accept: NDJSON });
        await until("it runs", () => findSleep(stack.pid, 8.25), { everyMs: 10 });
        disk.fill();
        await waking(stack.pid, 8.25, () => first.ended);
        const { type, data } = first.events.at(-1);
        assert.equal(type, "error", first.text.slice(0, 500));
        assert.equal(data.billable, false, JSON.stringify(data));
        disk.free();
        return waking(stack.pid, 8.25, () => until("an answer", async () => {
          const again = await send({ body: BIG, headers });
          assert.ok([200, 500, 503].includes(again.status), again.text);
          return again.status === 200 && again;
        }, { withinMs: 30_000, everyMs: 200 }));
      });
      assertAnswered(answer, `${"x".repeat(300_000)}\n`);
      assert.deepEqual(moved, ONCE);
    });

    await test("the disk turns read-only: nothing is charged, what was answered is answered again; after a mend all goes on", async () => {
      const old = await pay();
      const first = await send({ body: HELLO, headers: old.headers });
      assertAnswered(first, "hello\n");
      const { payer, headers } = await pay();
      disk.turnReadOnly();
      const { result: refused, ...moved } = await world.moved(payer, () => send({ body: HELLO, headers }));
      assert.equal(refused.status >= 500, true, refused.text);
      assert.equal(refused.json.error.billable, false);
      assert.deepEqual(moved, NOTHING);
      await stop();
      await disk.mend();
      await start();
      const { result: kept, ...replayed } = await world.moved(old.payer, () => send({ body: HELLO, headers: old.headers }));
      assert.ok(kept.bytes.equals(first.bytes), kept.text);
      assert.deepEqual(replayed, NOTHING);
      const { result: answer, ...then } = await world.moved(payer, () => send({ body: HELLO, headers }));
      assertAnswered(answer, "hello\n");
      assert.deepEqual(then, ONCE);
    });

    await test("a state folder that cannot be written stops the start, and the log says why", async () => {
      await stop();
      disk.turnReadOnly();
      const before = readFileSync(world.logFile, "utf8").length;
      await assert.rejects(start(), /ended/);
      assert.match(readFileSync(world.logFile, "utf8").slice(before), /Read-only file system/);
    });
  } finally {
    await stack?.stop();
    disk.remove();
    closeSync(log);
  }
}
