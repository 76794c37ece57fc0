// Preloaded while node is started ahead of its job (init_warm.c). Leaves no
// trace, neither in the cache of modules nor in the environment.
if (process.pid === 2) {
  const fs = require('fs');
  const Module = require('module');
  const { Socket } = require('net');
  // What the first console.log() takes milliseconds for, done once with a
  // pipe that nobody will miss: the program's own are as they were.
  const gate = new Socket({ fd: 199, readable: false, writable: true });
  if (process.argv[1].endsWith('.mjs')) {
    // Nor what it takes to load the first module, and a file by the threads
    // that there would be by then.
    let loaded = false;
    import('data:text/javascript,import "node:fs"').finally(() => {
      loaded = true;
    });
    for (let i = 0; i < 100 && !loaded; i++) process._tickCallback();
    fs.stat('/', () => {});
  }
  fs.writeSync(199, 'R');
  gate.unref();
  gate._handle.close(); // gate.destroy() would look at process.stderr
  const go = Buffer.alloc(1);
  fs.readSync(198, go);
  if (go.toString() === 'H') {
    const [helper, ...fields] = fs.readFileSync(198, 'utf8').split('\0');
    new Function('require', `return (${helper})`)(require)(fields);
  } else {
    fs.closeSync(197);
  }
  fs.closeSync(198);
  delete require.cache[__filename];
  for (const key of Object.keys(Module._pathCache)) {
    if (key.startsWith(__filename)) delete Module._pathCache[key];
  }
  delete process.env.NODE_OPTIONS;
}
