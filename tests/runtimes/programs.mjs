// The same small programs in each language: what any runtime must be able to do. A runtime that is added by configuration
// needs no more than an entry here to be tested.

/** Beyond one byte a character, and beyond the first plane. */
export const TEXT = "é 你 😀";

/**
 * Each: entry (the entry file), refused (a variable that a request may not set), and programs:
 *   hello   prints hello and a line's end
 *   text    prints TEXT and a line's end, then the same on stderr, then makes a file of that name and prints the names in /box
 *   copy    copies stdin to stdout, byte for byte
 *   given   prints its arguments and the variable GREET, in brackets, then the file päth/f.txt
 *   seven   ends with exit code 7
 *   crash   is ended by its own SIGSEGV
 *   error   fails by an error of the language whose text is TEXT, in line 2
 *   syntax  cannot be understood: fails with `misread` on stderr
 *   sleeps  prints on, then sleeps for a minute
 *   burns   prints on, then computes for ever
 *   eats    takes memory for ever
 *   floods  writes to stdout for ever
 *   fills   writes to one file for ever, until that fails: then the reason on stderr, and exit code 3
 *   child   starts a program that prints child, and waits for it
 */
export const LANGUAGES = {
  python: {
    entry: "main.py",
    refused: "PYTHONSTARTUP",
    hello: "print('hello')",
    text: `import sys, os\nprint("${TEXT}"); print("${TEXT}", file=sys.stderr)\nopen("${TEXT}", "w").close(); print(*sorted(os.listdir("/box")), sep="\\n")`,
    copy: "import sys, shutil\nshutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)",
    given: "import sys, os\nfor s in sys.argv[1:] + [os.environ['GREET']]: print('[' + s + ']', end='')\nprint(open('päth/f.txt').read())",
    seven: "import sys; sys.exit(7)",
    crash: "import os; os.kill(os.getpid(), 11)",
    error: `print("before")\nraise ValueError("${TEXT}")`,
    syntax: "def (",
    misread: /main\.py[^]*SyntaxError/,
    sleeps: "import time\nprint('on', flush=True); time.sleep(60)",
    burns: "print('on', flush=True)\nwhile True: pass",
    eats: "a = []\nwhile True: a.append(bytearray(1 << 20))",
    floods: "while True: print('y' * 999)",
    fills: "import sys\ntry:\n  with open('big', 'wb', 0) as f:\n    while True: f.write(b'x' * 65536)\nexcept OSError as e: sys.stderr.write(e.strerror); sys.exit(3)",
    child: "import subprocess\nprint(subprocess.run(['/bin/echo', 'child'], capture_output=True, text=True).stdout, end='')",
  },
  node: {
    entry: "main.js",
    refused: "NODE_OPTIONS",
    hello: "console.log('hello')",
    text: `const fs = require("fs");\nconsole.log("${TEXT}"); console.error("${TEXT}");\nfs.writeFileSync("${TEXT}", ""); console.log(fs.readdirSync("/box").sort().join("\\n"))`,
    copy: "process.stdin.pipe(process.stdout)",
    given: "const fs = require('fs');\nfor (const s of [...process.argv.slice(2), process.env.GREET]) process.stdout.write(`[${s}]`);\nconsole.log(fs.readFileSync('päth/f.txt', 'utf8'))",
    seven: "process.exit(7)",
    crash: "process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 5000)",
    error: `console.log("before");\nthrow new Error("${TEXT}")`,
    syntax: "function (",
    misread: /main\.js[^]*SyntaxError/,
    sleeps: "console.log('on'); setTimeout(() => {}, 60000)",
    burns: "console.log('on'); for (;;);",
    eats: "const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))",
    floods: "const fs = require('fs'), y = 'y'.repeat(999) + '\\n';\nfor (;;) try { fs.writeSync(1, y) } catch (e) { if (e.code !== 'EAGAIN') throw e }",
    fills: "const fs = require('fs'), f = fs.openSync('big', 'w'), x = Buffer.alloc(65536);\ntry { for (;;) fs.writeSync(f, x) } catch (e) { fs.writeSync(2, e.message); process.exit(3) }",
    child: "process.stdout.write(require('child_process').execFileSync('/bin/echo', ['child']))",
  },
  bash: {
    entry: "main.sh",
    refused: "BASH_ENV",
    hello: "echo hello",
    text: `echo "${TEXT}"; echo "${TEXT}" >&2\n: >"${TEXT}"; ls -1 /box`,
    copy: "cat",
    given: 'for s in "$@" "$GREET"; do printf "[%s]" "$s"; done\ncat päth/f.txt; echo',
    seven: "exit 7",
    crash: "kill -SEGV $$",
    error: `echo before\n: "\${NOTHING?${TEXT}}"`,
    syntax: "if then",
    misread: /main\.sh: line 1: syntax error/,
    sleeps: "echo on; sleep 60",
    burns: "echo on; while :; do :; done",
    eats: 'x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done',
    floods: "yes",
    fills: "cat /dev/zero >big || exit 3",
    child: "/bin/echo child",
  },
  r: {
    entry: "main.R",
    refused: "R_PROFILE_USER",
    hello: 'cat("hello\\n")',
    text: `cat("${TEXT}\\n"); message("${TEXT}")\ninvisible(file.create("${TEXT}")); writeLines(sort(enc2utf8(list.files("/box")), method = "radix"))`,
    copy: 'i <- file("stdin", "rb"); o <- pipe("cat", "wb")\nrepeat { b <- readBin(i, "raw", 65536L); if (!length(b)) break; writeBin(b, o) }\nclose(o)',
    given: 'for (s in c(commandArgs(TRUE), Sys.getenv("GREET"))) cat("[", s, "]", sep = "")\ncat(readLines("päth/f.txt", warn = FALSE), "\\n", sep = "")',
    seven: "quit(status = 7)",
    crash: "tools::pskill(Sys.getpid(), 11); Sys.sleep(5)",
    error: `cat("before\\n")\nstop("${TEXT}")`,
    syntax: "if (",
    misread: /unexpected end of input/,
    sleeps: 'cat("on\\n"); Sys.sleep(60)',
    burns: 'cat("on\\n"); repeat {}',
    eats: "a <- list(); repeat a[[length(a) + 1L]] <- numeric(131072) + 1",
    floods: 'y <- strrep("y", 999); repeat cat(y, "\\n", sep = "")',
    // writeBin() says nothing when a write fails.
    fills: 'if (system("cat /dev/zero >big") != 0) quit(status = 3)',
    child: 'writeLines(system2("/bin/echo", "child", stdout = TRUE))',
  },
  perl: {
    entry: "main.pl",
    refused: "PERL5OPT",
    hello: 'print "hello\\n";',
    text: `print "${TEXT}\\n"; print STDERR "${TEXT}\\n";\nopen my $f, ">", "${TEXT}" or die; opendir my $d, "/box" or die; print "$_\\n" for sort grep { !/^[.]/ } readdir $d;`,
    copy: "binmode STDIN; binmode STDOUT; $/ = \\65536; print while <STDIN>;",
    given: 'print "[$_]" for @ARGV, $ENV{GREET};\nopen my $f, "<", "päth/f.txt" or die; print <$f>, "\\n";',
    seven: "exit 7;",
    crash: "kill SEGV => $$; sleep 5;",
    error: `print "before\\n";\ndie "${TEXT}";`,
    syntax: "if (",
    misread: /syntax error at main\.pl line 1/,
    sleeps: '$| = 1; print "on\\n"; sleep 60;',
    burns: '$| = 1; print "on\\n"; while (1) {}',
    eats: 'my @a; push @a, "x" x (1 << 20) . @a while 1;',
    floods: 'my $y = ("y" x 999) . "\\n"; print $y while 1;',
    fills: 'open my $f, ">", "big" or die; my $x = "x" x 65536; while (syswrite $f, $x) {} print STDERR "$!"; exit 3;',
    child: 'print `/bin/echo child`;',
  },
};
