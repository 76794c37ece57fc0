// Pictures of the page for people, as it is with a stack of `make run`'s kind:
//   node shots.mjs FOLDER
import "../../harness/webcrypto.mjs";
import { join } from "node:path";
import { createBrowserWallet } from "../../devnet/browser-wallet.mjs";
import { startStack } from "../../harness/stack.mjs";
import { startBrowser } from "./browser.mjs";

const [folder = "."] = process.argv.slice(2);
const VIEWS = [["light", { width: 1040 }], ["dark", { width: 1040, dark: true }], ["narrow", { width: 390, height: 844 }]];

const stack = await startStack({ env: { TOLLBOX_PORT: "0", TOLLBOX_TLS_PORT: "0" }, stderr: "ignore" });
const browser = await startBrowser();
try {
  const [, , key] = stack.told.payer.split(" ");
  const wallet = createBrowserWallet({ key, chainId: 84532 });
  for (const [name, options] of VIEWS) {
    const page = await browser.open(stack.https, { ...options, wallets: [{ name: "Local wallet", wallet }] });
    // From the top to the end of the part that is called `last`.
    const shoot = async (when, last) => {
      const { y, height } = await page.locator(last).boundingBox();
      const clip = { x: 0, y: 0, width: page.viewportSize().width, height: Math.floor(y + height) };
      await page.screenshot({ path: join(folder, `page-${name}-${when}.png`), fullPage: true, clip });
    };
    await page.locator("#job").waitFor();
    await shoot("before", "#prices");
    await page.locator("#pay").click();
    await page.locator("#receipt").waitFor();
    await page.evaluate(() => window.scrollTo(0, 0));
    await shoot("after", "#try");
    await page.context().close();
  }
} finally {
  await browser.close();
  await stack.stop();
}
