// Browser wallets (EIP-1193), found by EIP-6963 or, where one does not speak that, as window.ethereum.
import { addition } from "./chains.js";
import { WalletProblem } from "./words.js";

const REFUSED = 4001;
const BUSY = -32002;
const UNKNOWN_CHAIN = 4902;

const announced = new Map();

/** Calls `changed` now and whenever a wallet was found. Wallets may come late. */
export function watchWallets(changed) {
  window.addEventListener("eip6963:announceProvider", ({ detail }) => {
    if (detail?.info?.uuid && typeof detail.provider?.request === "function") {
      announced.set(String(detail.info.uuid), { name: String(detail.info.name), provider: detail.provider });
      changed();
    }
  });
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  changed();
}

/** → a list of {id, name, provider} */
export function wallets() {
  const list = [...announced].map(([id, wallet]) => ({ id, ...wallet }));
  const old = window.ethereum;
  if (typeof old?.request === "function" && !list.some(({ provider }) => provider === old)) {
    list.push({ id: "window.ethereum", name: "Browser wallet", provider: old });
  }
  return list;
}

const codeOf = (error) => error?.data?.originalError?.code ?? error?.code ?? null;

async function request(provider, method, params) {
  try {
    return await provider.request({ method, ...(params && { params }) });
  } catch (error) {
    const code = codeOf(error);
    if (code === REFUSED) {
      throw new WalletProblem("You declined in your wallet.", code);
    }
    if (code === BUSY) {
      throw new WalletProblem("Your wallet has a question open already: answer it there, then try again.", code);
    }
    throw new WalletProblem(`Your wallet says: ${error?.message ?? "no reason given"}.`, code);
  }
}

/** Asks for an account → its address */
export async function account(provider) {
  const [address] = (await request(provider, "eth_requestAccounts")) ?? [];
  if (!/^0x[0-9a-f]{40}$/i.test(address ?? "")) {
    throw new WalletProblem("Your wallet gave no account.");
  }
  return address;
}

const isOn = async (provider, id) => Number(await request(provider, "eth_chainId")) === id;

/** Has the wallet go to the chain `id`; `name` is for the reader. */
export async function goToChain(provider, id, name) {
  if (await isOn(provider, id)) {
    return;
  }
  const params = [{ chainId: `0x${id.toString(16)}` }];
  try {
    await request(provider, "wallet_switchEthereumChain", params);
  } catch (error) {
    if (error.code !== UNKNOWN_CHAIN) {
      throw error;
    }
    if (!addition(id)) {
      throw new WalletProblem(`Your wallet does not know ${name}: add that network there first.`, error.code);
    }
    await request(provider, "wallet_addEthereumChain", [addition(id)]);
    // Adding does not always mean going there.
    if (!(await isOn(provider, id))) {
      await request(provider, "wallet_switchEthereumChain", params);
    }
  }
  if (!(await isOn(provider, id))) {
    throw new WalletProblem(`Your wallet is on another network: choose ${name} there.`);
  }
}

/** EIP-712 → the signature, with 27 or 28 at its end where a wallet counts from 0 */
export async function sign(provider, address, typedData) {
  const signature = await request(provider, "eth_signTypedData_v4", [address, JSON.stringify(typedData)]);
  if (typeof signature !== "string" || !/^0x([0-9a-f]{2}){65,}$/i.test(signature)) {
    throw new WalletProblem("Your wallet gave no signature.");
  }
  const last = Number.parseInt(signature.slice(-2), 16);
  return signature.length === 132 && last < 2 ? `${signature.slice(0, -2)}${(last + 27).toString(16)}` : signature;
}
