// 'Try it': from a program in the form to a result and its receipt.
import { byId, element, fillList, fillSelect } from "./dom.js";
import { chainId, chainName, faucet, isTest } from "./chains.js";
import { Output } from "./output.js";
import { authorization, header, isPayable, isSame, newKey, typedData } from "./payment.js";
import { forget, keep, recall } from "./pending.js";
import { checkReceipt, didOf } from "./receipt.js";
import { Unanswered, run } from "./run.js";
import { isSample, runtimeName, sample } from "./samples.js";
import { ask, get, quote } from "./service.js";
import { hideSlip, limitsInWords, showSlip } from "./slip.js";
import { bytes, duration, short } from "./units.js";
import { account, goToChain, sign, wallets, watchWallets } from "./wallet.js";
import { Refusal, WalletProblem, describe, wordsForEnd } from "./words.js";

const PHASES = {
  asking: "Asking what it costs…",
  wallet: "Waiting for your wallet…",
  sending: "Paying…",
  running: "Paid. The program runs…",
};

/** As long as the service keeps an answer. */
const KEPT_MS = 24 * 3600 * 1000;

const output = new Output(byId("output"));
let tiers = [];
let busy = false;

/** Has the form offer what is sold. offered: {tiers, runtimes}, see offers.js */
export function offer(offered) {
  tiers = offered.tiers;
  fillSelect(byId("runtime"), offered.runtimes.map((name) => [name, runtimeName(name)]));
  fillSelect(byId("size"), tiers.map(({ tier, price, limits }, index) => [String(index), `${price} (${tier}): ${duration(limits.timeoutMs)}, ${bytes(limits.maxMemoryBytes)}`]));
  byId("source").value = sample(byId("runtime").value);
  byId("runtime").addEventListener("change", () => {
    if (isSample(byId("source").value)) {
      byId("source").value = sample(byId("runtime").value);
    }
  });
  byId("size").addEventListener("change", showTerms);
  byId("asset").addEventListener("change", showTerms);
  byId("job").addEventListener("submit", submitted);
  output.clear("What your program prints appears here while it runs.");
  byId("job").hidden = false;
  setBusy(false);
  watchWallets(showWallets);
}

/** Goes on with a payment that has no answer yet, whether or not anything is sold at the moment. */
export function resume() {
  byId("open-again").addEventListener("click", askAgain);
  byId("open-forget").addEventListener("click", giveUp);
  // Closing the tab loses what the answer is fetched with.
  window.addEventListener("beforeunload", (event) => {
    if (recall()) {
      event.preventDefault();
    }
  });
  const record = recall();
  if (record && Date.now() - record.sent > KEPT_MS) {
    forget();
    showProblem({ words: "This tab’s last payment is more than a day old: its answer is no longer kept.", detail: "" });
  }
  askAgain();
}

// ---- what is chosen

const chosenTier = () => tiers[Number(byId("size").value)];

const payable = () => chosenTier().accepts.filter(isPayable);

const chosenRequirement = () => payable()[Number(byId("asset").value)] ?? null;

const chosenWallet = () => wallets().find(({ id }) => id === byId("wallet").value) ?? wallets()[0];

function showWallets() {
  const list = wallets();
  fillSelect(byId("wallet"), list.map(({ id, name }) => [id, name]));
  byId("wallet-label").hidden = list.length < 2;
  showTerms();
}

function showTerms() {
  const { price, limits } = chosenTier();
  const choices = payable();
  fillSelect(byId("asset"), choices.map(({ network, extra }, index) => [String(index), `${extra.name} on ${chainName(network)}`]));
  byId("asset-label").hidden = choices.length < 2;
  byId("pay").textContent = `Pay ${price} and run`;
  byId("terms").replaceChildren(...terms(price, limits));
}

function* terms(price, limits) {
  const requirement = chosenRequirement();
  if (!requirement) {
    yield "What is accepted here cannot be paid from a browser wallet by this page; a client from the examples below can.";
    return;
  }
  const { network, extra, payTo } = requirement;
  yield `For ${limitsInWords(limits)}. Your wallet asks you to sign a payment of exactly ${price} in ${extra.name} on ${chainName(network)} to `;
  yield element("span", { title: payTo }, short(payTo));
  yield "; it costs no gas.";
  if (isTest(network)) {
    yield " This is a test network: its money is worth nothing";
    if (faucet(network)) {
      yield " and is ";
      yield element("a", { href: faucet(network), rel: "noreferrer noopener", target: "_blank" }, "given away");
    }
    yield ".";
  }
  if (wallets().length === 0) {
    yield element("strong", {}, " No wallet was found in this browser.");
  }
}

// ---- what is said

function say(text, { working = true } = {}) {
  byId("status").textContent = text;
  byId("status").className = working ? "busy" : "";
}

function showProblem({ words, detail }) {
  byId("problem").replaceChildren(words, ...(detail ? [element("code", {}, detail)] : []));
}

function setBusy(on) {
  busy = on;
  byId("pay").setAttribute("aria-disabled", String(on || tiers.length === 0 || !byId("open-payment").hidden));
}

