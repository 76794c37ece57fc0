// What must go on working inside (sandbox-facts.md 8).
const { Worker, isMainThread, parentPort } = require('worker_threads');
const check = (good, name, detail = '') =>
  console.log(`${good ? 'ok  ' : 'FAIL'} ${name}${detail ? ': ' + detail : ''}`);

if (!isMainThread) {
  parentPort.postMessage(require('crypto').randomBytes(4).length);
} else if (process.argv[2] === 'child') {
  process.send('hello');
  process.disconnect();
} else {
  (async () => {
    const once = (emitter, name) => new Promise((f) => emitter.once(name, f));
    check((await once(new Worker(__filename), 'message')) === 4, 'worker');
    const child = require('child_process').fork(__filename, ['child']);
    check((await once(child, 'message')) === 'hello', 'forked child');
    check(
      require('child_process').execSync('echo é').toString() === 'é\n',
      'shell',
    );
    const server = require('net').createServer((s) => s.end('hi'));
    await new Promise((f) => server.listen(0, '127.0.0.1', f));
    const socket = require('net').connect(server.address().port, '127.0.0.1');
    check((await once(socket, 'data')).toString() === 'hi', 'own loopback');
    server.close();
    new WebAssembly.Memory({ initial: 1 });
    check(true, 'wasm memory');
    const fs = require('fs');
    fs.writeFileSync('/tmp/x', 'y'.repeat(100000));
    check(fs.readFileSync('/tmp/x').length === 100000, 'file in /tmp');
    check(require('os').userInfo().username === 'sandbox', 'user name');
    check(
      require('zlib').gunzipSync(require('zlib').gzipSync('z')).toString() ===
        'z',
      'zlib',
    );
    console.log('done');
  })();
}
