// Fills the page with what holds on this host. Without it the page can be read all the same.
import { byId, element } from "./dom.js";
import { chainName, isTest, nameV1 } from "./chains.js";
import { runtimes, tiers } from "./offers.js";
import { inOrder, runtimeName } from "./samples.js";
import { ask, get } from "./service.js";
import { offer, resume } from "./trial.js";
import { bytes, duration } from "./units.js";
import { describe } from "./words.js";

const listed = (names) => new Intl.ListFormat("en", { type: "conjunction" }).format(names);

function showRuntimes(names) {
  const link = byId("runtimes").querySelector("a");
  byId("runtimes").replaceChildren(`${listed(names.map(runtimeName))}. `, link);
}

function showTiers(offers, { accepts }) {
  byId("tier-rows").replaceChildren(...offers.map(({ tier, price, limits: { timeoutMs, maxMemoryBytes, maxOutputBytes, workDirBytes } }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, tier),
      element("td", { class: "price" }, price),
      ...[duration(timeoutMs), bytes(maxMemoryBytes), bytes(maxOutputBytes), bytes(workDirBytes)].map((text) => element("td", {}, text)),
    )));
  byId("tiers").hidden = false;
  const ways = [...new Set(accepts.map(({ network, extra }) => `${extra?.name ?? "a token"} on ${chainName(network)}`))];
  const note = accepts.every(({ network }) => isTest(network)) ? " This is a test network: its money is worth nothing." : "";
  byId("paid-in").textContent = `Paid in ${listed(ways)}. Each row: what a run may take at most for its price.${note}`;
  byId("paid-in").hidden = false;
}

function showFrom(offers, names) {
  byId("from").replaceChildren(element("span", {}, `From ${offers[0].price} a run`), element("span", {}, names.map(runtimeName).join(" · ")));
  byId("from").hidden = false;
}

/** Puts this host's own address, and its network's name of version 1, into the examples. */
function showExamples({ resource, accepts }) {
  const here = resource.url.replace(/\/execute$/, "");
  const v1 = accepts.map(({ network }) => nameV1(network)).find(Boolean);
  for (const code of document.querySelectorAll("[data-example]")) {
    code.textContent = code.textContent.replaceAll("https://this.host", here).replaceAll("base-sepolia", v1 ?? "base-sepolia");
    if (code.dataset.example === "v1" && !v1) {
      code.closest("details").hidden = true;
    }
  }
}

async function main() {
  get("version").then(({ version }) => byId("version").append(version), () => {});
  try {
    const [offers, found, { required }] = await Promise.all([tiers(), runtimes(), ask("{}")]);
    const names = inOrder(found);
    showFrom(offers, names);
    showRuntimes(names);
    showTiers(offers, required);
    showExamples(required);
    offer({ tiers: offers, runtimes: names });
  } catch (error) {
    const { words, detail } = describe(error);
    byId("away").replaceChildren(words, ...(detail ? [element("code", {}, detail)] : []));
  }
  resume();
}

await main();
