// Many runs, and parts that die: nothing may leak, and service comes back by itself.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { controlGroups, findSleep, stillAlive, waking } from "../harness/stack.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const CLIENTS = 8;
const BACK_WITHIN_MS = 2000;
const SLOW_S = 7.9375;
const SLOW = JSON.stringify({ runtime: "python3", source: `import subprocess\nsubprocess.run(['sleep', '${SLOW_S}'])\nprint('run')` });
const ONCE = { payer: -1000n, seller: 1000n };

const list = (folder) => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Names of entries below `folder` that a user has left (the daemon's two users own nothing outside of their own folders). */
function ownedBy(folder, uids) {
  return list(folder).filter((name) => {
    try {
      return uids.includes(statSync(join(folder, name)).uid);
    } catch {
      return false;
    }
  });
}

const uidOf = (pid) => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

/** What each open descriptor of a process is. */
function descriptors(pid) {
  return list(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return []; // closed meanwhile
    }
  });
}

const sockets = (world) => {
  const { serve, gate, boxer } = world.processes();
  return [serve, gate, boxer].flatMap(({ pid }) => descriptors(pid)).filter((target) => target.startsWith("socket:")).length;
};

/** Everything that could leak, as numbers and lists that must be the same before and after. */
function inventory(world) {
  const { all, serve, gate, boxer } = world.processes();
  const uids = [uidOf(gate.pid), uidOf(boxer.pid)];
  const folder = dirname(world.stack.ca);
  const state = join(world.folder, "state");
  return {
    processes: all.length,
    mounts: readFileSync("/proc/self/mountinfo", "utf8").split("\n").filter((line) => /bwrap|newroot|\/box/.test(line)).length,
    descriptors: [serve, gate, boxer].map(({ pid }) => descriptors(pid).filter((target) => !target.startsWith("socket:")).length),
    files: [...list(folder), ...list(state)].sort(),
    bodies: list(join(folder, "nginx-body")).concat(list(join(folder, "nginx-fastcgi"))).length,
    owned: ["/tmp", "/var/tmp", "/dev/shm"].flatMap((place) => ownedBy(place, uids)),
    // Sandboxes that wait for a job are others than before, but not more.
    groups: controlGroups(`run-${new URL(world.stack.https).port}`).map((group) => group.replace(/\d+$/, "N")),
  };
}

