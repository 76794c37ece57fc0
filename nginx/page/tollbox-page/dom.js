// Small helpers for the page's elements. What comes from elsewhere becomes text, never markup.

export const byId = (id) => document.getElementById(id);

/** A new element; `children` are elements and texts. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Fills a `dl` with pairs of a term and what stands for it: a text or an element. */
export function fillList(list, pairs) {
  list.replaceChildren(...pairs.map(([term, said]) => element("div", {}, element("dt", {}, term), element("dd", {}, said))));
  list.hidden = false;
}

/** Fills a `select` with pairs of value and text, keeping what was chosen where that is still there. */
export function fillSelect(select, pairs) {
  const chosen = select.value;
  select.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
  if (pairs.some(([value]) => value === chosen)) {
    select.value = chosen;
  }
}

/** Hands `text` to the reader as a file. */
export function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
