// All of itself that a node program can see, a line each: "what: value".
const before = {
  argv: process.argv,
  argv0: process.argv0,
  execArgv: process.execArgv,
  execPath: process.execPath,
  title: process.title,
  main: require.main.filename,
  cache: Object.keys(require.cache),
  paths: module.paths,
  parent: module.parent,
  children: module.children,
  globals: Object.getOwnPropertyNames(globalThis),
  process: Object.getOwnPropertyNames(process),
  events: process.eventNames().map((e) => [e, process.listenerCount(e)]),
  handles: process._getActiveHandles().map((h) => h.constructor.name),
  requests: process._getActiveRequests().length,
  resources: process.getActiveResourcesInfo(),
  loaded: process.moduleLoadList.length,
};
const fs = require('fs');
const Module = require('module');
const os = require('os');
const v8 = require('v8');
const { execFileSync } = require('child_process');

const show = (what, value) =>
  fs.writeSync(1, `${what}: ${JSON.stringify(value)}\n`);
const read = (path) => fs.readFileSync(path, 'latin1');

for (const [what, value] of Object.entries(before)) show(what, value);
for (const n of [0, 1, 2])
  show(`flags ${n}`, read(`/proc/self/fdinfo/${n}`).match(/flags:\s*(\d+)/)[1]);
show('known paths', Object.keys(Module._pathCache));
show('global paths', Module.globalPaths);
show('extensions', Object.keys(Module._extensions));
show('env', process.env);
show('environ block', read('/proc/self/environ'));
show('cmdline', read('/proc/self/cmdline'));
show('cwd', [process.cwd(), process.umask()]);
show('ids', [process.pid, process.ppid, process.getuid(), process.getgroups()]);
show('heap', v8.getHeapStatistics().heap_size_limit);
// All that is needed for these is there from the beginning if node was waiting;
// then there is no more difference.
process.stdout;
process.stderr;
show('later loaded', [...process.moduleLoadList].sort());
show('streams', [process.stdout, process.stderr].map((s) =>
  [s.constructor.name, s.writableHighWaterMark, s.listenerCount('error'),
    s.eventNames().map(String), s.writableLength]));
show('stdin', fs.readFileSync(0, 'latin1'));
show('descriptors', fs.readdirSync('/proc/self/fd').map((n) => {
  try { return fs.readlinkSync(`/proc/self/fd/${n}`).replace(/\[\d+\]/, ''); }
  catch { return null; }
}));
for (const line of read('/proc/self/limits').split('\n').slice(1, -1))
  show(line.slice(0, 24).trim(), line.slice(24));
for (const line of read('/proc/self/status').split('\n')) {
  const [name, value] = line.split(':');
  if (/^(TracerPid|NSpid|Threads|Cap|NoNew|Seccomp|Shd|Sig[PBIC])/.test(name))
    show('status ' + name, value);
}
show('mounts', read('/proc/self/mountinfo').split('\n').map((l) =>
  l.split(' ').slice(3).join(' ')));
show('maps', [...new Set(read('/proc/self/maps').split('\n').map((l) =>
  l.split(/\s+/)[5]))].sort());
show('processes', fs.readdirSync('/proc').filter((p) => /^\d+$/.test(p)));
show('init', read('/proc/1/cmdline').split('\0').slice(5));
for (const folder of ['/', '/box', '/tmp', '/dev', '/dev/shm', '/etc'])
  show('folder ' + folder, fs.readdirSync(folder));
show('null', [fs.statSync('/dev/null').isCharacterDevice(), read('/dev/null')]);
show('priority', [os.getPriority(), os.homedir(), os.hostname()]);
show('stack', new Error('x').stack);
show('child', execFileSync(process.execPath, ['-p',
  'JSON.stringify([process.env, process.execArgv, Object.keys(require.cache)])',
], { encoding: 'utf8' }));
const { Worker } = require('worker_threads');
new Worker(`
  const { parentPort } = require('worker_threads');
  parentPort.postMessage([process.env, process.execArgv, process.argv]);
  parentPort.postMessage(Object.keys(require.cache));
`, { eval: true }).on('message', (m) =>
  show(Array.isArray(m[0]) || typeof m[0] !== 'object' ? 'worker cache'
    : 'worker', m));