function cleanUp() {
  byId("problem").replaceChildren();
  byId("figures").hidden = true;
  byId("open-payment").hidden = true;
  hideSlip();
  output.clear();
}

// ---- paying

async function submitted(event) {
  event.preventDefault();
  if (busy || tiers.length === 0) {
    return;
  }
  if (recall()) {
    byId("open-again").focus();
    return;
  }
  cleanUp();
  setBusy(true);
  try {
    const record = await pay();
    keep(record);
    await deliver(record);
  } catch (error) {
    say("", { working: false });
    showProblem(describe(error));
  }
  setBusy(false);
}

/** Has a payment signed for what is in the form → the record that it is kept by. Nothing has been sent. */
async function pay() {
  const [tier, wanted, wallet] = [chosenTier(), chosenRequirement(), chosenWallet()];
  if (!wallet) {
    throw new WalletProblem("No wallet was found in this browser. Install one that injects itself into pages, or use a client from the examples below.");
  }
  if (!wanted) {
    throw new WalletProblem("What is accepted here cannot be paid from a browser wallet by this page.");
  }
  const stdin = byId("stdin").value;
  const job = { runtime: byId("runtime").value, source: byId("source").value, ...(stdin && { stdin }), limits: tier.limits };
  say(PHASES.asking);
  // A 402 comes whatever the body holds; a quote says what is wrong with it before anything is signed.
  await quote(job);
  const body = JSON.stringify(job);
  const { required, clock } = await ask(body);
  const ahead = clock - Date.now();
  // What is signed is what the reader was shown, to the last member.
  const requirement = required.accepts.find((offered) => isPayable(offered) && isSame(offered, wanted));
  if (!requirement) {
    throw new WalletProblem("The offer has changed since this page was loaded: load it again to see the new one.");
  }
  say(PHASES.wallet);
  const payer = await account(wallet.provider);
  await goToChain(wallet.provider, chainId(requirement.network), chainName(requirement.network));
  const message = authorization(requirement, payer, Date.now() + ahead);
  const signature = await sign(wallet.provider, payer, typedData(requirement, message));
  return {
    body,
    key: newKey(),
    payment: header(required, requirement, message, signature),
    requirement,
    payer,
    price: tier.price,
    issuer: didOf(required.resource.url.replace(/\/execute$/, "")),
    sent: Date.now(),
  };
}

/** Sends a payment that is kept, and shows what comes. */
async function deliver(record) {
  say(PHASES.sending);
  try {
    const answer = await run(record, {
      event(type, data) {
        say(PHASES.running);
        if (type === "started") {
          output.clear();
        } else if (type !== "ping") {
          output.add(type, data);
        }
      },
      waits(seconds, error) {
        say(`${describe(error, { paid: true }).words} Next try in ${Math.ceil(seconds)} s…`);
      },
    });
    await show(answer, record);
  } catch (error) {
    say("", { working: false });
    if (error instanceof Refusal) {
      forget();
      showProblem(describe(error, { paid: true }));
    } else {
      showOpen(record, error instanceof Unanswered ? error.cause : error);
    }
  }
}

async function show(answer, record) {
  output.finish(answer);
  say("Done.", { working: false });
  const { outcome, exitCode, signal, durationMs, usage, error } = answer;
  if (error) {
    showProblem({ words: wordsForEnd(error.code), detail: `${error.code}: ${error.message}` });
  }
  fillList(byId("figures"), [
    ["Ended", signal ? `by ${signal}` : exitCode === null ? outcome : `with exit code ${exitCode}`],
    ["Took", duration(durationMs)],
    ["Processor", duration(usage.cpuMs)],
    ["Memory", bytes(usage.maxMemoryBytes)],
  ]);
  forget();
  const keys = await get(".well-known/jwks.json").catch(() => null);
  const checks = await checkReceipt({ answer, keys, ...record });
  try {
    showSlip({ answer, record, asset: record.requirement.extra.name, checks });
  } catch {
    showProblem({ words: "The run was paid, but its answer has no receipt that can be read.", detail: "" });
  }
}

// ---- a payment without an answer

function showOpen({ price, requirement, sent }, error) {
  const { words, detail } = describe(error, { paid: true });
  const when = new Date(sent).toLocaleTimeString("en", { timeStyle: "short" });
  byId("open-text").replaceChildren(`${price} in ${requirement.extra.name} on ${chainName(requirement.network)}, signed at ${when}. ${words} `, ...(detail ? [element("code", {}, detail)] : []));
  byId("open-payment").hidden = false;
}

async function askAgain() {
  const record = recall();
  if (busy || !record) {
    return;
  }
  byId("job").hidden = false;
  cleanUp();
  setBusy(true);
  await deliver(record);
  setBusy(false);
}

function giveUp() {
  if (!window.confirm("The payment may have been charged already, and its answer can then no longer be had from this page. Forget it?")) {
    return;
  }
  forget();
  cleanUp();
  setBusy(false);
  byId("pay").focus();
}
