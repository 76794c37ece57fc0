// Payers that are contracts: whether they signed is the facilitator's to say, and everything else is as for a key.
import assert from "node:assert/strict";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { addGas, addToken, testAccount } from "../devnet/chain.mjs";
import { rebuilt } from "../devnet/client.mjs";
import { codeAt, delegate, FACTORY, placeFactory, placeWallet, undeployed, walletOf } from "../devnet/wallets.mjs";
import { assertRefused, assertRun } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const WALLET = getAddress("0x00000000000000000000000000000000000c0111");
const UNKNOWN_FACTORY = "0x000000000000000000000000000000000000fac1";
const ONCE = { payer: -1000n, seller: 1000n };
const body = JSON.stringify(HELLO);
/** As wallets with modules do it: the module's address before the signature. */
const longer = (signature) => `0x${"11".repeat(20)}${signature.slice(2)}`;

export default async function wallets(test, world) {
  const { faults, info } = world;
  const { rpcUrl } = info;
  const owner = testAccount("owner of wallets");
  const stranger = world.nextPayer();

  /** A payer at `address`, for whom `key` signs. */
  const payerAt = (address, key = owner.privateKey) => ({ address, privateKey: key });
  const sign = (payer, spoil, version = 2) => world.payment({ payer, version, sign: { from: payer.address, spoil } });
  const fund = (address) => addToken(rpcUrl, info.asset, [address]);

  /** Pays once, asks verify `verified` times, and has its answer again by the same payment. */
  async function buys(payer, spoil, { verified, version = 2 }) {
    faults.reset();
    const headers = await sign(payer, spoil, version);
    const { result, ...moved } = await world.moved(payer, () => world.send({ body, headers }));
    assertRun(result, { world, body, payer, amount: "1000", version });
    assert.deepEqual(moved, ONCE);
    const { verify, settle } = faults.stats();
    assert.deepEqual([verify.calls, settle.calls], [verified, 1]);
    const again = await world.free(payer, () => world.send({ body, headers }));
    assert.ok(again.bytes.equals(result.bytes));
    const anew = await world.free(payer, () => world.send({ body, headers: rebuilt(headers) }));
    assert.ok(anew.bytes.equals(result.bytes), anew.text);
    return { headers, answer: result };
  }

  const refused = async (payer, spoil, message) => {
    const headers = await sign(payer, spoil);
    assertRefused(await world.free(payer, () => world.send({ body, headers })), "PAYMENT_INVALID", { message });
  };

  await fund(WALLET);
  await placeWallet(rpcUrl, WALLET, owner.address);
  const contract = payerAt(WALLET);

  for (const version of [2, 1]) {
    await test(`ERC-1271, v${version}: the owner's signature, plain or longer, is the wallet's`, async () => {
      await buys(contract, (signature) => signature, { verified: 1, version });
      await buys(contract, longer, { verified: 1, version });
    });
  }

  await test("ERC-1271: nobody else's signature is, and its answers are for who holds the payment", async () => {
    await refused(payerAt(contract.address, stranger.privateKey), (signature) => signature, /signature/);
    await refused(payerAt(contract.address, stranger.privateKey), longer, /signature/);
    const { headers, answer } = await buys(contract, longer, { verified: 1 });
    const { payload } = JSON.parse(Buffer.from(headers["PAYMENT-SIGNATURE"], "base64"));
    const { nonce } = payload.authorization;
    const forged = await world.payment({ payer: stranger, sign: { from: contract.address, nonce } });
    const got = await world.free(contract, () => world.send({ body, headers: forged }));
    assertRefused(got, "PAYMENT_REPLAYED", { message: /do not sign/ });
    assert.ok(!got.text.includes(answer.json.payment.transaction));
  });

  await test("ERC-1271: while it is not known what became of it, nobody is told to sign again", async () => {
    faults.reset();
    const headers = await sign(contract, longer);
    const { payload } = JSON.parse(Buffer.from(headers["PAYMENT-SIGNATURE"], "base64"));
    const forged = await world.payment({ payer: stranger, sign: { from: contract.address, nonce: payload.authorization.nonce } });
    const { result, ...moved } = await world.moved(contract, async () => {
      faults.set({ settle: "reset-before" });
      assertRefused(await world.send({ body, headers }), "PAYMENT_SETTLEMENT_INDETERMINATE");
      assertRefused(await world.send({ body, headers: rebuilt(headers) }), "PAYMENT_SETTLEMENT_INDETERMINATE");
      assertRefused(await world.send({ body, headers: forged }), "PAYMENT_REPLAYED", { message: /do not sign/ });
      faults.reset();
      return world.send({ body, headers: rebuilt(headers) });
    });
    assertRun(result, { world, body, payer: contract, amount: "1000" });
    assert.deepEqual(moved, ONCE);
  });

  await test("ERC-1271: a last byte that is no v of a key's is refused, from a contract too, and nobody is asked", async () => {
    faults.reset();
    for (const v of ["00", "01", "1f"]) {
      await refused(contract, (signature) => `${signature.slice(0, -2)}${v}`, /27 or 28/);
    }
    assert.equal(faults.stats().verify.calls, 0);
  });

  await test("EIP-7702: a key whose account has code", async () => {
    const account = testAccount("an account with code");
    await fund(account.address);
    await addGas(rpcUrl, account.address);
    await buys(account, (signature) => signature, { verified: 0 });
    await delegate(rpcUrl, info.chainId, account.privateKey);
    assert.match(await codeAt(rpcUrl, account.address), /^0xef0100/);
    await buys(account, (signature) => signature, { verified: 0 });
    await buys(account, longer, { verified: 1 });
    await refused(payerAt(account.address, stranger.privateKey), (signature) => signature, /signature/);
  });

  await test("ERC-6492: a wallet that is not there yet is made by its first payment", async () => {
    await placeFactory(rpcUrl, FACTORY);
    const wallet = payerAt(await walletOf(rpcUrl, FACTORY, owner.address));
    await fund(wallet.address);
    await refused(wallet, (signature) => signature);
    assert.equal(await codeAt(rpcUrl, wallet.address), "0x");
    await buys(wallet, (signature) => undeployed(FACTORY, owner.address, signature), { verified: 1 });
    assert.notEqual(await codeAt(rpcUrl, wallet.address), "0x");
    await buys(wallet, (signature) => undeployed(FACTORY, owner.address, signature), { verified: 1 });
    await buys(wallet, (signature) => signature, { verified: 1 });
  });

  await test("ERC-6492: a factory that the facilitator does not know is refused before anything is claimed", async () => {
    await placeFactory(rpcUrl, UNKNOWN_FACTORY);
    const wallet = payerAt(await walletOf(rpcUrl, UNKNOWN_FACTORY, owner.address));
    await fund(wallet.address);
    await refused(wallet, (signature) => undeployed(UNKNOWN_FACTORY, owner.address, signature), /factory/);
    assert.equal(await codeAt(rpcUrl, wallet.address), "0x");
  });
}
