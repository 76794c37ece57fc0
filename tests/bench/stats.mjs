// What is said of samples.

/** The value that a share `q` of `values` is below, between two of them in proportion; null of none. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) {
    return null;
  }
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export const median = (values) => quantile(values, 0.5);
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** → {n, median, p10, p90, min, max} */
export const spread = (values) => ({
  n: values.length,
  median: median(values),
  p10: quantile(values, 0.1),
  p90: quantile(values, 0.9),
  min: quantile(values, 0),
  max: quantile(values, 1),
});

/** Groups `items` by what `key` says of each → Map, in the order of their first appearance */
export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return groups;
}

/** Rows of cells as text: the first column to the left, the others to the right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const cell = (text, column) => (column === 0 ? String(text).padEnd(widths[column]) : String(text).padStart(widths[column]));
  return rows.map((row) => row.map(cell).join("  ").trimEnd()).join("\n");
}

export const ms = (us, digits = us !== null && Math.abs(us) < 10_000 ? 2 : 1) => (us === null ? "-" : (us / 1000).toFixed(digits));
export const ratio = (value, base) => (base ? (value / base).toFixed(2) : "-");
