// Ports of this host that nobody listens on, and that nobody is given by chance: below those that the kernel gives to who asks
// for any and to connections that go out. So a server may leave its port for a moment and come back to it.
import { createServer } from "node:net";

const FIRST = 20_000;
const BLOCK = 100;
const BLOCKS = 120;

let block = process.pid % BLOCKS;
let used = BLOCK; // of the block that is ours

/** → a server that listens there, or null */
const listen = (port) =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", (error) => (error.code === "EADDRINUSE" ? resolve(null) : reject(error)));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });

// Who listens on the first port of a block has the whole of it, as long as the process lives.
async function takeBlock() {
  for (let tries = 0; tries < BLOCKS; tries++) {
    block = (block + 1) % BLOCKS;
    const lock = await listen(FIRST + block * BLOCK);
    if (lock) {
      lock.unref();
      used = 1;
      return;
    }
  }
  throw new Error("all ports for tests are taken");
}

async function nextPort() {
  for (;;) {
    if (used === BLOCK) {
      await takeBlock();
    }
    const port = FIRST + block * BLOCK + used++;
    const server = await listen(port);
    if (server) {
      await new Promise((resolve) => server.close(resolve));
      return port;
    }
  }
}

let last = Promise.resolve();

/** → `count` different ones, which are given to nobody else */
export function freePorts(count) {
  const mine = last.then(async () => {
    const ports = [];
    while (ports.length < count) {
      ports.push(await nextPort());
    }
    return ports;
  });
  last = mine.catch(() => {});
  return mine;
}
