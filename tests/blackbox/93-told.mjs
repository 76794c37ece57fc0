// What an operator does wrong is told before the service starts: by `serve -n`, and by the commands of the ledger.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { program } from "./tool.mjs";

export default async function told(test, world) {
  const folder = mkdtempSync("/tmp/tollbox-told.");
  chmodSync(folder, 0o755);
  const file = join(folder, "tollbox.ini");
  const parts = join(dirname(world.stack.ca), "lib");
  const settings = ({ state = "none", payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", facilitator = "", url = "https://facilitator.example.com" }) => `
[service]
name = told
state_dir = ${join(folder, state)}
[sandbox]
init = ${parts}/sandbox-init
runtimes_dir = ${parts}/runtimes
[site]
public_url = https://run.example.com
pay_to = ${payTo}
network = eip155:84532
asset = 0x036CbD53842c5426634e7929541eC2318f3dCF7e
asset_name = USDC
asset_version = 2
[facilitator:default]
url = ${url}
${facilitator}
`;

  const tollbox = (what, ...command) => {
    writeFileSync(file, settings(what));
    return spawnSync(program, [...command, "-c", file], { encoding: "utf8" });
  };
  const dry = (what) => tollbox(what, "serve", "-n");

  try {
    await test("settings that a start would take are fine", () => {
      const { status, stdout, stderr } = dry({});
      assert.equal(status, 0, stderr);
      assert.equal(stdout, "the settings are fine\n");
      assert.equal(stderr, "");
    });

    await test("a mistyped address is told once, before money goes there", () => {
      const { status, stdout, stderr } = dry({ payTo: "0x309693Bc6afc0C5328bA36FaF03C514EF312287C" });
      assert.equal(status, 1);
      assert.equal(stdout, "");
      assert.match(stderr, /^\S+ super: err: the settings are wrong: .*0x309693\S+ is mistyped: .*\n$/);
    });

    await test("so is a secret file that is not there, or that others may read", () => {
      const secret = join(folder, "auth");
      const what = { facilitator: `auth_header_file = ${secret}` };
      assert.match(dry(what).stderr, /auth: No such file/);
      writeFileSync(secret, "Authorization: Bearer told\n", { mode: 0o644 });
      const open = dry(what);
      assert.equal(open.status, 1);
      assert.match(open.stderr, /must be a file that others may not read \(chmod 600\)/);
      assert.doesNotMatch(open.stderr, /Bearer/);
      rmSync(secret);
      writeFileSync(secret, "Authorization: Bearer told\n", { mode: 0o600 });
      assert.equal(dry(what).status, 0);
    });

    await test("a secret is not sent in clear: plain http to another host is refused with it", () => {
      const secret = join(folder, "auth");
      for (const [url, ok] of [["http://facilitator.example.com", false], ["http://127.0.0.1.example.com", false], ["http://localhost.example.com", false], ["http://10.0.0.1", false], ["http://127.0.0.1:4", true], ["http://localhost:4/x", true], ["http://[::1]:4", true]]) {
        const { status, stderr } = dry({ url, facilitator: `auth_header_file = ${secret}` });
        assert.equal(status, ok ? 0 : 1, `${url}: ${stderr}`);
        assert.ok(ok || /\[facilitator:default\] url must be https:\/\/ .* in clear/.test(stderr), stderr);
        assert.equal(dry({ url }).status, 0, "without a secret it may be");
      }
    });

    await test("all that is not set is told at once", () => {
      const bare = join(folder, "bare.ini");
      writeFileSync(bare, `[sandbox]\ninit = ${parts}/sandbox-init\nruntimes_dir = ${parts}/runtimes\n`);
      const { status, stderr } = spawnSync(program, ["serve", "-n", "-c", bare], { encoding: "utf8" });
      assert.equal(status, 1);
      for (const name of ["PUBLIC_URL", "NETWORK", "ASSET", "ASSET_NAME", "ASSET_VERSION", "PAY_TO", "FACILITATOR_URL"]) {
        assert.ok(stderr.includes(`(TOLLBOX_${name})`), `${name}: ${stderr}`);
      }
      assert.match(stderr, /err: \[site\] public_url .* are not set\n$/);
    });

    await test("check tells of state folder, keys and room, and of the run user once", () => {
      const lines = (what) => tollbox(what, "check").stdout.split("\n");
      const of = (list, word) => list.filter((line) => line.slice(6).startsWith(`${word}: `));
      assert.match(of(lines({}), "state")[0], /^ok .*none is not there yet: the first start makes it$/);
      const state = join(folder, "looked-at");
      mkdirSync(join(state, "keys"), { recursive: true, mode: 0o700 });
      for (const name of ["receipts.pem", "offers.pem"]) {
        writeFileSync(join(state, "keys", name), "", { mode: 0o600 });
      }
      execFileSync("chown", ["-R", "tollbox:tollbox", state]);
      const good = lines({ state: "looked-at" });
      assert.match(of(good, "state")[0], /^ok .*looked-at, mode 700$/);
      assert.match(of(good, "disk")[0], /^ok .*\d+ MiB are left in .*; answers may take 1024 MiB/);
      assert.deepEqual(of(good, "signing key").map((line) => /^ok .*keys\/(receipts|offers)\.pem, mode 600$/.test(line)), [true, true]);
      assert.equal(good.filter((line) => /tollbox-run, uid/.test(line)).length, 1);
      chmodSync(state, 0o755);
      chmodSync(join(state, "keys", "offers.pem"), 0o640);
      execFileSync("chown", ["nobody", join(state, "keys", "receipts.pem")]);
      const bad = lines({ state: "looked-at" });
      assert.match(of(bad, "state")[0], /^FAIL .*can be used by others \(mode 755\) — chmod 700$/);
      assert.match(of(bad, "signing key")[0], /^FAIL .*receipts\.pem is uid \d+'s — chown it to tollbox/);
      assert.match(of(bad, "signing key")[1], /^FAIL .*offers\.pem can be used by others \(mode 640\) — chmod 600$/);
    });

    await test("before the first start there is no ledger and no key, and that is what the commands say", () => {
      const none = tollbox({}, "payments");
      assert.equal(none.status, 1);
      assert.match(none.stderr, /ledger\.db is not there; the service makes it when it first starts\n$/);
      const keys = tollbox({}, "rotate-keys");
      assert.equal(keys.status, 1);
      assert.match(keys.stderr, /\/none: No such file or directory\n$/);
    });

    await test("a key that is not the service's user's is named, with the mend", () => {
      const state = join(folder, "state");
      mkdirSync(join(state, "keys"), { recursive: true });
      execFileSync("chown", ["-R", "tollbox:tollbox", state]);
      writeFileSync(join(state, "keys", "receipts.pem"), "", { mode: 0o600 });
      const { status, stderr } = tollbox({ state: "state" }, "rotate-keys");
      assert.equal(status, 1);
      assert.match(stderr, /keys\/receipts\.pem must be the service's user's \(chown it\)\n$/);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
