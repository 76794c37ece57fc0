// The one payment of this tab that has no answer yet, kept over a reload. It holds all that is needed to ask again for the
// same thing with the same payment, which the service never charges twice:
//   {body, key, payment, requirement, payer, issuer, price, sent}
// It is written before the payment leaves, and removed when its answer is here.

// Services at one origin have a path each.
const NAME = `tollbox-payment ${location.pathname}`;

/** Throws where the browser keeps nothing: then nothing may be paid. */
export function keep(record) {
  sessionStorage.setItem(NAME, JSON.stringify(record));
}

export function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME));
  } catch {
    return null;
  }
}

export function forget() {
  sessionStorage.removeItem(NAME);
}
