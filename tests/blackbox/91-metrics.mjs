// GET /metrics and the log: each request is counted once and exactly, nobody but this host can ask, nothing secret is in
// either, and the shipped dashboard and alerts are about metrics that are there, as a real Prometheus finds.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeHeader } from "../devnet/client.mjs";
import { freePorts } from "../harness/ports.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { until } from "./runner.mjs";
import { HELLO } from "./world.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const DASHBOARD = join(root, "packaging/grafana/tollbox.json");
const RULES = join(root, "packaging/prometheus/tollbox.rules.yml");

/** The samples of a page → {series: value}, values as text. */
function samplesOf(page) {
  const lines = page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at), line.slice(at + 1)];
  }));
}

export default async function metrics(test, world) {
  const { faults, info } = world;
  const body = JSON.stringify(HELLO);
  const network = `network="${info.network}",asset="${info.asset}"`;

  const page = (more) => world.send({ path: "/metrics", method: "GET", ...more });
  async function scrape() {
    const answer = await page();
    assert.equal(answer.status, 200, answer.text);
    return samplesOf(answer.text);
  }

  const isCount = (series) => /_total(\{|$)/.test(series) || /^tollbox_stage_seconds_count/.test(series);

  /** What `work` adds to the counters, other than its scrapes. */
  async function counted(work) {
    const before = await scrape();
    const result = await work();
    const after = await scrape();
    const added = {};
    for (const [series, value] of Object.entries(after)) {
      const more = BigInt(isCount(series) ? value : 0) - BigInt(isCount(series) ? (before[series] ?? 0) : 0);
      if (more !== 0n && !series.includes('route="/metrics"')) {
        added[series] = Number(more);
      }
    }
    return { added, result };
  }

  const requests = (route, status) => `tollbox_requests_total{route="${route}",status="${status}"}`;
  const refusals = (code) => `tollbox_refusals_total{code="${code}"}`;
  const runs = (runtime, outcome, code = "none", tier = "small") =>
    `tollbox_runs_total{runtime="${runtime}",tier="${tier}",outcome="${outcome}",code="${code}"}`;
  const calls = (verdict) => `tollbox_facilitator_calls_total{facilitator="default",call="settle",verdict="${verdict}"}`;
  const money = { units: `tollbox_settled_atomic_units_total{${network}}`, payments: `tollbox_settled_payments_total{${network}}` };
  const stage = (name) => `tollbox_stage_seconds_count{stage="${name}"}`;

  // Asked before anything is counted.
  await world.requirement();

  await test("each of a set of requests is counted once, and nothing else is", async () => {
    const { added } = await counted(async () => {
      const first = await world.run(HELLO);
      await world.run({ runtime: "node", source: "process.exit(3)" });
      await world.run({ runtime: "bash", source: "sleep 9", limits: { timeoutMs: 300 } });
      await world.run({ runtime: "bash", source: "yes", limits: { maxOutputBytes: 2000, timeoutMs: 60000 } }, { amount: "5000" });
      const again = await world.send({ body: first.body, headers: first.header });
      assert.equal(again.headers["idempotency-replayed"], "true");
      assertRefused(await world.send({ body: JSON.stringify({ ...HELLO, source: 1 }), headers: await world.payment({ payer: world.nextPayer() }) }), "REQUEST_MALFORMED");
      assertRefused(await world.send({ body: "{}", headers: first.header }), "PAYMENT_REPLAYED");
      assertRefused(await world.send({ body, headers: { "PAYMENT-SIGNATURE": "?" } }), "PAYMENT_MALFORMED");
      assert.equal((await world.send({ body })).status, 402);
      assert.equal((await world.send({ path: "/quote", body })).status, 200);
      assert.equal((await world.send({ path: "/none", method: "GET" })).status, 404);
      assert.equal((await world.send({ path: "/execute", method: "GET" })).status, 405);
      assert.equal((await world.send({ path: "/version", method: "HEAD" })).status, 200);
      assert.equal((await world.send({ path: "/execute", method: "OPTIONS" })).status, 204);
    });
    const reads = 9; // all POST /execute that were no preflight
    assert.deepEqual(added, {
      [requests("/execute", 200)]: 5,
      [requests("/execute", 204)]: 1,
      [requests("/execute", 400)]: 2,
      [requests("/execute", 402)]: 1,
      [requests("/execute", 405)]: 1,
      [requests("/execute", 409)]: 1,
      [requests("/quote", 200)]: 1,
      [requests("/version", 200)]: 1,
      [requests("other", 404)]: 1,
      [refusals("REQUEST_MALFORMED")]: 3,
      [refusals("PAYMENT_MALFORMED")]: 1,
      [refusals("PAYMENT_REQUIRED")]: 1,
      [refusals("PAYMENT_REPLAYED")]: 1,
      [runs("python3", "completed")]: 1,
      [runs("node", "error", "EXECUTION_RUNTIME_ERROR")]: 1,
      [runs("bash", "timeout", "SANDBOX_TIMEOUT")]: 1,
      [runs("bash", "error", "EXECUTION_OUTPUT_LIMIT_EXCEEDED", "medium")]: 1,
      [calls("yes")]: 4,
      [money.payments]: 4,
      [money.units]: 8000,
      [stage("read")]: reads,
      [stage("parse")]: 5,
      [stage("check")]: 7,
      ...Object.fromEntries(["claim", "reserve", "settle", "facilitator", "run", "start", "program", "answer", "keep", "whole"].map((name) => [stage(name), 4])),
    });
  });

  await test("a live answer counts as what was sent", async () => {
    const { added } = await counted(async () => {
      const headers = await world.payment({ payer: world.nextPayer() });
      const answer = await world.send({ body, headers: { ...headers, Accept: "application/x-ndjson" } });
      assert.match(answer.text, /"type":"result"/);
    });
    assert.equal(added[requests("/execute", 200)], 1);
    assert.equal(added[runs("python3", "completed")], 1);
  });

  await test("a call by MCP counts as what it is", async () => {
    const rpc = (params) => world.send({ path: "/mcp", body: { jsonrpc: "2.0", id: 1, method: "tools/call", params } });
    const { added } = await counted(async () => {
      const unpaid = await rpc({ name: "execute", arguments: HELLO });
      assert.equal(unpaid.json.result.isError, true);
      assert.ok((await rpc({ name: "nothing" })).json.error);
      assert.equal((await rpc({ name: "quote", arguments: {} })).json.result.isError, false);
    });
    assert.deepEqual(added, {
      [requests("/mcp", 200)]: 3,
      [refusals("PAYMENT_REQUIRED")]: 1,
      [refusals("REQUEST_MALFORMED")]: 1,
      [stage("read")]: 1,
    });
  });

  await test("what became of settlements is in calls, refusals, states and money", async () => {
    const payer = world.nextPayer();
    // Others may have left some, and the service goes on asking about them: not before we have looked.
    world.rpcFaults.set("hang");
    const unknown = async () => Number((await scrape())['tollbox_ledger_payments{state="unknown"}']);
    const before = await unknown();
    const { added } = await counted(async () => {
      faults.set({ settle: { mode: "refuse", reason: "insufficient_funds", times: 1 } });
      assertRefused(await world.send({ body, headers: await world.payment({ payer: world.nextPayer() }) }), "PAYMENT_SETTLEMENT_FAILED");
      // The money moves, its answer is lost; the caller's retry finds it on the chain.
      const headers = await world.payment({ payer });
      const { nonce } = decodeHeader(headers["PAYMENT-SIGNATURE"]).payload.authorization;
      faults.set({ settle: { mode: "reset-after", times: 1, of: nonce } });
      assertRefused(await world.send({ body, headers }), "PAYMENT_SETTLEMENT_INDETERMINATE");
      const now = await scrape();
      assert.ok([1, before + 1].includes(Number(now['tollbox_ledger_payments{state="unknown"}'])));
      assert.ok(Number(now['tollbox_ledger_payments{state="failed"}']) >= 1);
      world.rpcFaults.set(null);
      assertRun(await world.send({ body, headers }), { world, body, payer, amount: "1000" });
      assert.ok((await unknown()) <= before);
    }).finally(() => world.rpcFaults.set(null));
    const want = {
      [calls("no")]: 1,
      [calls("unknown")]: 1,
      [refusals("PAYMENT_SETTLEMENT_FAILED")]: 1,
      [refusals("PAYMENT_SETTLEMENT_INDETERMINATE")]: 1,
      [requests("/execute", 402)]: 1,
      [requests("/execute", 503)]: 1,
      [requests("/execute", 200)]: 1,
      [money.units]: 1000,
      [money.payments]: 1,
      [runs("python3", "completed")]: 1,
    };
    assert.deepEqual(Object.fromEntries(Object.keys(want).map((series) => [series, added[series]])), want);
    assert.deepEqual(Object.keys(added).filter((series) => !(series in want) && !series.includes("stage_seconds")), []);
  });

  await test("slots, queue and warm sandboxes are those of /health, with the budgets", async () => {
    await world.idle();
    await until("the two agree", async () => {
      const [health, now] = [await world.health(), await scrape()];
      return health && Number(now.tollbox_slots) === health.slots && Number(now.tollbox_queue) === health.queue && now.tollbox_boxer_up === "1" &&
        Object.entries(health.pool).every(([runtime, { warm, starting }]) =>
          now[`tollbox_pool_sandboxes{runtime="${runtime}",state="warm"}`] === String(warm) &&
          now[`tollbox_pool_sandboxes{runtime="${runtime}",state="starting"}`] === String(starting));
    });
    const now = await scrape();
    assert.equal(now.tollbox_answer_bytes_max, String(1024 ** 3));
    assert.ok(Number(now.tollbox_answer_bytes) > 0);
    assert.equal(now.tollbox_answer_bytes_reserved, "0");
    assert.equal(now.tollbox_payments_working, "0");
    assert.equal(now['tollbox_facilitator_up{facilitator="default"}'], "1");
    assert.equal(now[`tollbox_asset_decimals{${network}}`], "6");
    assert.match(Object.keys(now).find((series) => series.startsWith("tollbox_build_info")), /version="\d+\.\d+/);
  });

  await test("promtool takes the page as it is", async () => {
    const answer = await page();
    assert.equal(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: answer.text, encoding: "utf8" });
    assert.equal(`${stdout}${stderr}`, "");
    assert.equal(status, 0);
  });

  await test("HEAD works, POST does not, a web page may not read it", async () => {
    assert.equal((await page({ method: "HEAD" })).status, 200);
    assert.equal((await page({ method: "POST", body: "{}" })).status, 405);
    const answer = await page();
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
    assert.equal(answer.headers["cache-control"], "no-store");
  });

  const hidden = (answer) => {
    assert.equal(answer.status, 404, answer.text);
    assert.equal(answer.json.error.code, "REQUEST_MALFORMED");
    assert.match(answer.headers["request-id"], /^[\w-]{8,64}$/);
    assert.doesNotMatch(answer.text, /tollbox_/);
  };

  await test("from elsewhere there is nothing at this path", async () => {
    const base = world.siteUrls.far;
    for (const from of ["203.0.113.9", "10.0.0.1", "127.0.0.2", "2001:db8::1", "::ffff:203.0.113.9"]) {
      for (const path of ["/metrics", "/metrics?x=1", "/%6detrics", "//metrics", "/x/../metrics"]) {
        hidden(await page({ base, path, headers: { "X-Test-From": from } }));
      }
    }
    for (const from of ["127.0.0.1", "::1"]) {
      assert.match((await page({ base, headers: { "X-Test-From": from } })).text, /tollbox_requests_total/);
    }
  });

  await test("the operator guide's block for a Prometheus serves it alone", async () => {
    const base = world.siteUrls.scraped;
    assert.match((await page({ base })).text, /tollbox_requests_total/);
    assert.equal((await page({ base, path: "/health" })).status, 404);
  });

  await test("a second loopback address is elsewhere, and so is what another proxy passed on", async () => {
    const { hostname, port } = new URL(world.stack.http);
    const status = await new Promise((resolve, reject) => {
      http.get({ host: hostname, port, path: "/metrics", localAddress: "127.0.0.9", agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", reject);
    });
    assert.equal(status, 404);
    for (const name of ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP"]) {
      hidden(await page({ headers: { [name]: "127.0.0.1" } }));
    }
  });

  await test("a location that does not ask for it gets none, whatever the client says", async () => {
    // This path leads to the block's general location, which passes all to the daemon; and a header is no parameter.
    hidden(await page({ path: "/%2Fmetrics", headers: { "Tollbox-Metrics": "on", TOLLBOX_METRICS: "on" } }));
    hidden(await page({ path: "/metrics/" }));
  });

  await test("neither log nor metrics hold source, output, files, key or signature; the web server's log has the id", async () => {
    const begin = readFileSync(world.logFile, "utf8").length;
    const secret = (name) => `s3cret-${name}-${process.pid}`;
    const key = secret("key").padEnd(40, "k");
    const job = {
      runtime: "python3",
      source: `import sys\nprint("s3cret-out"[::-1], file=sys.stderr)\nprint(input()[::-1])\n# ${secret("source")}`,
      stdin: `${secret("stdin")}\n`,
      env: { NAME: secret("env") },
      args: [secret("arg")],
      files: { "a.txt": secret("file") },
    };
    const { header, answer } = await world.run(job, { headers: { "Idempotency-Key": key } });
    const { signature, authorization } = decodeHeader(header["PAYMENT-SIGNATURE"]).payload;
    await world.send({ path: `/quote?token=${secret("query")}`, body: job });
    const access = readFileSync(join(dirname(world.stack.ca), "access.log"), "utf8");
    const written = readFileSync(world.logFile, "utf8").slice(begin) + access + (await page()).text;
    for (const word of ["s3cret", "terc3s", "tuo-", signature.slice(2, 40), header["PAYMENT-SIGNATURE"].slice(0, 40), authorization.nonce.slice(2), answer.json.receipt.signature.slice(-40)]) {
      assert.ok(!written.includes(word), `${word} is written`);
    }
    const id = answer.headers["request-id"];
    assert.match(access, new RegExp(`^127\\.0\\.0\\.1 \\[[^\\]]+\\] "POST /execute HTTP/1\\.1" 200 \\d+ [\\d.]+ ${id}$`, "m"));
    assert.match(written, new RegExp(`run id=${id} route=/execute dialect=native payer=0x\\w{40} tier=small runtime=python3 http=200 code=ok outcome=completed end=ok tx=0x\\w{64} us: read=`));
  });

  await test("with log = json each line is an object, at debug also of what is free; a reload begins the counters anew", async () => {
    const file = join(dirname(world.stack.ca), "tollbox.ini");
    const original = readFileSync(file, "utf8");
    const logFrom = (begin) => readFileSync(world.logFile, "utf8").slice(begin);
    async function hup(settings) {
      const begin = readFileSync(world.logFile, "utf8").length;
      writeFileSync(file, settings);
      process.kill(world.processes().serve.pid, "SIGHUP");
      await until("the new settings are in force", () => /accepts again/.test(logFrom(begin)), { withinMs: 60_000 });
      return begin;
    }
    const started = Number((await scrape()).tollbox_start_time_seconds);
    const begin = await hup(original.replace("[service]", "[service]\nlog = json\nlog_level = debug"));
    const now = await scrape();
    assert.ok(Number(now.tollbox_start_time_seconds) >= started);
    assert.equal(now[runs("python3", "completed")], "0");
    assert.equal(now[money.units], "0");
    const { answer, payer } = await world.run(HELLO);
    const free = await world.send({ body });
    const version = await world.send({ path: "/version", method: "GET" });
    const idOf = (sent) => sent.headers["request-id"];
    let lines;
    await until("the last line is there", () => logFrom(begin).includes(idOf(version)));
    lines = logFrom(begin).split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    const text = logFrom(begin).split("\n").filter((line) => /(gate|boxer|super): /.test(line) && !line.startsWith("{"));
    await hup(original);
    assert.ok(text.length > 0 && text.every((line) => / super: | gate: info: draining$| boxer: /.test(line)), "only what was there before them speaks text");
    for (const line of lines) {
      assert.match(line.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.ok(["err", "warn", "info", "debug"].includes(line.level) && ["super", "gate", "boxer"].includes(line.role), JSON.stringify(line));
    }
    const [run] = lines.filter((line) => line.id === idOf(answer));
    const { time, us, tx, ...rest } = run;
    assert.deepEqual(rest, {
      level: "info", role: "gate", event: "run", id: idOf(answer), route: "/execute", dialect: "native", payer: payer.address, tier: "small",
      runtime: "python3", http: 200, code: "ok", outcome: "completed", end: "ok",
    });
    assert.equal(tx, answer.json.payment.transaction);
    assert.ok(us.program > 0 && us.whole > us.run, JSON.stringify(us));
    const [asked] = lines.filter((line) => line.id === idOf(free));
    assert.deepEqual([asked.level, asked.event, asked.http, asked.code, asked.payer, asked.end], ["debug", "run", 402, "payment_required", null, null]);
    const [read] = lines.filter((line) => line.id === idOf(version));
    assert.deepEqual([read.level, read.event, read.route, read.http, read.code], ["debug", "request", "/version", 200, "ok"]);
  });

  await test("every query of the dashboard and the alerts finds something in a real Prometheus", async () => {
    const dashboard = JSON.parse(readFileSync(DASHBOARD, "utf8"));
    const panels = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr]));
    assert.ok(panels.length > 20);
    const queries = [...panels, ...dashboard.annotations.list.map(({ name, expr }) => [name, expr.replace(/ > 0$/, "")])];
    const rules = spawnSync("promtool", ["check", "rules", RULES], { encoding: "utf8" });
    assert.equal(rules.status, 0, rules.stdout + rules.stderr);
    // The alerts' own conditions do not hold, so what they compare is asked for.
    for (const [, expr] of readFileSync(RULES, "utf8").matchAll(/^ +expr: (.*?) (?:>|==) [\d.]+$/gm)) {
      queries.push(["alert", expr]);
    }
    const names = new Set(Object.keys(await scrape()).map((series) => series.replace(/\{.*/, "")));
    for (const [title, expr] of queries) {
      for (const [name] of expr.matchAll(/tollbox_\w+/g)) {
        assert.ok(names.has(name), `${title}: there is no ${name}`);
      }
    }
    // So that something is there to be told apart by code.
    await world.run({ runtime: "bash", source: "exit 3" });
    const prometheus = await startPrometheus(world);
    try {
      const good = async () => Number((await prometheus.ask("sum_over_time(up[1m])"))[0]?.value[1] ?? 0);
      await until("three scrapes are in", async () => (await good()) >= 3, { withinMs: 60_000, everyMs: 200 });
      for (const [title, expr] of queries) {
        const filled = expr.replaceAll("$__rate_interval", "1m").replaceAll("$__range", "1m").replaceAll("$instance", ".*");
        await until(`${title}: something is found by ${filled}`, async () => (await prometheus.ask(filled)).length > 0, { everyMs: 200 });
      }
      const [earned] = await prometheus.ask(`tollbox_settled_atomic_units_total / on (instance, network, asset) 10 ^ tollbox_asset_decimals`);
      assert.ok(Number(earned.value[1]) >= 0.001, "in dollars");
    } finally {
      await prometheus.stop();
    }
  });

  await test("the alerts fire when they should, and only then", () => {
    const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", join(root, "tests/vectors/alerts.yml")], { encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
  });
}

/** A Prometheus that asks the stack every other second → {ask(query), stop()} */
async function startPrometheus(world) {
  const folder = join(world.folder, "prometheus");
  mkdirSync(folder);
  const [port] = await freePorts(1);
  writeFileSync(join(folder, "prometheus.yml"), `
global: { scrape_interval: 2s, scrape_timeout: 2s }
rule_files: [${RULES}]
scrape_configs:
  - job_name: tollbox
    static_configs: [{ targets: ["${new URL(world.siteUrls.scraped).host}"] }]
`);
  const child = spawn("prometheus", [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`, "--log.level=warn"],
    { stdio: ["ignore", "ignore", "pipe"] });
  const said = [];
  child.stderr.on("data", (chunk) => said.push(chunk));
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const base = `http://127.0.0.1:${port}`;
  const isReady = () => fetch(`${base}/-/ready`).then(({ ok }) => ok, () => false);
  const stop = async () => {
    child.kill("SIGTERM");
    await gone;
  };
  try {
    await until("Prometheus is ready", isReady, { withinMs: 30_000, everyMs: 100 });
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n${Buffer.concat(said)}`);
  }
  return {
    stop,
    ask: async (query) => {
      const answer = await (await fetch(`${base}/api/v1/query?${new URLSearchParams({ query })}`)).json();
      assert.equal(answer.status, "success", `${query}: ${answer.error}`);
      return answer.data.result;
    },
  };
}
