# Run by hook.py, at the gate, for a job that asks for more than its output: the
# value of its last expression, the figures that it draws. `fields` holds what
# the job brings (WIRE_GATE_HELP of wire.h).
#
# How the value is got. Python reads, compiles and is about to run the program
# as ever when an audit hook sees the compiled code go by. In its place a copy
# is run whose last expression statement hands its value over on the side:
# compiled from the same text under the same name, so that every line and column
# in a traceback is where it was. C functions alone run the copy: it has no
# frame of ours below it, and its exceptions go on to Python itself.
def start(fields):
    import os
    import sys

    before = set(sys.modules)
    most, flags, count, *rest = fields
    count = int(count)
    sys.argv[1:] = map(os.fsdecode, rest[:count])
    sys.orig_argv += sys.argv[1:]
    for pair in rest[count:-1]:
        name, _, value = pair.partition(b'=')
        os.environb[name] = value
        if name == b'TZ':
            __import__('time').tzset()
    if int(flags) & 1:
        evaluate(os, sys, int(most), int(flags) & 8)
    else:
        os.close(197)
    if int(flags) & 4:
        figures(os, sys)
    for name in set(sys.modules) - before:
        del sys.modules[name]


class Inexact(Exception):
    pass


def to_json(value, depth=0, count=None):
    """The JSON text that says exactly the same; else Inexact."""
    kind = type(value)
    count = [0] if count is None else count
    count[0] += 1
    if depth > 100 or count[0] > 60000:
        raise Inexact
    if value is None:
        return 'null'
    if kind is bool:
        return 'true' if value else 'false'
    if kind is int and abs(value) <= 1 << 53:
        return int.__repr__(value)
    if kind is float:
        text = float.__repr__(value)
        if text not in ('nan', 'inf', '-inf', '-0.0'):
            return text
    if kind is str and value.isascii() or kind is str and not any(
            '\ud800' <= c <= '\udfff' for c in value):
        return '"' + value.translate(escapes) + '"'
    if kind is list:
        return '[' + ','.join([to_json(v, depth + 1, count) for v in value]) + ']'
    if kind is dict and all(type(key) is str for key in value):
        return '{' + ','.join([
            to_json(k, depth + 1, count) + ':' + to_json(v, depth + 1, count)
            for k, v in value.items()]) + '}'
    raise Inexact


escapes = {code: '\\u%04x' % code for code in (*range(32), 34, 92)}


def as_told(value, most, tell):
    """One letter for the form, and the text."""
    try:
        text = b'' if tell else b'j' + to_json(value).encode()
        if 0 < len(text) <= most:
            return text
    except Exception:
        pass
    try:
        text = repr(value)
    except Exception:
        text = object.__repr__(value)
    return b'r' + text.encode('utf-8', 'backslashreplace')[:most]


def as_thrown(kind, value, trace, most):
    """The same for what ended the program."""
    import traceback
    try:
        message = str(value)
    except Exception:
        message = ''
    told = ''.join(traceback.format_exception(kind, value, trace))
    text = '\0'.join(
        part.replace('\0', '\ufffd') for part in (kind.__name__, message, told))
    return b'e' + text.encode('utf-8', 'backslashreplace')[:most]


