// The page for people at /, in a real browser: read with and without JavaScript, pay with a wallet, see what came of it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { accessibility, startBrowser } from "../clients/browser/browser.mjs";
import { createBrowserWallet } from "../devnet/browser-wallet.mjs";
import { randomNonce } from "../devnet/client.mjs";
import { decodeHeader, encodeHeader } from "../devnet/fetch.mjs";
import { copyForAll } from "../harness/servers.mjs";
import { wake, waking } from "../harness/stack.mjs";
import { apacheFront } from "./fronts.mjs";
import { assertRefused } from "./shape.mjs";
import { until } from "./runner.mjs";
import { SAY } from "./streams.mjs";

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ASSETS = join(ROOT, "nginx/page/tollbox-page");
const CHAIN = 84532;
const MIB = 2 ** 20;
const CHECKS = 7;
const LIMITS = [
  {},
  { timeoutMs: 60_000, maxMemoryBytes: 512 * MIB, maxOutputBytes: 4 * MIB, workDirBytes: 256 * MIB },
  { timeoutMs: 300_000, maxMemoryBytes: 2048 * MIB, maxOutputBytes: 16 * MIB, workDirBytes: 1024 * MIB },
];

const UNSOLD = { status: 503, json: { error: { code: "PAYMENT_FACILITATOR_UNAVAILABLE", message: "nobody settles", billable: false, category: "service_busy" } } };

const paying = (request) => request.headers()["payment-signature"] !== undefined;

