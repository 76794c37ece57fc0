// Run by hook.cjs, at the gate, for a job that asks for the value of its last
// expression, and perhaps for what was thrown. `fields` holds what the job brings (WIRE_GATE_HELP of wire.h).
//
// How the value is got. node reads the program with something put behind its
// end: `EXPRESSION` goes on as `EXPRESSION instanceof TAKER`, in a line of its
// own, and the taker is handed the value. Nothing before that moves, so lines
// and columns of a stack are where they were, and node itself runs the program.
(fields) => {
  const fs = require('fs');
  const { inspect, types } = require('util');
  const [most, flags, count] = fields.map(Number);
  const main = process.argv[1];
  process.argv.push(...fields.slice(3, 3 + count));
  for (const pair of fields.slice(3 + count, -1)) {
    const at = pair.indexOf('=');
    process.env[pair.slice(0, at)] = pair.slice(at + 1);
  }
  if (!(flags & 1)) {
    fs.closeSync(197);
    return;
  }
  // Opened anew it is closed in what the program starts. (By this name it is no
  // try to write outside.)
  const file = fs.openSync('/dev/fd/197', 'r+');
  fs.closeSync(197);
  const place = fs.fstatSync(file);

  const { getPrototypeOf, getOwnPropertyDescriptor } = Object;
  const { ownKeys } = Reflect;
  const { stringify } = JSON;
  const { isArray } = Array;

  /** The JSON text that says exactly the same; else null. */
  function toJson(value, depth, seen) {
    seen.count += 1;
    if (depth > 100 || seen.count > 60000) return null;
    switch (typeof value) {
      case 'string':
        return value.isWellFormed?.() ?? !/[\ud800-\udfff]/u.test(value) ? stringify(value) : null;
      case 'boolean':
        return `${value}`;
      case 'number': {
        const exact = Number.isFinite(value) && !Object.is(value, -0) &&
          (!Number.isInteger(value) || Math.abs(value) <= 2 ** 53);
        return exact ? `${value}` : null;
      }
      case 'object':
        return value === null ? 'null' : ofObject(value, depth, seen);
      default:
        return null;
    }
  }

  /** Plain arrays without holes and plain objects, of plain properties. */
  function ofObject(value, depth, seen) {
    if (types.isProxy(value)) return null;
    const array = isArray(value);
    const prototype = getPrototypeOf(value);
    if (array ? prototype !== Array.prototype : prototype !== Object.prototype && prototype !== null) return null;
    const keys = ownKeys(value);
    if (array && keys.length !== value.length + 1) return null;
    const parts = [];
    for (const [index, key] of keys.entries()) {
      if (array && key === 'length') continue;
      const { enumerable, value: inner, get, set } = getOwnPropertyDescriptor(value, key);
      if (typeof key === 'symbol' || !enumerable || get || set || (array && key !== `${index}`)) return null;
      const text = toJson(inner, depth + 1, seen);
      if (text === null) return null;
      parts.push(array ? text : `${stringify(key)}:${text}`);
    }
    return array ? `[${parts}]` : `{${parts}}`;
  }

  const errorText = Error.prototype.toString;

  /** As node shows it; of why a promise was rejected, without the stack: who reads that changes how node tells of it. */
  function toText(value) {
    if (!types.isPromise(value)) return inspect(value);
    const custom = function () {
      return `[${Reflect.apply(errorText, this, [])}]`;
    };
    Object.defineProperty(Error.prototype, inspect.custom, { configurable: true, value: custom });
    try {
      return inspect(value);
    } finally {
      delete Error.prototype[inspect.custom];
    }
  }

  /** One letter for the form, and the text. */
  function asTold(value) {
    const json = flags & 8 ? null : toJson(value, 0, { count: 0 });
    if (json !== null && Buffer.byteLength(json) <= most) return Buffer.from(`j${json}`);
    let text;
    try {
      text = toText(value);
    } catch {
      text = Object.prototype.toString.call(value);
    }
    return Buffer.from(`r${text}`).subarray(0, most + 1);
  }

  function take(value) {
    if (value !== undefined) hand(asTold(value));
  }

  function hand(text) {
    try {
      // The program may have closed it, and opened something else.
      const now = fs.fstatSync(file);
      if (now.ino !== place.ino || now.dev !== place.dev) return;
      fs.ftruncateSync(file, 0);
      fs.writeSync(file, text, 0, text.length, 0);
    } catch {}
  }

  /** Name, message and stack of what ends the program; of what is no error, how node shows it. */
  function asThrown(error) {
    let parts;
    try {
      parts = types.isNativeError(error)
        ? [error.name, error.message, error.stack]
        : ['Uncaught', inspect(error), inspect(error)];
    } catch {
      parts = ['Uncaught', '', ''];
    }
    const text = parts.map((part) => `${part}`.replaceAll('\0', '\ufffd')).join('\0');
    return Buffer.from(`e${text}`).subarray(0, most + 1);
  }

  if (flags & 8) {
    process.on('uncaughtExceptionMonitor', (error) => {
      const caught = process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback();
      if (!caught) hand(asThrown(error));
    });
  }

  /** What stands left of instanceof as it is, without brackets. */
  const binds = new Set(['Literal', 'Identifier', 'ThisExpression', 'ArrayExpression', 'CallExpression',
    'NewExpression', 'MemberExpression', 'ChainExpression', 'TemplateLiteral', 'TaggedTemplateExpression',
    'UpdateExpression', 'UnaryExpression', 'AwaitExpression', 'ImportExpression', 'MetaProperty',
    'ParenthesizedExpression']);
  const bindsLess = new Set(['==', '!=', '===', '!==', '&', '^', '|']);
  const isTight = ({ type, operator }) => binds.has(type) || (type === 'BinaryExpression' && !bindsLess.has(operator));

  /** Can it be looked at once more, and nobody notices? */
  function isStill(node) {
    switch (node.type) {
      case 'Literal':
      case 'Identifier':
      case 'ThisExpression':
        return true;
      case 'ParenthesizedExpression':
        return isStill(node.expression);
      case 'UnaryExpression':
        return node.operator !== 'delete' && isStill(node.argument);
      case 'BinaryExpression':
      case 'LogicalExpression':
        return isStill(node.left) && isStill(node.right);
      case 'ConditionalExpression':
        return [node.test, node.consequent, node.alternate].every(isStill);
      case 'TemplateLiteral':
      case 'SequenceExpression':
        return node.expressions.every(isStill);
      case 'MemberExpression':
        return isStill(node.object) && (!node.computed || isStill(node.property));
      default:
        return false;
    }
  }

  /** The program with its last value handed to `name`; null: there is none. */
  function handingOver(text, name, sourceType) {
    const library = { exports: {} };
    const acorn = process.binding('natives')['internal/deps/acorn/acorn/dist/acorn'];
    new Function('exports', 'module', acorn)(library.exports, library);
    const { body } = library.exports.parse(text, {
      ecmaVersion: 'latest', sourceType, allowReturnOutsideFunction: true, allowHashBang: true, preserveParens: true,
    });
    const last = body[body.length - 1];
    if (last?.type !== 'ExpressionStatement') return null;
    const { expression } = last;
    const { start, end } = expression;
    const target = expression.type === 'AssignmentExpression' ? expression.left : expression;
    const taken = `\n instanceof ${name}\n;`;
    // The statement stays whole, and a second look at the value follows.
    if (isStill(target)) return `${text}\n;(${text.slice(target.start, target.end)})${taken}`;
    const closed = end < last.end && text[last.end - 1] === ';';
    const rest = closed ? `${text.slice(end, last.end - 1)} ${text.slice(last.end)}` : text.slice(end);
    if (isTight(expression)) return text.slice(0, end) + rest + taken;
    return `${text.slice(0, start)}(${text.slice(start, end)})${rest}${taken}`;
  }

  const text = fs.readFileSync(main, 'utf8');
  const isModule = main.endsWith('.mjs');
  let name = 'taker';
  while (text.includes(name)) name += '_';
  let changed = null;
  try {
    changed = handingOver(text, name, isModule ? 'module' : 'script');
  } catch {}
  if (changed === null) return;
  const restore = () => {
    process.removeListener('exit', restore);
    fs.writeFileSync(main, text);
  };
  // A name for all scripts, but no property of the global object.
  const setTaker = require('vm').runInThisContext(`let ${name}; (value) => { ${name} = value; }`);
  setTaker({
    [Symbol.hasInstance](value) {
      setTaker();
      take(value);
    },
    restore,
  });

  if (isModule) {
    // node reads it by ways that cannot be reached from here. The file is put
    // right before anything of the program runs, since imports go first; or
    // else, where an import fails, at the end.
    fs.writeFileSync(main, `${changed}import 'data:text/javascript,${name}.restore()';`);
    process.once('exit', restore);
    return;
  }
  const { readFileSync } = fs;
  fs.readFileSync = function (path, ...rest) {
    if (path !== main) return Reflect.apply(readFileSync, this, [path, ...rest]);
    fs.readFileSync = readFileSync;
    return changed;
  };
}
