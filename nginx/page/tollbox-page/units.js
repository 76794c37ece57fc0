// Numbers as people read them.

const STEPS = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

export function bytes(count) {
  const [unit, size] = STEPS.find(([, step]) => count >= step) ?? ["bytes", 1];
  return `${Number((count / size).toFixed(1))} ${unit}`;
}

export function duration(ms) {
  if (ms < 1000) {
    return `${Number(ms.toFixed(1))} ms`;
  }
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${Number((ms / 1000).toFixed(1))} s`;
}

/** An address or a hash, short enough for a line of text. */
export const short = (text) => (text.length > 20 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text);
