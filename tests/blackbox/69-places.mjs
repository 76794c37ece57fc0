// The settings of sites in the web servers' own files: `tollbox check` judges them, `tollbox config` shows them, each with the
// place where it stands. Read from what nginx and Apache make of their files, here of the stack's and of some by hand.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { getAddress } from "../devnet/node_modules/viem/_esm/utils/address/getAddress.js";
import { apacheFront, fcgiwrapFront } from "./fronts.mjs";
import { OWNER } from "./world.mjs";

const run = promisify(execFile);
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

/** What nginx makes of `text`, without nginx: for files that its version or this host would not take. */
const dump = (text, file = "/etc/nginx/nginx.conf") => `# configuration file ${file}:\n${text}\n`;

export default async function places(test, world) {
  let files = 0;
  const write = (text) => {
    const file = join(world.folder, `places-${files++}`);
    writeFileSync(file, text);
    return file;
  };
  const ofNginx = async (folder, config) => write((await run("nginx", ["-T", "-p", folder, "-c", config], { env: { PATH } })).stdout);
  const ofApache = async (config) =>
    write((await run("apache2", ["-f", config, "-t", "-D", "DUMP_CONFIG", "-C", "LoadModule info_module /usr/lib/apache2/modules/mod_info.so"], { env: { PATH } })).stdout);
  const stackFiles = dirname(world.stack.ca);
  const tollbox = (command, file) => world.tollbox(command, "--web", file, "-c", join(stackFiles, "tollbox.ini"));
  /** → the lines about sites, and whether all holds */
  const check = async (file) => {
    const { status, stdout } = await tollbox("check", file);
    return { status, sites: stdout.split("\n").filter((line) => /^(ok|FAIL) +(site|web server): /.test(line)) };
  };
  /** → {place: {setting: value}}; what is wrong is the setting "wrong" */
  const config = async (file) => {
    const { status, stdout } = await tollbox("config", file);
    assert.equal(status, 0);
    const [, ...blocks] = stdout.split(/^# (?=nginx, |Apache, )/m);
    return Object.fromEntries(blocks.map((block) => {
      const [name, ...lines] = block.trim().split("\n");
      if (lines.at(-1) === "# sets nothing itself") {
        return [name, {}];
      }
      return [name, Object.fromEntries(lines.map((line) => /^(?:# )?([a-z_.]+)(?: = |: )(.*?)(?: {2}# location, .*)?$/.exec(line).slice(1)))];
    }));
  };

  const stack = await ofNginx(stackFiles, join(stackFiles, "nginx.conf"));

  await test("check finds the sites of nginx's files, and what is wrong with them", async () => {
    const { status, sites } = await check(stack);
    assert.equal(status, 1);
    const about = (pattern) => sites.filter((line) => pattern.test(line));
    assert.equal(about(/^ok .*nginx, no server_name \(.*sites\.conf:\d+\): https:\/\/owner\.example, paid to 0x/).length, 1);
    assert.ok(about(/owner\.example/)[0].includes(getAddress(OWNER)));
    assert.equal(about(/^ok .*nginx, 127\.0\.0\.1 \(/).length, 1, "the shipped block");
    assert.equal(about(/^ok .*twin\.example/).length, 1);
    assert.equal(about(/TOLLBOX_METRICS/).length, 0, "which opens a route, and is no setting");
    assert.match(about(/TOLLBOX_PAY_TO/)[0], /^FAIL .*sites\.conf:\d+\): .*0x and 40 hex digits/);
    assert.match(about(/TOLLBOX_STATE_DIR/)[0], /^FAIL .*cannot be set by a location/);
    assert.equal(about(/^FAIL .*TOLLBOX_PRICES is given twice/).length, 1);
    assert.match(about(/\$host/)[0], /^FAIL .*TOLLBOX_PUBLIC_URL is made of \$host — write constants/);
  });

  await test("config shows what each of them sets", async () => {
    const all = Object.values(await config(stack));
    const owner = all.find((site) => site["site.public_url"] === "https://owner.example");
    assert.deepEqual(Object.keys(owner).sort(), ["site.pay_to", "site.prices", "site.public_url", "site.runtimes", "site.tiers"]);
    assert.equal(owner["site.pay_to"], OWNER);
    assert.match(owner["site.prices"], /\bsmall=0\.002\b/);
    assert.equal(owner["site.tiers"], "small large");
    assert.ok(all.filter((site) => "wrong" in site).length >= 4);
  });

  await test("the sites of Apache's files", async () => {
    const host = (name, lines) => ({ name, include: "tollbox.conf", lines });
    const front = await apacheFront(world, {
      hosts: [
        host("owner", `SetEnv TOLLBOX_PAY_TO ${OWNER}\n  SetEnv TOLLBOX_PUBLIC_URL https://apache.example\n  SetEnv TOLLBOX_PRICES "small=$0.002 large=$0.5"`),
        host("chosen", `ProxyFCGISetEnvIf "true" TOLLBOX_PAY_TO ${OWNER}`),
        host("ofHost", 'ProxyFCGISetEnvIf "true" TOLLBOX_PUBLIC_URL "https://%{HTTP_HOST}"'),
        host("broken", "SetEnv TOLLBOX_PAY_TO nonsense"),
        host("part", `<Location "/execute">\n    SetEnv TOLLBOX_TIERS nosuch\n  </Location>`),
        host("other", "Define TOLLBOX_SOCKET /run/other.sock"),
        { name: "cgi", include: "tollbox-cgi.conf", lines: "SetEnv TOLLBOX_PUBLIC_URL https://cgi.example" },
      ],
    });
    await front.stop();
    const file = await ofApache(front.config);
    const { sites } = await check(file);
    // Each has two hosts, with and without TLS.
    const about = (pattern) => sites.filter((line) => pattern.test(line)).length;
    assert.equal(about(/^ok .*Apache, 127\.0\.0\.1 \(.*apache\.conf:\d+\): https:\/\/apache\.example, paid to 0x/), 2, sites.join("\n"));
    assert.equal(about(/^ok .*https:\/\/cgi\.example/), 2);
    assert.equal(about(/^ok .*another daemon's, at \/run\/other\.sock/), 2);
    assert.equal(about(/^FAIL .*TOLLBOX_PUBLIC_URL is made of the request/), 2);
    assert.equal(about(/^FAIL .*TOLLBOX_PAY_TO\) must be 0x/), 2);
    assert.equal(about(/^FAIL .*nosuch/), 2);
    assert.equal(about(/^FAIL/), 6, sites.join("\n"));
    const owner = Object.values(await config(file)).find((site) => site["site.public_url"] === "https://apache.example");
    assert.deepEqual(owner["site.prices"], "small=$0.002 large=$0.5");
  });

  await test("a site behind fcgiwrap is that of the socket its script goes to", async () => {
    const front = await fcgiwrapFront(world);
    await front.stop();
    const { sites } = await check(await ofNginx(dirname(front.config), front.config));
    assert.equal(sites.filter((line) => /^ok .*127\.0\.0\.1 .*: https/.test(line)).length, 1, sites.join("\n"));
    assert.equal(sites.filter((line) => line.includes("another daemon's, at /nonexistent/tollbox.sock")).length, 1);
  });

  const site = (lines, more = "") => `
    http { ${more}
      server {
        server_name "run.example" other.example; # not this one: server_name wrong;
        ${lines}
      }
    }`;
  const location = (params, lines = "") => `location /x { ${lines} fastcgi_pass unix:${world.socket}; ${params} }`;
  const cases = [
    ["constants, quoted and not", site(location(`fastcgi_param TOLLBOX_PRICES 'small=0.002  large=1'; fastcgi_param TOLLBOX_TIERS "small large";`)), { "site.prices": "small=0.002 large=1", "site.tiers": "small large" }],
    ["a variable of the server, set twice", site(`set $t small; ${location("fastcgi_param TOLLBOX_TIERS $t;")} set $t large;`), { "site.tiers": "large" }],
    ["a variable of the location, in braces", site(`set $t small; ${location("fastcgi_param TOLLBOX_TIERS ${t}rge;", "set $t la;")}`), { "site.tiers": "large" }],
    ["a variable of variables", site(`set $a mall; set $b s$a; ${location("fastcgi_param TOLLBOX_TIERS $b;")}`), { "site.tiers": "small" }],
    ["parameters of the http block", site(location(""), "fastcgi_param TOLLBOX_TIERS small;"), { "site.tiers": "small" }],
    ["parameters of the http block that a location's own put aside", site(location("fastcgi_param TOLLBOX_RUNTIMES python3;"), "fastcgi_param TOLLBOX_TIERS small;"), { "site.runtimes": "python3" }],
    ["an empty one that is left out", site(`set $t ""; ${location("fastcgi_param TOLLBOX_TIERS $t if_not_empty; fastcgi_param TOLLBOX_RUNTIMES python3;")}`), { "site.runtimes": "python3" }],
    ["braces and semicolons in strings, and a block of another language", site(`${location('fastcgi_param TOLLBOX_TIERS "small"; more_set_headers "a: } ; {";')} location /lua { content_by_lua_block { local t = {1, 2} } }`), { "site.tiers": "small" }],
    ["an empty one", site(location('fastcgi_param TOLLBOX_PAY_TO "";')), /TOLLBOX_PAY_TO must not be empty/],
    ["a map", site(location("fastcgi_param TOLLBOX_TIERS $mapped;"), "map $host $mapped { default small; }"), /TOLLBOX_TIERS is made of \$mapped/],
    ["a condition", site(`set $t small; if ($arg_t) { set $t large; } ${location("fastcgi_param TOLLBOX_TIERS $t;")}`), /TOLLBOX_TIERS is made of \$t/],
    ["a variable of itself", site(`set $t $t; ${location("fastcgi_param TOLLBOX_TIERS $t;")}`), /TOLLBOX_TIERS is made of \$t/],
  ];
  for (const [name, text, expected] of cases) {
    await test(`nginx: ${name}`, async () => {
      const [[place, settings], ...more] = Object.entries(await config(write(dump(text))));
      assert.equal(more.length, 0);
      assert.match(place, /^nginx, run\.example \(\/etc\/nginx\/nginx\.conf:3\)$/);
      if (expected instanceof RegExp) {
        assert.match(JSON.stringify(settings), expected);
      } else {
        assert.deepEqual(settings, expected);
      }
    });
  }

  await test("nginx: files that are included, by pattern and by name, from others too", async () => {
    const text =
      dump("http { include sites-enabled/*; include /srv/none*; }") +
      dump(`server { server_name a; set $tiers small; include pass.conf; }`, "/etc/nginx/sites-enabled/a") +
      dump(location("fastcgi_param TOLLBOX_TIERS $tiers;"), "/etc/nginx/pass.conf") +
      dump(`server { server_name b; include pass.conf; set $tiers large; }`, "/etc/nginx/sites-enabled/b") +
      dump("server { include ../pass.conf; }", "/etc/nginx/sites-enabled/.hidden");
    assert.deepEqual(await config(write(text)), {
      "nginx, a (/etc/nginx/sites-enabled/a:1)": { "site.tiers": "small" },
      "nginx, b (/etc/nginx/sites-enabled/b:1)": { "site.tiers": "large" },
    });
  });

  await test("a site that sets nothing, one without TLS, and files without a site are told, and are no fault", async () => {
    const plain = write(dump(site(`set $t ""; ${location("fastcgi_param TOLLBOX_TIERS $t if_not_empty;")}`)));
    assert.match((await tollbox("config", plain)).stdout, /^# nginx, run\.example \(.*:3\)\n# sets nothing itself\n$/m);
    assert.deepEqual((await check(plain)).sites.map((line) => /^ok .*: (https:\/\/\S+), paid to/.test(line)), [true]);
    const open = await check(write(dump(site(location("fastcgi_param TOLLBOX_PUBLIC_URL http://run.example;")))));
    assert.match(open.sites[1], /^ok .*run\.example .*is not https: who reads a payment/);
    const none = await check(write(dump("http { server { server_name blog; } }")));
    assert.deepEqual(none.sites, ["ok    site: none yet in the files of nginx and Apache — include tollbox.conf in a server block or virtual host"]);
    for (const { status } of [open, none]) {
      assert.equal(status, 0);
    }
  });

  await test("files that include themselves, never end, or are none end soon", async () => {
    for (const text of [dump("http { include nginx.conf; }"), dump("server { ".repeat(1000)), dump('server { server_name "'), "something else", "", "# In file: x\n</VirtualHost>\n<VirtualHost a>\n"]) {
      const { status, stdout } = await tollbox("config", write(text));
      assert.ok([0, 1].includes(status), text);
      assert.doesNotMatch(stdout, /^# (nginx|Apache), /m);
    }
    const { status, stderr } = await tollbox("config", "/nonexistent");
    assert.equal(status, 1);
    assert.match(stderr, /\/nonexistent: cannot be read/);
  });
}