export default async function load(test, world) {
  // Groups and namespaces go some milliseconds after the answer: what counts is what stays.
  const settled = async () => {
    await world.idle();
    let last = null;
    let same = 0;
    return until("nothing changes any more", () => {
      const now = inventory(world);
      same = JSON.stringify(now) === JSON.stringify(last) ? same + 1 : 0;
      last = now;
      return same === 3 && now;
    }, { withinMs: 30_000, everyMs: 300 });
  };

  /** All is as it was `before`, or will be. */
  const assertSettledAs = async (before) => {
    await world.idle();
    const same = () => JSON.stringify(inventory(world)) === JSON.stringify(before);
    await until("all is as before", same, { withinMs: 30_000, everyMs: 300 }).catch(() => {});
    assert.deepEqual(inventory(world), before);
  };

  await test("100 requests at concurrency 8 leak nothing", async () => {
    const hundred = async () => {
      let next = 0;
      const worker = async () => {
        while (next < 100) {
          const number = next++;
          const runtime = number % 4 === 0 ? "node" : "python3";
          const source = runtime === "node" ? `console.log(${number})` : `print(${number}); open('f', 'w').write('x' * 10000)`;
          const { stdout } = await world.run({ runtime, source, stdin: "x".repeat(300_000) });
          assert.equal(stdout, `${number}\n`);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, worker));
    };
    // What is opened once, and as many idle sandboxes as this demand calls for, are there before the count begins.
    await hundred();
    const before = await settled();
    const socketsBefore = sockets(world);
    await hundred();
    await assertSettledAs(before);
    // Connections to the facilitator are kept for the next: at most as many as were in use at once.
    assert.ok(sockets(world) <= socketsBefore + CLIENTS, `${socketsBefore} sockets before, ${sockets(world)} after`);
  }, { timeoutMs: 300_000 });

  await test("20 refused requests, floods and time-outs leak nothing", async () => {
    const before = await settled();
    const jobs = [
      { runtime: "python3", source: "while True: print('x' * 1000)", limits: { maxOutputBytes: 4096 } },
      { runtime: "python3", source: "import subprocess, time\nfor _ in range(20): subprocess.Popen(['sleep', '60'])\ntime.sleep(60)", limits: { timeoutMs: 500 } },
      { runtime: "python3", source: "x = bytearray(200 << 20)", limits: { maxMemoryBytes: 33554432 } },
      { runtime: "node", source: "process.kill(process.pid, 'SIGKILL')" },
    ];
    for (const job of jobs) {
      await Promise.all(Array.from({ length: 4 }, () => world.run(job)));
    }
    for (let index = 0; index < 20; index++) {
      await world.send({ body: "no JSON", headers: await world.payment({ payer: world.nextPayer() }) });
    }
    await assertSettledAs(before);
  }, { timeoutMs: 300_000 });

  await test("while 60 paid requests want to run at once, free ones are answered, and nobody pays for nothing", async () => {
    const body = JSON.stringify({ runtime: "python3", source: "import time\ntime.sleep(1)" });
    const buyers = await Promise.all(Array.from({ length: 60 }, async () => {
      const payer = world.nextPayer();
      return { payer, headers: await world.payment({ payer }) };
    }));
    const before = await world.held(world.info.payTo);
    let lastPaidAt = 0;
    const answers = Promise.all(buyers.map(async ({ headers }) => {
      const answer = await world.send({ body, headers });
      lastPaidAt = answer.status === 200 ? performance.now() : lastPaidAt;
      return answer;
    }));
    await sleep(500);
    assert.equal((await world.send({ path: "/health", method: "GET" })).status, 200);
    assert.equal((await world.send({ body: {} })).status, 402);
    const freeAt = performance.now();
    const runs = (await answers).filter((answer, index) => {
      if (answer.status === 200) {
        assertRun(answer, { world, body, payer: buyers[index].payer, amount: "1000" });
        return true;
      }
      // The same payer comes several times: while all slots are taken, none may hold more than an even share of the places.
      assertRefused(answer, answer.status === 429 ? "PAYER_CONCURRENCY_LIMITED" : "SERVICE_BUSY");
      return false;
    });
    assert.equal((await world.held(world.info.payTo)) - before, 1000n * BigInt(runs.length));
    assert.ok(freeAt < lastPaidAt, "the free ones were answered after all that paid");
  });

  // The web server buffers the one, but not the other.
  for (const [accept, megabytes, amount] of [["application/json", 16, "20000"], ["text/event-stream", 4, "5000"]]) {
    await test(`60 clients that do not read their answers (${accept}) hold nobody else up`, async () => {
      const job = { runtime: "python3", source: "import sys\nsys.stdout.write('x' * (int(sys.argv[1]) << 20))", args: [String(megabytes)], limits: { maxOutputBytes: megabytes << 20 } };
      const { body, header } = await world.run(job, { amount });
      const [[name, value]] = Object.entries(header);
      const { port } = new URL(world.stack.http);
      const lazy = [];
      try {
        // In waves: each adds to those of the daemon's threads that wait for a reader, if any do.
        for (let wave = 0; wave < 4; wave++) {
          for (let index = 0; index < 15; index++) {
            const socket = connect({ port, host: "127.0.0.1" }).on("error", () => {});
            socket.pause();
            socket.write(`POST /execute HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\n${name}: ${value}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
            lazy.push(socket);
          }
          await sleep(1000);
        }
        await Promise.race([world.run(HELLO), sleep(20_000).then(() => assert.fail("no paid run within 20 s"))]);
      } finally {
        lazy.forEach((socket) => socket.destroy());
      }
    });
  }

  /** Kills one part and says how long it took until all is there again. */
  async function killed(part) {
    const { pid, started } = world.processes()[part];
    process.kill(pid, "SIGKILL");
    const begin = performance.now();
    await until(`${part} is back`, async () => {
      const now = world.processes()[part];
      return now && (now.pid !== pid || now.started !== started) && (await world.health());
    }, { withinMs: BACK_WITHIN_MS + 20_000, everyMs: 20 });
    return performance.now() - begin;
  }

  /** Pays for a slow program, does `work` while it runs, and sends the same again until there is an answer. */
  async function interrupted(work) {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const { result, ...moved } = await world.moved(payer, async () => {
      const before = await world.held(payer.address);
      const first = world.send({ body: SLOW, headers }).catch((error) => error);
      await until("it was charged", async () => (await world.held(payer.address)) < before);
      await until("the program runs", () => findSleep(world.stack.pid, SLOW_S), { everyMs: 20 });
      await work();
      const { status, json } = await first;
      if (status !== undefined) {
        assert.ok([500, 502, 503].includes(status), `${status}`);
        assert.equal(json.error.billable, false);
      }
      return waking(world.stack.pid, SLOW_S, () => until("an answer", async () => {
        const answer = await world.send({ body: SLOW, headers });
        assert.ok([200, 500, 502, 503].includes(answer.status), answer.text);
        return answer.status === 200 && answer;
      }, { withinMs: 30_000, everyMs: 300 }));
    });
    return { payer, headers, result, moved };
  }

  for (const part of ["gate", "boxer"]) {
    await test(`the ${part} is killed: service is back within ${BACK_WITHIN_MS} ms, and a paid run works`, async () => {
      const { pid } = world.processes().serve;
      // The best of three: others may have the processors for a while, but not each time.
      const tookMs = [];
      while (tookMs.length < 3 && !(tookMs.at(-1) < BACK_WITHIN_MS)) {
        tookMs.push(await killed(part));
      }
      assert.ok(tookMs.at(-1) < BACK_WITHIN_MS, `${tookMs.map(Math.round)} ms`);
      assert.equal(world.processes().serve.pid, pid, "the supervisor is the same");
      await world.run(HELLO);
    });

    await test(`the ${part} is killed in mid-run: the same payment gets its run, with one charge`, async () => {
      const { payer, headers, result, moved } = await interrupted(() => killed(part));
      assertRun(result, { world, body: SLOW, payer, amount: "1000" });
      assert.equal(result.json.stdout, "run\n");
      assert.deepEqual(moved, ONCE);
      assert.ok(result.bytes.equals((await world.send({ body: SLOW, headers })).bytes), "and it is kept");
    });
  }

  await test("the gate is killed in mid-settlement: no second charge, and nobody is asked to sign again", async () => {
    const payer = world.nextPayer();
    const headers = await world.payment({ payer });
    const release = world.faults.hold({ settle: { mode: "none", times: 1 } });
    const { result, ...moved } = await world.moved(payer, async () => {
      const before = await world.held(payer.address);
      const first = world.send({ body: SLOW, headers });
      await until("it was charged", async () => (await world.held(payer.address)) < before);
      await killed("gate");
      assert.equal((await first).status, 502);
      release();
      return waking(world.stack.pid, SLOW_S, () => world.send({ body: SLOW, headers }));
    });
    assert.deepEqual(moved, ONCE);
    if (result.status !== 200) {
      assertRefused(result, "PAYMENT_SETTLEMENT_INDETERMINATE");
    }
  });

  await test("the supervisor is killed: nothing of it stays, and after a new start the run that was owed is had", async () => {
    const { payer, result, moved } = await interrupted(async () => {
      const { all, serve } = world.processes();
      process.kill(serve.pid, "SIGKILL");
      assert.equal(await world.stack.exited, 1, "run.sh says that something went wrong");
      await until("all is gone", () => stillAlive(all).length === 0);
      world.send.close();
      await world.start();
    });
    assertRun(result, { world, body: SLOW, payer, amount: "1000" });
    assert.deepEqual(moved, ONCE);
  });
}
