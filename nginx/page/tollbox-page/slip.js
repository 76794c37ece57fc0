// The receipt as people read it, with what the browser found out about it.
import { byId, element, fillList, save } from "./dom.js";
import { chainName, transactionPage } from "./chains.js";
import { bytes, duration } from "./units.js";

const MARKS = new Map([[true, ["✓", "holds", "Holds: "]], [false, ["✕", "fails", "Does not hold: "]], [null, ["?", "unknown", "Could not be checked: "]]]);

const VERDICTS = {
  fails: "Do not rely on this receipt: something in it is not what it should be.",
  unknown: "What could be checked holds. This browser cannot check all of it (Ed25519 signatures by Web Crypto, over https).",
  holds: "All of it holds.",
};

/** answer: the result; record: see pending.js; asset: what the money is called; checks: see receipt.js */
export function showSlip({ answer, record, asset, checks }) {
  const { receipt } = answer;
  const { network, payer, reference } = receipt.payment;
  const page = transactionPage(network, reference);
  fillList(byId("receipt-lines"), [
    ["Run", `${receipt.runtime}, tier ${receipt.tier}`],
    ["Limits", limitsInWords(receipt.limits)],
    ["Price", `${receipt.price} in ${asset} on ${chainName(network)}`],
    ["Paid by", payer],
    ["Transaction", page ? element("a", { href: page, rel: "noreferrer noopener", target: "_blank" }, reference) : reference],
    ["Issued", new Date(receipt.issuedAt * 1000).toLocaleString("en", { dateStyle: "long", timeStyle: "medium" })],
    ["By", receipt.issuer],
  ]);
  byId("checks").replaceChildren(...checks.map(line));
  const verdict = ["fails", "unknown", "holds"].find((kind) => checks.some(({ holds }) => MARKS.get(holds)[1] === kind));
  byId("verdict").textContent = VERDICTS[verdict];
  byId("verdict").className = `verdict ${verdict}`;
  byId("save-answer").onclick = () => save("answer.json", JSON.stringify(answer));
  byId("save-request").onclick = () => save("request.json", record.body);
  byId("receipt").hidden = false;
}

export const hideSlip = () => {
  byId("receipt").hidden = true;
};

function line({ name, holds }) {
  const [mark, kind, spoken] = MARKS.get(holds);
  return element(
    "li",
    { class: kind },
    element("span", { class: "mark", "aria-hidden": "true" }, mark),
    element("span", {}, element("span", { class: "spoken" }, spoken), name),
  );
}

export function limitsInWords({ timeoutMs, maxMemoryBytes, maxOutputBytes, workDirBytes }) {
  return [duration(timeoutMs), `${bytes(maxMemoryBytes)} of memory`, `${bytes(maxOutputBytes)} of output`, `${bytes(workDirBytes)} of files`].join(", ");
}
