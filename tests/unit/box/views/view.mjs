// What is different about an ES module, a line each: "what: value".
import fs from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const show = (what, value) =>
  fs.writeSync(1, `${what}: ${JSON.stringify(value)}\n`);

show('url', import.meta.url);
show('argv', process.argv);
show('execArgv', process.execArgv);
show('this', typeof this);
show('main', String(process.mainModule));
show('cache', Object.keys(require.cache));
show('env', process.env);
show('environ block', fs.readFileSync('/proc/self/environ', 'latin1'));
show('globals', Object.getOwnPropertyNames(globalThis));
show('handles', process._getActiveHandles().map((h) => h.constructor.name));
show('loaded', process.moduleLoadList.length);
process.stdout;
process.stderr;
show('later loaded', [...process.moduleLoadList].sort());
show('descriptors', fs.readdirSync('/proc/self/fd').map((n) => {
  try { return fs.readlinkSync(`/proc/self/fd/${n}`).replace(/\[\d+\]/, ''); }
  catch { return null; }
}));
show('stack', new Error('x').stack);
show('imported', Object.keys(await import('./other.mjs')));
