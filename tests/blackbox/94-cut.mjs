// The gate dies while it hands an answer to nginx: the client is told by the end of the connection, at once, that it has half an
// answer, and the same payment fetches the whole one.
import assert from "node:assert/strict";
import http2 from "node:http2";
import https from "node:https";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { findSleep, waking } from "../harness/stack.mjs";
import { payments } from "./tool.mjs";
import { assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";

const MIB = 1024 * 1024;
/** More than nginx and the sockets between take before it is read. */
const OUTPUT = 3 * MIB;
/** nginx keeps idle connections for 75 s. */
const SOON_MS = 30_000;
const body = (seconds) =>
  JSON.stringify({ runtime: "python3", source: `import subprocess\nsubprocess.run(['sleep', '${seconds}'])\nprint('y' * ${OUTPUT})`, limits: { maxOutputBytes: 4 * MIB } });

export default async function cut(test, world) {
  const ca = readFileSync(world.stack.ca);
  const workers = () => world.processes().all.filter(({ command }) => /^nginx: worker/.test(command));
  const signal = (processes, name) => processes.forEach(({ pid }) => process.kill(pid, name));

  /** → {length: what was announced, bytes: how many came, ended: promise of why it ended} */
  async function askH1(headers, text) {
    const request = https.request(`${world.stack.https}/execute`, { method: "POST", ca, headers, agent: new https.Agent({ keepAlive: true }) });
    request.end(text);
    const [response] = await once(request, "response");
    return follow(response, response.headers);
  }

  async function askH2(headers, text) {
    const session = http2.connect(world.stack.https, { ca });
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const request = session.request({ ":method": "POST", ":path": "/execute", ...lower });
    request.on("close", () => session.close());
    request.end(text);
    const [answer] = await once(request, "response");
    return follow(request, answer);
  }

  function follow(stream, headers) {
    const answer = { length: Number(headers["content-length"]), bytes: 0 };
    stream.on("data", (chunk) => {
      answer.bytes += chunk.length;
    });
    answer.ended = new Promise((resolve) => {
      stream.on("error", (error) => resolve(error.code ?? error.message));
      stream.on("end", () => resolve("end"));
      stream.on("close", () => resolve("close"));
    });
    return answer;
  }

  for (const [name, ask, seconds] of [["HTTP/1.1", askH1, 7.15], ["HTTP/2", askH2, 7.35]]) {
    await test(`${name}: half an answer ends with the connection, and the same payment has it whole`, async () => {
      const payer = world.nextPayer();
      const text = body(seconds);
      const headers = await world.payment({ payer, amount: "5000" });
      const kept = async () => (await payments(world, "done")).length;
      const before = await kept();
      const { result, ...moved } = await world.moved(payer, async () => {
        const asked = ask(headers, text);
        await until("the program runs", () => findSleep(world.stack.pid, seconds));
        const { gate } = world.processes();
        const stopped = workers();
        assert.ok(stopped.length > 0, "nginx has a worker");
        signal(stopped, "SIGSTOP");
        try {
          await waking(world.stack.pid, seconds, () => until("the answer is kept", async () => (await kept()) > before));
          await until("the gate waits for nginx", () => waits(gate.pid));
          process.kill(gate.pid, "SIGKILL");
          await until("it is gone", () => world.processes().gate?.pid !== gate.pid);
        } finally {
          signal(stopped, "SIGCONT");
        }
        const begin = performance.now();
        const answer = await asked;
        const why = await answer.ended;
        const took = performance.now() - begin;
        assert.ok(answer.bytes < answer.length, `${answer.bytes} of ${answer.length} came`);
        assert.notEqual(why, "end", "it is no whole answer");
        assert.ok(took < SOON_MS, `told after ${took.toFixed(0)} ms: ${why}`);
        return until("the gate is back", async () => {
          const again = await world.send({ body: text, headers });
          return again.status !== 502 && again;
        });
      });
      assert.deepEqual(moved, { payer: -5000n, seller: 5000n });
      assertRun(result, { world, body: text, payer, amount: "5000" });
      assert.equal(result.json.stdout.length, OUTPUT + 1);
      assert.equal(result.headers["idempotency-replayed"], "true");
    });
  }
}

/** Is a thread of the gate in the system call in which its main one always is, poll(2)? Whose answer is kept polls for its reader only. */
function waits(pid) {
  const call = (tid) => readFileSync(`/proc/${pid}/task/${tid}/syscall`, "utf8").split(" ")[0];
  const main = call(pid);
  return main !== "running" && readdirSync(`/proc/${pid}/task`).some((tid) => Number(tid) !== pid && call(tid) === main);
}