def evaluate(os, sys, most, tell):
    import _ast
    import _collections
    import _functools
    import itertools

    os.set_inheritable(197, False)
    place = os.fstat(197)

    def hand(text):
        try:
            # The program may have closed it, and opened something else.
            now = os.fstat(197)
            if (now.st_dev, now.st_ino) == (place.st_dev, place.st_ino):
                os.ftruncate(197, 0)
                os.pwrite(197, text, 0)
        except OSError:
            pass

    class Taker:
        __slots__ = ()

        def __matmul__(self, value):
            if value is not None and os.getpid() == 2:
                hand(as_told(value, most, tell))

    def copy_of(code):
        """The code with its last value handed over, or None."""
        with open(code.co_filename, 'rb') as file:
            text = file.read()
        name = code.co_filename
        tree = compile(text, name, 'exec', _ast.PyCF_ONLY_AST, True)
        last = tree.body[-1] if tree.body else None
        if type(last) is not _ast.Expr:
            return None
        mark = 'value ' + os.urandom(16).hex()
        where = {at: getattr(last, at) for at in last._attributes}
        given = _ast.BinOp(_ast.Constant(mark, **where), _ast.MatMult(),
                           last.value, **where)
        if len(tree.body) == 1 and type(last.value) is _ast.Constant:
            # It may be the text that becomes __doc__.
            tree.body.append(_ast.Expr(given, **where))
        else:
            last.value = given
        code = compile(tree, name, 'exec', 0, True)
        consts = [Taker() if type(c) is str and c == mark else c
                  for c in code.co_consts]
        return code.replace(co_consts=tuple(consts))

    def quietly(work, *args):
        """What it has to warn of was told when Python compiled the program."""
        import _warnings
        warnings = sys.modules.get('warnings', _warnings)
        warnings.filters.insert(0, ('ignore', None, Warning, None, 0))
        _warnings._filters_mutated()
        try:
            return work(*args)
        except Exception:
            return None
        finally:
            del warnings.filters[0]
            _warnings._filters_mutated()

    def watch(event, args):
        if tell and event == 'sys.excepthook' and os.getpid() == 2:
            # Python is about to print it.
            try:
                hand(as_thrown(*args[1:], most))
            except BaseException:
                pass
        if event != 'exec' or not waiting:
            return
        main = sys.modules['__main__'].__dict__
        code = args[0]
        if main.get('__file__') != getattr(code, 'co_filename', ''):
            return
        waiting.clear()
        copy = quietly(copy_of, code)
        if copy is not None:
            sys.addaudithook(runner_of(type(watch)(copy, main)))

    def leave():
        # Or Python would go on to run the code that it has.
        raise SystemExit

    def runner_of(main):
        # Asked for what it has not, it steps through the three calls. The
        # first makes it have that: the program's own use of exec stops there.
        steps = [
            lambda: once.setdefault('exec'), main, leave]
        once = _collections.defaultdict(zip(*[
            itertools.starmap(step, [()]) for step in steps]).__next__)

        class Exec:
            __hash__ = 'exec'.__hash__
            __eq__ = once.__getitem__

        # Called with an event and its arguments it looks for the event, and
        # finds what calls itself equal to 'exec' once it is compared.
        runner = _functools.partial({Exec(): None}.get)
        # Else the program could not be traced.
        runner.__cantrace__ = True
        return runner

    waiting = [True]
    sys.addaudithook(watch)


def figures(os, sys):
    """Saves what pyplot shows, and at the end what it has not shown."""
    folder = '/tmp/.figures'
    backend = 'figures_kept'

    def save(pyplot):
        for number in pyplot.get_fignums():
            path = '%s/%03d.png' % (folder, len(os.listdir(folder)) + 1)
            pyplot.figure(number).savefig(path, format='png')
        pyplot.close('all')

    def show(*args, **more):
        save(sys.modules['matplotlib.pyplot'])

    class Finder:
        """Finds the backend, and takes part when pyplot is loaded."""

        def find_spec(self, name, path=None, target=None):
            if name == backend:
                return self.spec(name, self)
            if name != 'matplotlib.pyplot':
                return None
            for other in sys.meta_path:
                if other is not self:
                    found = other.find_spec(name, path, target)
                    if found is not None:
                        found.loader = Loader(found.loader)
                        return found
            return None

        def spec(self, name, loader):
            return type(sys.__spec__)(name, loader)

        def create_module(self, spec):
            return None

        def exec_module(self, module):
            from matplotlib.backends import backend_agg
            module.FigureCanvas = backend_agg.FigureCanvasAgg
            module.FigureManager = backend_agg.FigureManagerBase
            module.show = show

    class Loader:
        def __init__(self, real):
            self.real = real

        def __getattr__(self, name):
            return getattr(self.real, name)

        def create_module(self, spec):
            return self.real.create_module(spec)

        def exec_module(self, module):
            import atexit
            matplotlib = sys.modules['matplotlib']
            # One that the program chose stays. Asked in another way, it would
            # be looked for.
            usual, now = (dict.__getitem__(rc, 'backend') for rc in (
                matplotlib.rcParamsOrig, matplotlib.rcParams))
            if now == usual and 'MPLBACKEND' not in os.environ:
                matplotlib.rcParams['backend'] = 'module://' + backend
            self.real.exec_module(module)
            # Before pyplot's own, which closes all.
            atexit.register(save, module)

    sys.meta_path.insert(0, Finder())
