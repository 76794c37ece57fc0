// What runtimes are called, and a program to begin with in each.

const RUNTIMES = {
  python3: {
    name: "Python",
    sample: `# The Mandelbrot set, line by line.
import time

SHADES = " .:-=+*#%@"

for row in range(-7, 8):
    line = ""
    for column in range(-30, 14):
        c = complex(column / 15, row / 6.5)
        z, n = 0, 0
        while abs(z) < 2 and n < 45:
            z, n = z * z + c, n + 1
        line += SHADES[n // 5]
    print(line, flush=True)
    time.sleep(0.05)
`,
  },
  node: {
    name: "Node.js",
    sample: `// Fibonacci's numbers, until one has a hundred digits.
let [one, next] = [0n, 1n];
let count = 0;
while (String(one).length < 100) {
  [one, next] = [next, one + next];
  count += 1;
}
console.log(\`number \${count} has 100 digits:\`);
console.log(String(one).replace(/(\\d{25})/g, "$1\\n"));
`,
  },
  bash: {
    name: "Bash",
    sample: `# What the sandbox looks like from inside.
echo "I am $(id -un) in $PWD, Linux $(uname -r)"
for second in 3 2 1; do
  echo "$second…"
  sleep 0.3
done
df -h /box | cat
`,
  },
  r: {
    name: "R",
    sample: `# A line through noise.
set.seed(7)
x <- 1:50
y <- 3 + 2 * x + rnorm(50, sd = 4)
print(coef(summary(lm(y ~ x))), digits = 3)
`,
  },
};

/** The names of runtimes in the order in which people are offered them. */
export function inOrder(names) {
  const known = Object.keys(RUNTIMES).filter((name) => names.includes(name));
  return [...known, ...names.filter((name) => !known.includes(name)).sort()];
}

export const runtimeName = (runtime) => RUNTIMES[runtime]?.name ?? runtime;

export const sample = (runtime) => RUNTIMES[runtime]?.sample ?? "";

/** Is this one of the programs above, so that nothing is lost by another in its place? */
export const isSample = (text) => text.trim() === "" || Object.values(RUNTIMES).some((runtime) => runtime.sample === text);
