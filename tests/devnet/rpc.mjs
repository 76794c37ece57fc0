// The few JSON-RPC calls that tests make, without any package.

let lastId = 0;

/** One call, or several in one request: calls = [[method, params], …] → results in the same order. */
export async function rpcBatch(url, calls) {
  const requests = calls.map(([method, params]) => ({ jsonrpc: "2.0", id: ++lastId, method, params }));
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(requests),
  });
  const answers = new Map((await response.json()).map((answer) => [answer.id, answer]));
  return requests.map(({ id, method }) => {
    const { result, error } = answers.get(id);
    if (error) {
      throw new Error(`${method}: ${error.message}`);
    }
    return result;
  });
}

export async function rpc(url, method, params = []) {
  const [result] = await rpcBatch(url, [[method, params]]);
  return result;
}

export const word = (hexOrNumber) => {
  const hex = typeof hexOrNumber === "string" ? hexOrNumber.replace(/^0x/, "") : BigInt(hexOrNumber).toString(16);
  return hex.toLowerCase().padStart(64, "0");
};

/** What `address` holds of the token `asset`, in atomic units (a BigInt). */
export async function balance(rpcUrl, asset, address) {
  const data = `0x70a08231${word(address)}`;
  return BigInt(await rpc(rpcUrl, "eth_call", [{ to: asset, data }, "latest"]));
}

/** Whether the authorization (from, nonce) was used or cancelled on chain. */
export async function authorizationState(rpcUrl, asset, from, nonce) {
  const data = `0xe94a0102${word(from)}${word(nonce)}`;
  return BigInt(await rpc(rpcUrl, "eth_call", [{ to: asset, data }, "latest"])) !== 0n;
}
