// Web servers with the shipped files, beside a running stack: Apache, nginx, and fcgiwrap behind it. Each gets a folder of its
// own and takes the daemon's socket, a certificate and its key.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, closeSync, copyFileSync, cpSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts } from "./ports.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MODULES = "/usr/lib/apache2/modules";
const WWW = 33; // www-data of every Debian
const READY_MS = 30_000;
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

/** A copy that a server's own user may read, whatever the umask was when the original was checked out. */
export function copyForAll(from, to) {
  cpSync(from, to, { recursive: true });
  execFileSync("chmod", ["-R", "a+rX", to]);
}

/**
 * hosts: {name, include (a file of apache/), lines (before it), patch ([pattern, text] on all that it includes)}; each has ports
 * of its own. → {urls: {name: {http, https}}, log (a file), config, stop()}
 */
export async function startApache({ folder, socket, cert, key, hosts }) {
  const ports = await freePorts(2 * hosts.length);
  mkdirSync(folder);
  // The checkout may be for root's eyes only.
  copyForAll(join(root, "apache", "errors"), join(folder, "share", "errors"));
  const script = installScript(folder);
  const urls = {};
  const blocks = hosts.map(({ name, include = "tollbox-server.conf", lines = "", patch }, index) => {
    const [plain, tls] = ports.slice(2 * index);
    urls[name] = { http: `http://127.0.0.1:${plain}`, https: `https://127.0.0.1:${tls}` };
    const files = copyConfig("apache", join(folder, name), patch, /^Include (?=tollbox)/gm, `Include ${name}/`);
    const block = (port, more) => `<VirtualHost 127.0.0.1:${port}>
  ServerName 127.0.0.1
  Define TOLLBOX_SOCKET ${socket}
  ${more}
  ${lines}
  Include ${files}/${include}
</VirtualHost>`;
    return `Listen 127.0.0.1:${plain}
Listen 127.0.0.1:${tls}
${block(plain, "")}
${block(tls, `SSLEngine on\n  SSLCertificateFile ${cert}\n  SSLCertificateKeyFile ${key}\n  Protocols h2 http/1.1`)}`;
  });
  const modules = ["mpm_event", "authz_core", "authz_host", "alias", "buffer", "cgid", "env", "headers", "http2", "proxy", "proxy_fcgi", "reqtimeout", "setenvif", "socache_shmcb", "ssl", "unique_id"];
  const config = join(folder, "apache.conf");
  writeFileSync(config, `ServerRoot ${folder}
ServerName 127.0.0.1
PidFile ${folder}/pid
DefaultRuntimeDir ${folder}
Mutex file:${folder} default
ErrorLog ${folder}/log
LogLevel warn
# Longer than a client may stall between two requests on one connection.
KeepAliveTimeout 75
User www-data
Group www-data
TraceEnable off
${modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join("\n")}
ScriptSock ${folder}/cgisock
Define TOLLBOX_SHARE ${folder}/share
Define TOLLBOX_CGI ${script}
${blocks.join("\n")}
`);
  return running({ program: "apache2", args: ["-f", config, "-DFOREGROUND"], folder, urls, config, signal: "SIGTERM" });
}

