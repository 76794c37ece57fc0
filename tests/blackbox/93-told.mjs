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
  const settings = ({ state = "none", payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", facilitator = "" }) => `
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
url = https://facilitator.example.com
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
