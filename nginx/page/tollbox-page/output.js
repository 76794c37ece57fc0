// The panel that shows what a program prints, as it comes.
import { element } from "./dom.js";

// More makes the page slow; the whole of it is in the answer that can be saved.
const SHOWN_MAX = 200_000;

export class Output {
  #panel;
  #shown = 0;
  #total = 0;

  constructor(panel) {
    this.#panel = panel;
  }

  clear(aside = "") {
    this.#panel.replaceChildren(...(aside ? [element("span", { class: "aside" }, aside)] : []));
    this.#shown = 0;
    this.#total = 0;
  }

  /** Adds text of a stream, stdout or stderr. */
  add(stream, text) {
    if (this.#total === 0) {
      this.#panel.replaceChildren();
    }
    const atEnd = this.#panel.scrollTop + this.#panel.clientHeight >= this.#panel.scrollHeight - 4;
    const piece = text.slice(0, SHOWN_MAX - this.#shown);
    this.#total += text.length;
    this.#shown += piece.length;
    const last = this.#panel.lastElementChild;
    if (last?.className === stream) {
      last.firstChild.appendData(piece);
    } else if (piece) {
      this.#panel.append(element("span", { class: stream }, piece));
    }
    if (atEnd) {
      this.#panel.scrollTop = this.#panel.scrollHeight;
    }
  }

  /** The run is over, and this is its output: an answer that was fetched again comes without pieces. */
  finish({ stdout, stderr }) {
    if (this.#total === 0) {
      this.add("stdout", stdout);
      this.add("stderr", stderr);
    }
    if (this.#total === 0) {
      this.clear("The program printed nothing.");
    } else if (this.#total > this.#shown) {
      this.#panel.append(element("span", { class: "aside" }, `\n… and ${this.#total - this.#shown} characters more: save the answer to see them.`));
    }
  }
}
