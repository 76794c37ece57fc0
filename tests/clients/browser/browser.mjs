// A real, headless Chromium, and a wallet in its pages.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

// Debian's; the npm package brings none.
const PROGRAM = "/usr/bin/chromium";
const QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];
// Chromium does not start as root with its own sandbox; it opens our own pages alone.
const AS_ROOT = ["--no-sandbox"];
const AXE = readFileSync(fileURLToPath(new URL("node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

/**
 * → {open(url, options) → page, close()}: each page with a fresh profile. options: wallets: a list of {name, wallet (see
 * devnet/browser-wallet.mjs), legacy: also as window.ethereum, and no other way}; dark, width, script: false to read without
 * JavaScript; prepare(page): before it goes to the url. page.seen: {problems: console errors and exceptions, requests}.
 */
export async function startBrowser() {
  const browser = await chromium.launch({ executablePath: PROGRAM, args: [...QUIET, ...AS_ROOT] });
  async function open(url, { wallets = [], dark = false, width = 1280, height = 900, script = true, scale = 1, prepare } = {}) {
    const context = await browser.newContext({
      colorScheme: dark ? "dark" : "light",
      deviceScaleFactor: scale,
      ignoreHTTPSErrors: true,
      javaScriptEnabled: script,
      viewport: { width, height },
    });
    for (const [index, { name, wallet, legacy = false }] of wallets.entries()) {
      await context.exposeFunction(`testWallet${index}`, wallet.answer);
      await context.addInitScript(injectWallet, { index, name, legacy });
    }
    const page = await context.newPage();
    page.seen = { problems: [], requests: [] };
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.seen.problems.push(message.text()));
    page.on("pageerror", (error) => page.seen.problems.push(String(error.stack)));
    page.on("request", (request) => page.seen.requests.push(request.url()));
    page.on("dialog", (dialog) => dialog.accept());
    await prepare?.(page);
    await page.goto(url);
    return page;
  }
  return { open, close: () => browser.close() };
}

// Runs in the page, before its own scripts.
function injectWallet({ index, name, legacy }) {
  const provider = {
    async request({ method, params }) {
      const { result, error } = await window[`testWallet${index}`]({ method, params });
      if (error) {
        throw Object.assign(new Error(error.message), { code: error.code });
      }
      return result;
    },
  };
  if (legacy) {
    window.ethereum = provider;
    return;
  }
  const info = { uuid: `00000000-0000-4000-8000-00000000000${index}`, name, icon: "data:image/svg+xml,<svg/>", rdns: `test.wallet${index}` };
  const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
}

/** What axe-core finds wrong with the page as it is now → a list of texts */
export async function accessibility(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)}: ${failureSummary}`).join("; ")}`);
}