export default async function page(test, world) {
  const { https, ca } = world.stack;
  const browser = await startBrowser();
  const get = (path, method = "GET") => world.send({ path, method });
  const walletOf = (payer, more) => createBrowserWallet({ key: payer.privateKey, chainId: CHAIN, ...more });

  /** Opens the page with a wallet of `payer` → {shown, wallet, payer} */
  async function visit({ payer = world.nextPayer(), wallet = walletOf(payer), legacy, ...options } = {}) {
    const shown = await browser.open(https, { wallets: [{ name: "Test wallet", wallet, legacy }], ...options });
    await shown.locator("#job").waitFor();
    return { shown, wallet, payer };
  }

  /** Writes `source` into the form and presses the button. */
  async function start(shown, source) {
    await shown.locator("#source").fill(source);
    await shown.locator("#pay").click();
  }

  /** → a function that tells all that output and status have been since */
  async function watch(shown) {
    await shown.evaluate(() => {
      window.wasShown = [];
      const [output, status] = ["output", "status"].map((id) => document.getElementById(id));
      new MutationObserver(() => window.wasShown.push([output.textContent, status.textContent])).observe(document.getElementById("job"), {
        characterData: true,
        childList: true,
        subtree: true,
      });
    });
    return () => shown.evaluate(() => window.wasShown);
  }

  /** Asserts that the status said `wanted`, however briefly. */
  function assertShown(all, wanted) {
    const said = new Set(all.map(([, status]) => status));
    assert.ok([...said].some((status) => status.includes(wanted)), [...said].join("\n"));
  }

  const verdict = (shown) => shown.locator("#verdict").textContent();
  const outputOf = (shown) => shown.locator("#output").textContent();
  const problem = async (shown) => {
    await shown.locator("#problem").waitFor();
    return shown.locator("#problem").textContent();
  };

  async function assertPaid(shown, stdout) {
    await shown.locator("#receipt").waitFor();
    assert.equal(await outputOf(shown), stdout);
    assert.equal(await shown.locator("#checks .holds").count(), CHECKS);
    assert.equal(await verdict(shown), "All of it holds.");
    assert.equal(await shown.evaluate(() => sessionStorage.length), 0, "nothing is kept when the answer is here");
  }

  // Ends a visit; whatever the browser complained about meanwhile is a failure.
  async function leave(shown, expected = []) {
    const unexpected = shown.seen.problems.filter((text) => !expected.some((pattern) => pattern.test(text)));
    assert.deepEqual(unexpected, []);
    assert.deepEqual(shown.seen.requests.filter((url) => !url.startsWith(https)), [], "the page asks nobody else");
    await shown.context().close();
  }
  const FAILED_LOAD = /^Failed to load resource: (the server responded with a status of 4|net::ERR_(FAILED|CONNECTION))/;
  // Chromium writes each 402 to its console, the one that asks for the payment too.
  const ASKED = /^Failed to load resource: the server responded with a status of 402/;

  const UNAVAILABLE = /^Failed to load resource: the server responded with a status of 503/;

  try {
    // ---- what nginx serves

    await test("the page and its files: types, and headers that let nothing else in", async () => {
      const answer = await get("/");
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-type"], "text/html; charset=utf-8");
      assert.equal(
        answer.headers["content-security-policy"],
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
      assert.equal(answer.headers["referrer-policy"], "no-referrer");
      assert.match(answer.headers["request-id"], /^[0-9a-f]{32}$/);
      assert.doesNotMatch(answer.text, / on[a-z]+=| style=|<style|<script(?! type="module" src="tollbox-page\/)/, "nothing inline");
      assert.equal((await get("/?utm_source=x")).status, 200);
      const head = await get("/", "HEAD");
      assert.deepEqual([head.status, head.text], [200, ""]);
      const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", svg: "image/svg+xml" };
      for (const name of readdirSync(ASSETS)) {
        const asset = await get(`/tollbox-page/${name}`);
        assert.equal(asset.status, 200, name);
        assert.equal(asset.headers["content-type"], types[name.split(".").pop()], name);
        assert.equal(asset.headers["x-content-type-options"], "nosniff");
      }
    });

    await test("what is not there, and other methods", async () => {
      for (const path of ["/tollbox-page/", "/tollbox-page/nothing.js", "/tollbox-page/../index.html.bak", "/index.html"]) {
        assertRefused(await get(path), "REQUEST_MALFORMED", { status: 404 });
      }
      for (const path of ["/", "/tollbox-page/page.js"]) {
        const answer = await get(path, "POST");
        assertRefused(answer, "REQUEST_MALFORMED", { status: 405 });
        assert.equal(answer.headers.allow, "GET, HEAD");
      }
      assert.equal((await get("/", "OPTIONS")).status, 204);
    });

    await test("Apache with the shipped files serves the same, and the page pays through it", async () => {
      const page = join(world.folder, "page");
      copyForAll(join(ROOT, "nginx/page"), page);
      const hosts = ["tollbox.conf", "tollbox-server.conf"].map((include, index) => ({ name: `page${index}`, include, lines: `Define TOLLBOX_PAGE ${page}\n  Include page${index}/tollbox-page.conf` }));
      const front = await apacheFront(world, { hosts });
      try {
        for (const { name } of hosts) {
          const base = front.urls[name].https;
          for (const path of ["/", ...readdirSync(ASSETS).map((file) => `/tollbox-page/${file}`)]) {
            const [here, there] = await Promise.all([world.send({ base, path, method: "GET" }), get(path)]);
            assert.deepEqual([here.status, here.text], [200, there.text], path);
            for (const header of ["content-type", "content-security-policy", "x-content-type-options", "referrer-policy", "cache-control", "access-control-allow-origin"]) {
              assert.equal(here.headers[header], there.headers[header], `${path}: ${header}`);
            }
          }
          assertRefused(await world.send({ base, path: "/tollbox-page/nothing.js", method: "GET" }), "REQUEST_MALFORMED", { status: 404 });
          const posted = await world.send({ base, path: "/", body: "{}" });
          assertRefused(posted, "REQUEST_MALFORMED", { status: 405 });
          assert.equal(posted.headers.allow, "GET, HEAD");
          assert.deepEqual((await world.send({ base, path: "/", method: "HEAD" })).text, "");
        }
        const payer = world.nextPayer();
        const shown = await browser.open(front.urls.page0.https, { wallets: [{ name: "Test wallet", wallet: walletOf(payer) }] });
        await shown.locator("#job").waitFor();
        await start(shown, "print('by Apache')");
        await assertPaid(shown, "by Apache\n");
        await shown.context().close();
      } finally {
        await front.stop();
      }
    });

    // ---- to be read

    await test("without JavaScript: it can be read, and its links lead somewhere", async () => {
      const shown = await browser.open(https, { script: false });
      assert.equal(await shown.locator("h1").textContent(), "Run a program. Pay for that run.");
      assert.ok(!(await shown.locator("#job").isVisible()));
      assert.ok(!(await shown.locator("#tiers").isVisible()));
      const notes = shown.locator("noscript > p");
      assert.equal(await notes.count(), 3);
      for (const note of await notes.all()) {
        assert.ok(await note.isVisible(), await note.textContent());
      }
      assert.match(await shown.locator("[data-example=curl]").textContent(), /^curl -s https:\/\/this\.host\/quote/);
      const addresses = await shown.locator("a[href]").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
      for (const address of addresses) {
        if (address.startsWith("#")) {
          assert.equal(await shown.locator(address).count(), 1, address);
        } else if (!address.startsWith("https:")) {
          assert.equal((await get(`/${address}`)).status, 200, address);
        }
      }
      await leave(shown);
    });

    await test("prices are those of /quote, runtimes those of the service", async () => {
      const { shown } = await visit();
      const cells = await shown.locator("#tier-rows tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
      const quotes = [];
      for (const limits of LIMITS) {
        quotes.push((await world.send({ path: "/quote", body: { limits } })).json);
      }
      assert.deepEqual(cells.map(([tier, price]) => [tier, price]), quotes.map(({ tier, price }) => [tier, price]));
      assert.deepEqual(cells[0].slice(2), ["10 s", "256 MiB", "1 MiB", "64 MiB"]);
      assert.deepEqual(cells[2].slice(2), ["5 min", "2 GiB", "16 MiB", "1 GiB"]);
      const offered = await shown.locator("#runtime option").evaluateAll((options) => options.map(({ value }) => value));
      assert.deepEqual(offered.sort(), Object.keys((await until("it is healthy", world.health)).pool).sort());
      await shown.locator("#size").selectOption({ index: 1 });
      assert.equal(await shown.locator("#pay").textContent(), `Pay ${quotes[1].price} and run`);
      assert.match(await shown.locator("#paid-in").textContent(), /^Paid in USDC on Base Sepolia\..*worth nothing/);
      assert.equal(await shown.locator("#version").textContent(), (await get("/version")).json.version);
      await leave(shown, [ASKED]);
    });

    await test("at a site with tiers, prices and an address of its own: those", async () => {
      const own = async (route) => {
        const { pathname } = new URL(route.request().url());
        await route.fulfill({ response: await route.fetch({ url: world.siteUrls.owner + pathname }) });
      };
      const shown = await browser.open(https, { prepare: (fresh) => fresh.route(/\/(execute|quote|llms\.txt|openapi\.json)$/, own) });
      await shown.locator("#job").waitFor();
      const rows = await shown.locator("#tier-rows tr").evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ")));
      assert.deepEqual(rows, ["small $0.0020 10 s 256 MiB 1 MiB 64 MiB", "large $0.0200 5 min 2 GiB 16 MiB 1 GiB"]);
      assert.deepEqual(await shown.locator("#runtime option").allTextContents(), ["Python"]);
      assert.match(await shown.locator("#terms").textContent(), /exactly \$0\.0020 in USDC .* to 0x000000…0A11cE/);
      assert.match(await shown.locator("[data-example=curl]").textContent(), /^curl -s https:\/\/owner\.example\/quote/);
      await leave(shown, [ASKED]);
    });

    await test("its examples run as they stand, with this host's address", async () => {
      const { shown } = await visit();
      const example = (name) => shown.locator(`[data-example=${name}]`).textContent();
      const env = { ...process.env, CURL_CA_BUNDLE: ca, NODE_EXTRA_CA_CERTS: ca, NO_PROXY: "*", KEY: world.nextPayer().privateKey };
      const { stdout } = await execute("bash", ["-c", await example("curl")], { env });
      assert.match(stdout, /^\{"tier":"medium","price":"\$0\.0050"/);
      assert.match(stdout, /HTTP\/\S+ 402/);
      for (const [name, packages] of [["v2", "tests/devnet"], ["v1", "tests/clients/v1"]]) {
        const folder = join(world.folder, `example-${name}`);
        mkdirSync(folder);
        symlinkSync(join(ROOT, packages, "node_modules"), join(folder, "node_modules"));
        // Debian's node 18 has no crypto under its global name, which the released v1 client wants.
        writeFileSync(join(folder, "pay.mjs"), `globalThis.crypto ??= (await import("node:crypto")).webcrypto;\n${await example(name)}`);
        const ran = await execute(process.execPath, [join(folder, "pay.mjs")], { env });
        assert.match(ran.stdout, /stdout: '42\\n'/, name);
      }
      const python = await example("python");
      assert.ok(python.includes(`"${https}/execute"`));
      await execute("python3", ["-c", "import ast, sys; ast.parse(sys.argv[1])", python]);
      await leave(shown, [ASKED]);
    });

    // ---- paying

    await test("pay and run: output while the program runs, result, receipt; charged once", async () => {
      const { shown, wallet, payer } = await visit();
      const { required } = await world.send({ body: {} });
      const moved = await world.moved(payer, async () => {
        const seen = await watch(shown);
        await start(shown, `${SAY}say('one <b>&amp;</b> 🧰')\nsay('err', sys.stderr)\nimport subprocess\nsubprocess.run(['sleep', '8.625'])\nprint('two')`);
        await shown.locator("#output", { hasText: "err" }).waitFor();
        await wake(world.stack.pid, 8.625);
        await shown.locator("#receipt").waitFor();
        assert.ok((await seen()).some(([output, status]) => output === "one <b>&amp;</b> 🧰\nerr\n" && status === "Paid. The program runs…"), "the first part before the last");
        await assertPaid(shown, "one <b>&amp;</b> 🧰\nerr\ntwo\n");
      });
      assert.deepEqual([moved.payer, moved.seller], [-1000n, 1000n]);
      assert.equal(await shown.locator("#output .stderr").textContent(), "err\n");
      assert.match(await shown.locator("#figures").textContent(), /with exit code 0/);
      const lines = await shown.locator("#receipt-lines").textContent();
      assert.ok(lines.includes(payer.address) && lines.includes("python3, tier small"), lines);
      // What was signed is what the service asks for.
      assert.deepEqual(wallet.calls.map(([method]) => method), ["eth_requestAccounts", "eth_chainId", "eth_signTypedData_v4"]);
      const { domain, message, primaryType } = JSON.parse(wallet.calls[2][1][1]);
      const [{ extra, asset, amount, payTo }] = required.accepts;
      assert.deepEqual(domain, { name: extra.name, version: extra.version, chainId: CHAIN, verifyingContract: asset });
      assert.equal(primaryType, "TransferWithAuthorization");
      assert.deepEqual([message.to, message.value, message.validAfter], [payTo, amount, "0"]);
      assert.ok(Math.abs(Number(message.validBefore) - Date.now() / 1000 - 300) < 20);
      // And again, in the same page: another payment.
      await start(shown, "print(7 * 6)");
      await shown.locator("#output", { hasText: "42" }).waitFor();
      await assertPaid(shown, "42\n");
      assert.notEqual(JSON.parse(wallet.calls.at(-1)[1][1]).message.nonce, message.nonce);
      await leave(shown, [ASKED]);
    });

    await test("stdin, another runtime, a larger tier, a wallet of the old kind; the files that it saves hold", async () => {
      const { shown, payer } = await visit({ legacy: true });
      await shown.locator("#runtime").selectOption("bash");
      assert.match(await shown.locator("#source").inputValue(), /^# What the sandbox/, "the sample of that runtime");
      await shown.locator("#size").selectOption({ index: 1 });
      await shown.locator("summary", { hasText: "Standard input" }).click();
      await shown.locator("#stdin").fill("first\nsecond\n");
      const moved = await world.moved(payer, async () => {
        await start(shown, "tac");
        await assertPaid(shown, "second\nfirst\n");
      });
      assert.equal(moved.payer, -5000n);
      const saved = async (id, name) => {
        const [download] = await Promise.all([shown.waitForEvent("download"), shown.locator(id).click()]);
        assert.equal(download.suggestedFilename(), name);
        await download.saveAs(join(world.folder, name));
        return join(world.folder, name);
      };
      const [answer, request] = [await saved("#save-answer", "answer.json"), await saved("#save-request", "request.json")];
      const said = await execute(join(ROOT, process.env.TOLLBOX_TEST_B ?? "build", "tollbox"), ["verify-receipt", answer, "--request", request, "--ca", ca]);
      assert.deepEqual(said.stdout.match(/^ok +\w+/gm), ["ok    receipt", "ok    signature", "ok    request", "ok    answer"]);
      await leave(shown, [ASKED]);
    });

    await test("a program that fails is told in plain words, with the code", async () => {
      const { shown } = await visit();
      await start(shown, "raise SystemExit(3)");
      assert.match(await problem(shown), /^The program failed\.EXECUTION_RUNTIME_ERROR: /);
      await shown.locator("#receipt").waitFor();
      assert.equal(await verdict(shown), "All of it holds.");
      assert.match(await shown.locator("#figures").textContent(), /with exit code 3/);
      await leave(shown, [ASKED]);
    });

    // ---- receipts that are not what they should be

    const ofResult = (change) => (text) =>
      text.trimEnd().split("\n").map((line) => JSON.parse(line)).map((event) => JSON.stringify(event.type === "result" ? change(event) : event)).join("\n").concat("\n");
    const ofReceipt = (change) => ofResult((event) => {
      change(event.data.receipt, event.data);
      return event;
    });
    const forgeries = [
      ["another price", ofReceipt((receipt) => (receipt.price = "$0.0001")), ["It names the price that you were told", "Its signature is the issuer’s"]],
      ["another output", ofReceipt((_, answer) => (answer.stdout = "no\n")), ["It is for the output that came"]],
      ["another signature", ofReceipt((receipt) => (receipt.signature = receipt.signature.replace(/.(?=.{9}$)/, (c) => (c === "A" ? "B" : "A")))), ["Its signature is the issuer’s"]],
      ["another issuer", ofReceipt((receipt) => (receipt.issuer = "did:web:other.example")), ["It is issued by the service that was paid", "Its signature is the issuer’s"]],
      ["no receipt to speak of", ofReceipt((receipt) => (receipt.requestDigest = null)), ["It is for the request that was sent", "Its signature is the issuer’s"]],
    ];
    await test("a receipt that was changed on its way is refused, and it says what is wrong", async () => {
      const { shown } = await visit();
      for (const [name, change, fails] of forgeries) {
        await shown.route("**/execute", async (route) => {
          const response = await route.fetch();
          const body = await response.text();
          await route.fulfill({ response, body: response.status() === 200 ? change(body) : body });
        });
        await start(shown, `print("${name}")`);
        await shown.locator("#receipt").waitFor();
        assert.deepEqual(await shown.locator("#checks .fails > :last-child").allTextContents(), fails.map((text) => `Does not hold: ${text}`), name);
        assert.match(await verdict(shown), /^Do not rely on this receipt/, name);
        await shown.unroute("**/execute");
      }
      await leave(shown, [ASKED]);
    });

    await test("an answer without a receipt: it says so, and the payment is done with", async () => {
      const { shown } = await visit();
      await shown.route("**/execute", async (route) => {
        const response = await route.fetch();
        const body = await response.text();
        await route.fulfill({ response, body: response.status() === 200 ? ofReceipt((_, answer) => delete answer.receipt)(body) : body });
      });
      await start(shown, "print('bare')");
      assert.match(await problem(shown), /^The run was paid, but its answer has no receipt that can be read\.$/);
      assert.equal(await outputOf(shown), "bare\n");
      assert.equal(await shown.evaluate(() => sessionStorage.length), 0);
      await leave(shown, [ASKED]);
    });

    await test("keys of somebody else, no keys, and a browser without Ed25519", async () => {
      const { shown } = await visit();
      const [key] = world.jwks.keys;
      const strange = { keys: [{ ...key, x: Buffer.alloc(32, 7).toString("base64url") }] };
      const cases = [
        [(route) => route.fulfill({ json: strange }), /^Do not rely/],
        [(route) => route.fulfill({ json: { keys: [] } }), /^Do not rely/],
        [(route) => route.abort(), /^What could be checked holds/],
      ];
      for (const [handle, says] of cases) {
        await shown.route("**/jwks.json", handle);
        await start(shown, "print(1)");
        await shown.locator("#receipt").waitFor();
        assert.match(await verdict(shown), says);
        await shown.unroute("**/jwks.json");
      }
      await shown.evaluate(() => {
        SubtleCrypto.prototype.importKey = async () => {
          throw new DOMException("Algorithm: Unrecognized name", "NotSupportedError");
        };
      });
      await start(shown, "print(2)");
      await shown.locator("#receipt").waitFor();
      assert.deepEqual(await shown.locator("#checks .unknown > :last-child").allTextContents(), ["Could not be checked: Its signature is the issuer’s"]);
      assert.match(await verdict(shown), /^What could be checked holds\. This browser cannot check all of it \(Ed25519/);
      await leave(shown, [ASKED, FAILED_LOAD]);
    });

    // ---- the wallet

    await test("no wallet; a wallet that declines; one that is on another chain, or does not know ours", async () => {
      const bare = await browser.open(https);
      await bare.locator("#job").waitFor();
      assert.match(await bare.locator("#terms").textContent(), /No wallet was found/);
      await bare.locator("#pay").click();
      assert.match(await problem(bare), /^No wallet was found.*Nothing was charged\.$/);
      await leave(bare, [ASKED]);

      const payer = world.nextPayer();
      const wallet = walletOf(payer, { chainId: 1 });
      const { shown } = await visit({ payer, wallet });
      await world.free(payer, async () => {
        for (const method of ["eth_requestAccounts", "wallet_switchEthereumChain", "wallet_addEthereumChain", "eth_signTypedData_v4"]) {
          wallet.declines = new Set([method]);
          await start(shown, "print(1)");
          assert.match(await problem(shown), /^You declined in your wallet\. Nothing was charged\.wallet: 4001$/, method);
          assert.equal(await shown.evaluate(() => sessionStorage.length), 0);
        }
      });
      wallet.declines = new Set();
      Object.assign(wallet, { chainId: 1, known: new Set([1]), calls: [] });
      await start(shown, "print('there')");
      await assertPaid(shown, "there\n");
      assert.deepEqual(wallet.calls.map(([method]) => method).filter((method) => method.startsWith("wallet_")), [
        "wallet_switchEthereumChain",
        "wallet_addEthereumChain",
        "wallet_switchEthereumChain",
      ]);
      await leave(shown, [ASKED]);
    });

    await test("two wallets: the chosen one pays", async () => {
      const payers = [world.nextPayer(), world.nextPayer()];
      const shown = await browser.open(https, { wallets: payers.map((payer, index) => ({ name: `Wallet ${index}`, wallet: walletOf(payer) })) });
      await shown.locator("#job").waitFor();
      await shown.getByLabel("Wallet").selectOption("Wallet 1");
      const moved = await world.moved(payers[1], async () => {
        await start(shown, "print('second')");
        await assertPaid(shown, "second\n");
      });
      assert.equal(moved.payer, -1000n);
      await leave(shown, [ASKED]);
    });

    await test("an account without money", async () => {
      const wallet = createBrowserWallet({ key: randomNonce(), chainId: CHAIN });
      const { shown } = await visit({ wallet });
      const moved = await world.moved(wallet, async () => {
        await start(shown, "print(1)");
        assert.match(await problem(shown), /holds? (enough|too little).*Nothing was charged\.PAYMENT_(AMOUNT_INSUFFICIENT|SETTLEMENT_FAILED): /);
      });
      assert.deepEqual([moved.payer, moved.seller], [0n, 0n]);
      assert.equal(await shown.evaluate(() => sessionStorage.length), 0);
      await leave(shown, [ASKED]);
    });

    await test("an offer that is not the one that was shown is not signed", async () => {
      const { shown, wallet, payer } = await visit();
      for (const change of [{ amount: "1001" }, { payTo: world.info.asset }, { asset: world.info.payTo }]) {
        await shown.route("**/execute", async (route) => {
          const response = await route.fetch();
          const required = decodeHeader(response.headers()["payment-required"]);
          required.accepts = required.accepts.map((offered) => ({ ...offered, ...change }));
          await route.fulfill({ response, headers: { ...response.headers(), "payment-required": encodeHeader(required) } });
        });
        await world.free(payer, async () => {
          await start(shown, "print(1)");
          assert.match(await problem(shown), /^The offer has changed/);
        });
        await shown.unroute("**/execute");
      }
      assert.deepEqual(wallet.calls, []);
      await leave(shown, [ASKED]);
    });

    await test("a request that is not taken is refused before anything is signed", async () => {
      const { shown, wallet } = await visit();
      await shown.locator("#source").evaluate((source) => (source.value = "#".repeat(1024 * 1024 + 1)));
      await shown.locator("#pay").click();
      assert.match(await problem(shown), /^The service does not take this request\. Nothing was charged\.SANDBOX_INVALID_REQUEST: /);
      assert.deepEqual(wallet.calls, []);
      await leave(shown, [ASKED, /^Failed to load resource: the server responded with a status of 400/]);
    });

    // ---- never twice

    await test("the service is too busy for a payment that may have been charged before: nobody is told that it was not", async () => {
      const { shown, payer } = await visit();
      let sent = 0;
      await shown.route("**/execute", async (route) => {
        if (!paying(route.request()) || ++sent > 2) {
          return route.continue();
        }
        if (sent === 1) {
          await route.fetch(); // it came through, the answer did not
          return route.abort("connectionreset");
        }
        return route.fulfill({ status: 503, json: { error: { code: "SERVICE_BUSY", message: "too many", billable: false, category: "service_busy" } } });
      });
      const moved = await world.moved(payer, async () => {
        const seen = await watch(shown);
        await start(shown, "print('busy')");
        await assertPaid(shown, "busy\n");
        assertShown(await seen(), "The service is busy. Asking again with the same payment is never charged twice.");
      });
      assert.deepEqual([moved.payer, moved.seller], [-1000n, 1000n]);
      await leave(shown, [ASKED, FAILED_LOAD, /status of 503/]);
    });

    await test("the connection is lost after the payment left: asked again with the same payment, charged once", async () => {
      const { shown, wallet, payer } = await visit();
      const sent = [];
      await shown.route("**/execute", async (route) => {
        if (!paying(route.request())) {
          return route.continue();
        }
        const { "payment-signature": payment, "idempotency-key": key } = route.request().headers();
        sent.push([payment, key, route.request().postData()].join());
        if (sent.length > 1) {
          return route.continue();
        }
        await route.fetch(); // it came through, the answer did not
        return route.abort("connectionreset");
      });
      const moved = await world.moved(payer, async () => {
        const seen = await watch(shown);
        await start(shown, "print('once')");
        await assertPaid(shown, "once\n");
        assertShown(await seen(), "The connection was lost. Asking again with the same payment is never charged twice.");
      });
      assert.deepEqual([moved.payer, moved.seller], [-1000n, 1000n]);
      assert.equal(sent.length, 2);
      assert.equal(new Set(sent).size, 1, "the same bytes, key and payment each time");
      assert.equal(wallet.calls.filter(([method]) => method === "eth_signTypedData_v4").length, 1);
      await leave(shown, [ASKED, FAILED_LOAD]);
    });

    await test("the page is loaded again while a paid program runs: its answer comes, charged once", async () => {
      const { shown, wallet, payer } = await visit();
      // For the time of another size: the program has to be there still when the page is back.
      await shown.locator("#size").selectOption({ index: 1 });
      const moved = await world.moved(payer, async () => {
        await start(shown, "import subprocess\nprint('begun', flush=True)\nsubprocess.run(['sleep', '20.375'])\nprint('ended')");
        await shown.locator("#output", { hasText: "begun" }).waitFor();
        // Nothing can be bought meanwhile: what was bought is had all the same.
        await shown.route("**/quote", (route) => route.fulfill(UNSOLD));
        await shown.reload();
        await waking(world.stack.pid, 20.375, () => assertPaid(shown, "begun\nended\n"));
        assert.equal(await shown.locator("#pay").getAttribute("aria-disabled"), "true");
      });
      assert.deepEqual([moved.payer, moved.seller], [-5000n, 5000n]);
      assert.equal(wallet.calls.filter(([method]) => method === "eth_signTypedData_v4").length, 1);
      await leave(shown, [ASKED, UNAVAILABLE]);
    });

    await test("no answer for long: the payment stays, no other can be signed, and the answer is had later", async () => {
      const { shown, wallet, payer } = await visit({ prepare: (fresh) => fresh.clock.install() });
      let isAway = true;
      await shown.route("**/execute", (route) => (isAway && paying(route.request()) ? route.abort("connectionreset") : route.continue()));
      const open = shown.locator("#open-payment");
      const passTime = () => until("it gives up for now", async () => {
        await shown.clock.runFor(16_000);
        return open.isVisible();
      });
      await start(shown, "print('late')");
      await passTime();
      assert.match(await shown.locator("#open-text").textContent(), /^\$0\.0010 in USDC on Base Sepolia, signed at .*The connection was lost/);
      assert.equal(await shown.locator("#pay").getAttribute("aria-disabled"), "true");
      await shown.locator("#pay").click({ force: true });
      assert.equal(await shown.evaluate(() => document.activeElement.id), "open-again");
      assert.equal(wallet.calls.filter(([method]) => method === "eth_signTypedData_v4").length, 1);
      assert.deepEqual(await accessibility(shown), []);
      isAway = false;
      const moved = await world.moved(payer, async () => {
        await shown.locator("#open-again").click();
        await assertPaid(shown, "late\n");
      });
      assert.deepEqual([moved.payer, moved.seller], [-1000n, 1000n]);
      assert.ok(!(await open.isVisible()));
      assert.equal(await shown.locator("#pay").getAttribute("aria-disabled"), "false");

      isAway = true;
      await start(shown, "print('never')");
      await passTime();
      await shown.locator("#open-forget").click();
      assert.ok(!(await open.isVisible()));
      assert.equal(await shown.evaluate(() => sessionStorage.length), 0);
      await leave(shown, [ASKED, FAILED_LOAD]);
    });

    await test("a settlement that is not known is asked about again, never signed again", async () => {
      const { shown, wallet, payer } = await visit({ prepare: (fresh) => fresh.clock.install() });
      world.faults.set({ settle: { mode: "reset-after", times: 1 } });
      const moved = await world.moved(payer, async () => {
        await start(shown, "print('known in the end')");
        await until("it asks again", async () => {
          await shown.clock.runFor(1000);
          return shown.locator("#receipt").isVisible();
        });
        assert.ok(shown.seen.problems.some((text) => UNAVAILABLE.test(text)), "the first answer was 503");
        await assertPaid(shown, "known in the end\n");
      });
      assert.equal(moved.payer, -1000n);
      assert.equal(wallet.calls.filter(([method]) => method === "eth_signTypedData_v4").length, 1);
      await leave(shown, [ASKED, UNAVAILABLE]);
    });

    // ---- for everybody

    for (const [name, options] of [["light", {}], ["dark", { dark: true }], ["narrow", { width: 360, height: 700 }]]) {
      await test(`${name}: no fault for axe-core, nothing wider than the window, before and after a run`, async () => {
        const { shown } = await visit(options);
        const fits = () => shown.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
        assert.deepEqual(await accessibility(shown), []);
        assert.ok(await fits());
        await shown.locator("#source").fill("print('x' * 500)\nraise SystemExit(1)");
        // By the keyboard alone.
        await shown.locator("#pay").focus();
        await shown.keyboard.press("Enter");
        await shown.locator("#receipt").waitFor();
        assert.deepEqual(await accessibility(shown), []);
        assert.ok(await fits());
        await leave(shown, [ASKED]);
      });
    }

    await test("the policy holds: no script, style or request that is not the page's own", async () => {
      const { shown } = await visit();
      const refused = await shown.evaluate(async (elsewhere) => {
        const directives = new Set();
        const all = new Promise((resolve) => {
          document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => directives.add(effectiveDirective).size === 5 && resolve());
        });
        const add = (name, change) => document.body.append(Object.assign(document.createElement(name), change));
        add("script", { textContent: "window.wasRun = true" });
        add("style", { textContent: "body { display: none }" });
        add("img", { src: `${elsewhere}/x.png` });
        add("iframe", { src: elsewhere });
        await fetch(`${elsewhere}/health`).catch(() => {});
        await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 30_000))]);
        return { directives: [...directives], wasRun: window.wasRun === true };
      }, https.replace("127.0.0.1", "localhost"));
      assert.ok(!refused.wasRun);
      assert.deepEqual(refused.directives.sort(), ["connect-src", "frame-src", "img-src", "script-src-elem", "style-src-elem"]);
      await shown.context().close();
    });

    await test("nothing is sold: it says so", async () => {
      const shown = await browser.open(https, { prepare: (fresh) => fresh.route("**/quote", (route) => route.fulfill(UNSOLD)) });
      await shown.locator("#away").waitFor();
      assert.equal(await shown.locator("#away").textContent(), "Payments cannot be settled at the moment. Nothing was charged.PAYMENT_FACILITATOR_UNAVAILABLE: nobody settles");
      assert.ok(await shown.locator("[data-example=curl]").isVisible());
      await shown.context().close();
    });
  } finally {
    await browser.close();
  }
}