/** As startApache(); `lines` come after the include, since nginx's later `set` wins. */
export async function startNginx({ folder, socket, cert, key, hosts }) {
  const ports = await freePorts(2 * hosts.length);
  mkdirSync(folder);
  const urls = {};
  const blocks = hosts.map(({ name, lines = "", patch }, index) => {
    const [plain, tls] = ports.slice(2 * index);
    urls[name] = { http: `http://127.0.0.1:${plain}`, https: `https://127.0.0.1:${tls}` };
    const files = copyConfig("nginx", join(folder, name), patch, /include (?=tollbox)/g, `include ${name}/`);
    // Each host is a whole server block, but a format of logs has one definition.
    if (index > 0) {
      const block = join(files, "tollbox-server.conf");
      writeFileSync(block, readFileSync(block, "utf8").replace(/^log_format [^;]*;/m, ""));
    }
    writeFileSync(join(files, "tollbox-site.conf"), `listen 127.0.0.1:${plain};
listen 127.0.0.1:${tls} ssl http2;
server_name 127.0.0.1;
ssl_certificate ${cert};
ssl_certificate_key ${key};
set $tollbox_backend unix:${socket};
${lines}`);
    return `include ${name}/tollbox-server.conf;`;
  });
  const config = join(folder, "nginx.conf");
  writeFileSync(config, `user www-data;
worker_processes 1;
daemon off;
pid ${folder}/pid;
error_log ${folder}/log error;
events {
}
http {
  access_log off;
  ${["client_body", "fastcgi", "proxy", "scgi", "uwsgi"].map((name) => `${name}_temp_path ${folder}/temp-${name};`).join("\n  ")}
  ${blocks.join("\n  ")}
}
`);
  return running({ program: "nginx", args: ["-e", join(folder, "log"), "-p", `${folder}/`, "-c", config], folder, urls, config, signal: "SIGTERM" });
}

/** fcgiwrap as www-data → {socket, script, stop()}: for startNginx() with these as its backend and script. */
export async function startFcgiwrap({ folder, children = 8 }) {
  mkdirSync(folder);
  chownSync(folder, WWW, WWW);
  const socket = join(folder, "fcgiwrap.sock");
  const log = openSync(join(folder, "log"), "a");
  // A process group of its own: its first process does not take the others along when it ends.
  const options = { uid: WWW, gid: WWW, env: { PATH }, stdio: ["ignore", "ignore", log], detached: true };
  const child = spawn("fcgiwrap", ["-c", String(children), "-s", `unix:${socket}`], options);
  closeSync(log);
  const exited = once(child, "exit");
  const end = (signal) => {
    try {
      process.kill(-child.pid, signal);
    } catch (error) {
      assert.equal(error.code, "ESRCH");
    }
  };
  process.once("exit", () => end("SIGKILL"));
  await soon("fcgiwrap listens", child, () => readdirSync(folder).includes("fcgiwrap.sock"));
  return {
    socket,
    script: installScript(folder),
    async stop() {
      end("SIGTERM");
      await exited;
    },
  };
}

function installScript(folder) {
  const script = join(folder, "tollbox.cgi");
  copyFileSync(join(root, "cgi", "tollbox.cgi"), script);
  chmodSync(script, 0o755);
  return script;
}

// The shipped files of one server in a folder of their own, which include each other there.
function copyConfig(kind, folder, patch, include, there) {
  mkdirSync(folder);
  for (const name of readdirSync(join(root, kind)).filter((entry) => entry.endsWith(".conf"))) {
    const text = readFileSync(join(root, kind, name), "utf8").replace(include, there);
    writeFileSync(join(folder, name), patch ? text.replace(...patch) : text);
  }
  return folder;
}

async function running({ program, args, folder, urls, config, signal }) {
  const stderr = openSync(join(folder, "stderr"), "a");
  const child = spawn(program, args, { env: { ...process.env, PATH }, stdio: ["ignore", "ignore", stderr] });
  closeSync(stderr);
  const exited = once(child, "exit");
  process.once("exit", () => child.kill("SIGKILL"));
  await soon(`${program} answers`, child, () => answers(Object.values(urls)[0].http)).catch((error) => {
    child.kill("SIGKILL");
    throw new Error(`${error.message}\n${readFileSync(join(folder, "stderr"), "utf8")}`);
  });
  return {
    urls,
    config,
    log: join(folder, "log"),
    pid: child.pid,
    async stop() {
      child.kill(signal);
      await exited;
    },
  };
}

const answers = (url) =>
  new Promise((resolve) => {
    http.get(`${url}/version`, (response) => resolve(response.resume() !== null)).on("error", () => resolve(false));
  });

async function soon(what, child, ask) {
  for (const deadline = performance.now() + READY_MS; !(await ask()); await sleep(20)) {
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`in vain: ${what}`);
    }
  }
}
