// What went wrong, in the page's own words.

/** An answer that is no result. status: of HTTP; code: the service's, or null; retryAfter: seconds, or null. */
export class Refusal extends Error {
  constructor({ status, code, message, retryAfter = null }) {
    super(message);
    Object.assign(this, { status, code, retryAfter });
  }
}

/** Something between this page and the wallet; the message is for the reader. code: the wallet's, or null. */
export class WalletProblem extends Error {
  constructor(message, code = null) {
    super(message);
    this.code = code;
  }
}

const FREE = "Nothing was charged.";
const SAFE = "Asking again with the same payment is never charged twice.";

/** Of a program that ran: it was paid for, and this is how it ended. */
const ENDS = {
  SANDBOX_TIMEOUT: "The program was ended when its time was up.",
  EXECUTION_MEMORY_LIMIT_EXCEEDED: "The program was ended because it took more memory than its limit.",
  EXECUTION_OUTPUT_LIMIT_EXCEEDED: "The program was ended because it printed more than its limit.",
  EXECUTION_RUNTIME_ERROR: "The program failed.",
  EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED: "The program failed, and had tried to reach the network; there is none in the sandbox.",
  EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL: "The program failed, and had tried something that the sandbox does not allow.",
};

/** Nothing was charged, whatever was paid. */
const REFUSED = {
  REQUEST_MALFORMED: "The service could not read this request.",
  SANDBOX_INVALID_REQUEST: "The service does not take this request.",
  RUNTIME_RESERVED_FILE_PATH: "A file has the name of the program itself.",
  RUNTIME_UNSUPPORTED: "This runtime is not offered here.",
  RUNTIME_LIMIT_OUT_OF_RANGE: "These limits are not offered here.",
  PAYMENT_MALFORMED: "The wallet’s signature could not be read.",
  PAYMENT_INVALID: "The payment is not valid: its time is over, or this account did not sign it.",
  PAYMENT_AMOUNT_INSUFFICIENT: "The account does not hold enough to pay for this run.",
  PAYMENT_REQUIREMENTS_MISMATCH: "What was signed is not what the service asks for.",
  PAYMENT_SETTLEMENT_FAILED: "The payment was refused when it was settled; most often the account holds too little.",
  PAYER_RATE_LIMITED: "This account has asked for many runs in a short time.",
  PAYER_CONCURRENCY_LIMITED: "Too many runs of this account are going on.",
  EXECUTE_IP_RATE_LIMITED: "Too many requests came from your address.",
};

/** The payment may have been charged; what it buys can still be had. */
const OPEN = {
  PAYMENT_SETTLEMENT_INDETERMINATE: "It is not known yet whether the payment went through.",
  PAYMENT_FACILITATOR_UNAVAILABLE: "Payments cannot be settled at the moment.",
  SERVICE_BUSY: "The service is busy.",
  SANDBOX_UNAVAILABLE: "No sandbox is free at the moment.",
  SANDBOX_SETUP_FAILED: "The sandbox could not be started; a run that was paid is owed to you.",
  SERVICE_INTERNAL_FAILURE: "Something failed on the service’s side.",
};

const USED = { PAYMENT_REPLAYED: "This payment was used before, for something else. Nothing more was charged." };

/** How a program ended that did not simply complete. */
export const wordsForEnd = (code) => ENDS[code] ?? "The program did not complete.";

/** → {words, detail} of anything that was thrown; `paid`: a payment was sent before. detail may be empty */
export function describe(error, { paid = false } = {}) {
  const money = paid ? SAFE : FREE;
  if (error instanceof WalletProblem) {
    return { words: `${error.message} ${FREE}`, detail: error.code === null ? "" : `wallet: ${error.code}` };
  }
  if (error instanceof Refusal) {
    const { code, status, message } = error;
    const words = REFUSED[code] ? `${REFUSED[code]} ${FREE}` : (USED[code] ?? `${OPEN[code] ?? "The service gives an answer that this page does not know."} ${money}`);
    return { words, detail: [code ?? `HTTP ${status}`, message].filter(Boolean).join(": ") };
  }
  if (error instanceof TypeError || error?.name === "NetworkError") {
    return { words: `${paid ? "The connection was lost." : "The service cannot be reached."} ${money}`, detail: "" };
  }
  return { words: `Something unexpected happened. ${money}`, detail: String(error?.message ?? error) };
}
