// The free quote (api.md section 5).
import assert from "node:assert/strict";
import { assertCommon, assertRefused, LIMIT_MEMBERS, members } from "./shape.mjs";
import { HELLO } from "./world.mjs";

const MIB = 1024 * 1024;
const DEFAULTS = { timeoutMs: 10000, maxMemoryBytes: 256 * MIB, maxOutputBytes: MIB, workDirBytes: 64 * MIB };

export default async function quote(test, world) {
  const ask = (body, path = "/quote") => world.send({ path, body });

  async function quoted(body, path) {
    const answer = await ask(body, path);
    assert.equal(answer.status, 200, answer.text);
    assertCommon(answer);
    assert.equal(answer.required, null);
    assert.deepEqual(members(answer.json), ["accepts", "limits", "price", "priceUsd", "tier"]);
    assert.deepEqual(members(answer.json.limits), LIMIT_MEMBERS);
    return answer.json;
  }

  await test("an empty object is the base price and the default limits", async () => {
    const { accepts, ...rest } = await quoted({});
    assert.deepEqual(rest, { tier: "small", price: "$0.0010", priceUsd: 0.001, limits: DEFAULTS });
    assert.deepEqual(accepts, (await world.send({ body: {} })).required.accepts);
  });

  await test("medium and large", async () => {
    const medium = await quoted({ limits: { timeoutMs: 60000 } });
    assert.deepEqual([medium.tier, medium.price, medium.priceUsd, medium.accepts[0].amount], ["medium", "$0.0050", 0.005, "5000"]);
    assert.deepEqual(medium.limits, { ...DEFAULTS, timeoutMs: 60000 });
    const large = await quoted({ limits: { workDirBytes: 1024 * MIB } });
    assert.deepEqual([large.tier, large.price, large.priceUsd, large.accepts[0].amount], ["large", "$0.0200", 0.02, "20000"]);
  });

  await test("1e4 and 10000.0 are integers", async () => {
    assert.equal((await quoted('{"limits":{"timeoutMs":1e4}}')).limits.timeoutMs, 10000);
    assert.equal((await quoted('{"limits":{"timeoutMs":10000.0}}')).limits.timeoutMs, 10000);
  });

  await test("the query string does no harm", async () => {
    assert.equal((await quoted(HELLO, "/quote?utm_source=x&route=/execute")).tier, "small");
  });

  await test("?route= names the route that is priced", async () => {
    for (const query of ["route=/execute", "route=%2Fexecute&x", "a=b&route=%2fexecute&route=/nothing", "route"]) {
      assert.equal((await quoted(HELLO, `/quote?${query}`)).tier, "small", query);
    }
    for (const query of ["route=", "route=/nothing", "route=/quote", "route=execute", "route=/execute/", "route=%2", "route=%00", `route=${"x".repeat(500)}`]) {
      assertRefused(await ask({}, `/quote?${query}`), "REQUEST_MALFORMED", { status: 404, message: /route/ });
    }
  });

  const errors = [
    [{ runtime: "cobol" }, "RUNTIME_UNSUPPORTED"],
    [{ limits: { timeoutMs: 99 } }, "RUNTIME_LIMIT_OUT_OF_RANGE"],
    [{ runtime: "node", limits: { maxMemoryBytes: 32 * MIB } }, "RUNTIME_LIMIT_OUT_OF_RANGE"],
    [{ colour: "red" }, "SANDBOX_INVALID_REQUEST"],
    ["[]", "REQUEST_MALFORMED"],
  ];
  for (const [body, code] of errors) {
    await test(`${JSON.stringify(body)} gets the error of /execute, ${code}`, async () => {
      assertRefused(await ask(body), code);
    });
  }

  await test("receipt.priceUsd equals the quote", async () => {
    const job = { ...HELLO, limits: { timeoutMs: 10001 } };
    const { priceUsd, accepts } = await quoted(job);
    const { receipt } = await world.run(job, { amount: accepts[0].amount });
    assert.equal(receipt.priceUsd, priceUsd);
  });
}
