"""Flatweave in one sitting: trace, print, fuse, interpret, compile, run in parallel.

    lambda xs, ys: reduce(add, 0.0, xs * ys)
        ==>  v: f64 = sweep xs ys -> (x y -> mul x y) -> reduce (a b -> add a b) 0.0
        ==>  machine code on every core

The real compiler is this file with more of everything: more dtypes than f64, ranks above 1, tuples
as elements, filters and scatters as sinks, vectors for elements, other machines as targets. The
words are those of docs/glossary.md. Read from top to bottom; run it to see each stage:

    python docs/tiny.py
"""

from __future__ import annotations

import ctypes
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import llvmlite.binding as llvm
import numpy as np

# --- 1. The IR: programs are data ---------------------------------------------------------------
#
# A program is a lambda: parameters, lets, results. A let binds the result of one op to a variable.
# Nothing is ever changed: nodes are frozen, and a pass makes new ones. There are two ops. `Apply`
# computes a scalar from scalars. `Sweep` applies an element function to each element of its arrays
# and feeds a sink: map, reduce or scan. That they are *one* op is what makes fusion one law.


@dataclass(frozen=True)
class Var:
    """A variable: a scalar (rank 0) or an array (rank 1), always of f64."""

    name: str
    rank: int


Atom = Var | float
Env = dict[Any, Any]  # the value of each variable


@dataclass(frozen=True)
class Lambda:
    """A function inside a program."""

    params: tuple[Var, ...]
    lets: tuple[Let, ...]
    results: tuple[Atom, ...]


@dataclass(frozen=True)
class Store:
    """The sink of map: element i goes to position i."""


@dataclass(frozen=True)
class Reduce:
    """The sink of reduce: elements are combined by an associative operator."""

    operator: Lambda
    neutral: float


class Scan(Reduce):
    """The sink of scan: position i gets elements 0 to i combined."""


@dataclass(frozen=True)
class Apply:
    """A scalar function of scalars."""

    fn: str
    args: tuple[Atom, ...]
    arrays = ()  # it reads none


@dataclass(frozen=True)
class Sweep:
    """sink(fn(xs[i], ys[i], ..)) for every i."""

    arrays: tuple[Var, ...]
    fn: Lambda
    sink: Store | Reduce | Scan


@dataclass(frozen=True)
class Let:
    """Binds what an op computes to a variable."""

    var: Var
    op: Apply | Sweep


# One table says all about scalar functions: their meaning, and their LLVM. A new one is a new row.

SCALARS: dict[str, tuple[Callable[..., float], str]] = {
    "add": (float.__add__, "{r} = fadd double {0}, {1}"),
    "sub": (float.__sub__, "{r} = fsub double {0}, {1}"),
    "mul": (float.__mul__, "{r} = fmul double {0}, {1}"),
    "minimum": (min, "{r} = call double @llvm.minnum.f64(double {0}, double {1})"),
    "maximum": (max, "{r} = call double @llvm.maxnum.f64(double {0}, double {1})"),
    "less": (float.__lt__, "{r}.c = fcmp olt double {0}, {1}\n  {r} = uitofp i1 {r}.c to double"),
    "where": (
        lambda p, x, y: x if p else y,
        "{r}.c = fcmp one double {0}, 0.0\n  {r} = select i1 {r}.c, double {1}, double {2}",
    ),
}

# --- 2. Tracing: Python makes the program -------------------------------------------------------
#
# To compile a function we call it, once, with tracers in place of arrays. A tracer computes
# nothing: each operation on it adds a let to a scope and gives a tracer for the result. Python's
# own functions, loops and closures disappear on the way; what was used twice is bound once.


@dataclass
class Scope:
    """The lets of a lambda while it is traced."""

    names: Iterator[int]
    depth: int
    lets: list[Let]

    def bind(self, op: Apply | Sweep, rank: int) -> Tracer:
        """Add a let; the tracer of its variable."""
        var = Var(f"v{next(self.names)}", rank)
        self.lets.append(Let(var, op))
        return Tracer(var, self)

    def inner(self, fn: Callable[..., Any], arity: int) -> Lambda:
        """The lambda of an element function, traced on scalars in a new scope."""
        scope = Scope(self.names, self.depth + 1, [])
        params = tuple(Var(f"x{next(self.names)}", 0) for _ in range(arity))
        result = fn(*(Tracer(param, scope) for param in params))
        return Lambda(params, tuple(scope.lets), (atom(result),))


def method(fn: str) -> Callable[[Tracer, Any], Tracer]:
    """The operator of tracers for a scalar function."""
    return lambda self, other: apply(fn, self, other)


@dataclass(frozen=True, eq=False)
class Tracer:
    """A value that is not there yet."""

    var: Var
    scope: Scope

    def __bool__(self) -> bool:
        raise TypeError("this value is traced and not known yet: write where(p, x, y), not `if`")

    __add__ = __radd__ = method("add")
    __mul__ = __rmul__ = method("mul")
    __sub__, __lt__ = method("sub"), method("less")


def atom(value: Any) -> Atom:
    """What an op reads: a tracer's variable, or a constant."""
    return value.var if isinstance(value, Tracer) else float(value)


def apply(fn: str, *args: Any) -> Tracer:
    """A scalar function of scalars; of arrays, where there are any, element by element."""
    tracers = [arg for arg in args if isinstance(arg, Tracer)]
    arrays = [arg for arg in tracers if arg.var.rank == 1]
    if arrays:  # scalars among the arguments become free variables of the element function

        def element(*xs: Tracer) -> Tracer:
            taken = iter(xs)
            return apply(fn, *(next(taken) if arg in arrays else arg for arg in args))

        return map(element, *arrays)
    innermost = max((arg.scope for arg in tracers), key=lambda scope: scope.depth)
    return innermost.bind(Apply(fn, tuple(atom(arg) for arg in args)), 0)


def map(f: Callable[..., Any], *xs: Tracer) -> Tracer:
    """f of the elements of some arrays of one length."""
    scope = xs[0].scope
    return scope.bind(Sweep(tuple(x.var for x in xs), scope.inner(f, len(xs)), Store()), 1)


def reduce(op: Callable[..., Any], ne: float, xs: Tracer) -> Tracer:
    """All elements, combined by an associative operator with the neutral element ne."""
    sink = Reduce(xs.scope.inner(op, 2), ne)
    return xs.scope.bind(Sweep((xs.var,), xs.scope.inner(lambda x: x, 1), sink), 0)


def scan(op: Callable[..., Any], ne: float, xs: Tracer) -> Tracer:
    """Every prefix, combined by an associative operator with the neutral element ne."""
    sink = Scan(xs.scope.inner(op, 2), ne)
    return xs.scope.bind(Sweep((xs.var,), xs.scope.inner(lambda x: x, 1), sink), 1)


where, minimum, maximum = (partial(apply, fn) for fn in ("where", "minimum", "maximum"))


def trace(f: Callable[..., Any], *ranks: int) -> Lambda:
    """The program of a Python function for arguments of these ranks."""
    scope = Scope(count(), 0, [])
    names = f.__code__.co_varnames
    params = tuple(Var(name, rank) for name, rank in zip(names, ranks, strict=False))
    result = f(*(Tracer(param, scope) for param in params))
    return Lambda(params, tuple(scope.lets), (atom(result),))


# --- 3. Printing: what cannot be read cannot be mended ------------------------------------------


def show(it: Any) -> str:
    """Any part of a program as text."""
    match it:
        case Var(name):
            return name
        case Apply(fn, args):
            return " ".join([fn, *(show(arg) for arg in args)])
        case Sweep(arrays, fn, sink):
            return f"sweep {' '.join(show(x) for x in arrays)} -> {show(fn)} -> {show(sink)}"
        case Reduce(op, neutral):
            return f"{type(it).__name__.lower()} {show(op)} {neutral}"
        case Store():
            return "store"
        case Let(var, op):
            return f"{var.name}: {('f64', 'f64[n]')[var.rank]} = {show(op)}"
        case Lambda(params, lets, results):
            gap = "\n  " if any(isinstance(let.op, Sweep) for let in lets) else " "
            body = [*(show(let) for let in lets), ", ".join(show(x) for x in results)]
            return f"({' '.join(show(x) for x in params)} ->{gap}{f';{gap}'.join(body)})"
    return repr(it)


# --- 4. Fusing: intermediate arrays are never stored --------------------------------------------
#
# An array that only one sweep reads need not exist: its reader can compute each element where it
# needs it. This is the law
#
#     a = sweep xs -> g -> store;  b = sweep a ys -> f -> sink   ==>  b = sweep xs ys -> f.g -> sink
#
# and it holds for every sink, so map fuses into map, reduce and scan. An array that two sweeps read
# is stored: computing an element twice is the price that we do not pay. Names are unique in the
# whole program, so that the lets of g can move into f as they are.


def fuse(program: Lambda) -> Lambda:
    """Move every producer that has a sole reader into it."""
    readers = Counter(x for let in program.lets for x in set(let.op.arrays))
    readers.update(2 * program.results)  # a result is stored, whoever else reads it
    producers: dict[Var, Sweep] = {}
    kept: list[Let] = []
    for let in program.lets:
        op = let.op
        for x in dict.fromkeys(op.arrays):
            if x in producers:
                op = fused(producers.pop(x), x, op)
        if isinstance(op, Sweep) and isinstance(op.sink, Store) and readers[let.var] <= 1:
            producers[let.var] = op
        else:
            kept.append(Let(let.var, op))
    return replace(program, lets=tuple(kept))


def fused(producer: Sweep, x: Var, consumer: Sweep) -> Sweep:
    """sweep x ys -> f -> sink, where x = sweep xs -> g -> store  ==>  sweep xs ys -> f.g -> sink"""
    value = producer.fn.results[0]
    pairs = list(zip(consumer.arrays, consumer.fn.params, strict=True))
    others = [(array, param) for array, param in pairs if array != x]
    known = {param: value for array, param in pairs if array == x}

    def renamed(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(known.get(x, x) for x in atoms)

    lets = [Let(let.var, Apply(let.op.fn, renamed(let.op.args))) for let in consumer.fn.lets]
    params = producer.fn.params + tuple(param for _, param in others)
    fn = Lambda(params, (*producer.fn.lets, *lets), renamed(consumer.fn.results))
    return Sweep(producer.arrays + tuple(array for array, _ in others), fn, consumer.sink)


# --- 5. Interpreting: the meaning, as clear as it can be said -----------------------------------
#
# Every other way of running a program must agree with this one, and every pass with doing nothing.


def evaluate(fn: Lambda, args: Iterable[Any], outer: Env, launch: Callable[..., Any]) -> list[Any]:
    """The results of a lambda for some arguments; `launch` runs its sweeps."""
    env = outer | dict(zip(fn.params, args, strict=True))
    for let in fn.lets:
        if isinstance(let.op, Apply):
            env[let.var] = SCALARS[let.op.fn][0](*(env.get(x, x) for x in let.op.args))
        else:
            env[let.var] = launch(let.op, env)
    return [env.get(result, result) for result in fn.results]


def interpret(op: Sweep, env: Env) -> Any:
    """One element after the other."""
    rows = zip(*(env[array] for array in op.arrays), strict=True)
    values = [evaluate(op.fn, row, env, interpret)[0] for row in rows]
    if isinstance(op.sink, Store):
        return values
    prefixes = [op.sink.neutral]
    for value in values:
        prefixes += evaluate(op.sink.operator, [prefixes[-1], value], env, interpret)
    return prefixes[-1] if type(op.sink) is Reduce else prefixes[1:]


# --- 6. Emitting: a sweep is a loop -------------------------------------------------------------
#
# A function in LLVM for positions lo to hi of a sweep. Every sink fits one loop: it carries the
# elements combined so far, from `start`; it stores each element, or each prefix, or nothing.

LOOP = """
define double @{name}(i64 %lo, i64 %hi, double %start, ptr noalias %out{parameters}) {{
entry:
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %body ]
  %carried = phi double [ %start, %entry ], [ {carried}, %body ]
  %more = icmp slt i64 %i, %hi
  br i1 %more, label %body, label %done
body:
  {body}
  %next = add i64 %i, 1
  br label %head
done:
  ret double %carried
}}"""
DECLARED = """declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)"""


def emit(name: str, op: Sweep) -> str:
    """The LLVM text of a sweep."""
    names = {x: f"%{x.name}" for x in (*op.fn.params, *free(op))}
    body = []
    for array, x in enumerate(op.fn.params):
        body += [f"%at{array} = getelementptr double, ptr %p{array}, i64 %i"]
        body += [f"%{x.name} = load double, ptr %at{array}"]
    lines, value = emit_body(op.fn, names)
    body, carried = body + lines, "%carried"
    if not isinstance(op.sink, Store):
        params = zip(op.sink.operator.params, ("%carried", value), strict=True)
        lines, carried = emit_body(op.sink.operator, names | dict(params))
        body, value = body + lines, carried
    if type(op.sink) is not Reduce:
        body += ["%to = getelementptr double, ptr %out, i64 %i", f"store double {value}, ptr %to"]
    parameters = "".join(f", ptr %p{array}" for array in range(len(op.arrays)))
    parameters += "".join(f", double %{x.name}" for x in free(op))
    return LOOP.format(name=name, parameters=parameters, carried=carried, body="\n  ".join(body))


def emit_body(fn: Lambda, names: dict[Var, str]) -> tuple[list[str], str]:
    """The lines of a lambda on scalars, and its result."""
    known = dict(names)

    def text(x: Atom) -> str:
        return known[x] if isinstance(x, Var) else f"0x{struct.pack('>d', x).hex()}"

    lines = []
    for let in fn.lets:
        known[let.var] = f"%{let.var.name}"
        assert isinstance(let.op, Apply)
        arguments = [text(arg) for arg in let.op.args]
        lines.append(SCALARS[let.op.fn][1].format(*arguments, r=known[let.var]))
    return lines, text(fn.results[0])


def free(op: Sweep) -> list[Var]:
    """The scalars that element function and operator read from outside."""
    lambdas = [op.fn] if isinstance(op.sink, Store) else [op.fn, op.sink.operator]
    bound = {x for fn in lambdas for x in (*fn.params, *(let.var for let in fn.lets))}
    read = [x for fn in lambdas for let in fn.lets for x in let.op.args] + [*op.fn.results]
    return [x for x in dict.fromkeys(read) if isinstance(x, Var) and x not in bound]


# --- 7. Running: blocks on all cores, and the same bits every time ------------------------------
#
# A sweep is cut into blocks, which threads take in order. The cuts depend on
# the length alone, and the blocks' results are combined in their order: an operator need not be
# commutative, and a sum of floats has the same bits on one core and on sixty-four. A scan takes two
# passes: the blocks are only reduced; then each is scanned, starting from the result before it.

BLOCK = 1 << 14
POOL = ThreadPoolExecutor()


def launch(entries: dict[Sweep, int], op: Sweep, env: Env) -> Any:
    """One sweep, block by block."""
    arrays = [env[array] for array in op.arrays]
    (extent,) = {len(array) for array in arrays}  # a ValueError where they differ
    out = np.empty(0 if type(op.sink) is Reduce else extent)
    inputs = [array.ctypes.data for array in (out, *arrays)] + [float(env[x]) for x in free(op)]
    number = -(-extent // BLOCK)
    if isinstance(op.sink, Store):
        run_blocks(entries[op], extent, inputs, [0.0] * number)
        return out
    prefixes = [op.sink.neutral]
    for aggregate in run_blocks(entries[reducing(op)], extent, inputs, prefixes * number):
        prefixes += evaluate(op.sink.operator, [prefixes[-1], aggregate], env, interpret)
    if type(op.sink) is Reduce:
        return prefixes[-1]
    run_blocks(entries[op], extent, inputs, prefixes[:-1])
    return out


def run_blocks(entry: int, extent: int, inputs: list[Any], starts: list[float]) -> list[float]:
    """What each block of a sweep carries at its end."""
    types = [ctypes.c_void_p if isinstance(value, int) else ctypes.c_double for value in inputs]
    fixed = (ctypes.c_int64, ctypes.c_int64, ctypes.c_double)
    code = ctypes.CFUNCTYPE(ctypes.c_double, *fixed, *types)(entry)

    def run(lo: int, start: float) -> float:
        return float(code(lo, min(lo + BLOCK, extent), start, *inputs))

    return list(POOL.map(run, range(0, extent, BLOCK), starts))


def reducing(op: Sweep) -> Sweep:
    """The first pass of a scan: the same sweep with another sink; of a reduce, the reduce."""
    assert isinstance(op.sink, Reduce)
    return replace(op, sink=Reduce(op.sink.operator, op.sink.neutral))


def jit(f: Callable[..., Any], *ranks: int) -> Callable[..., Any]:
    """A Python function, compiled: trace, fuse, emit, and LLVM does the rest."""
    program = fuse(trace(f, *ranks))
    sweeps = [let.op for let in program.lets if isinstance(let.op, Sweep)]
    sweeps += [reducing(op) for op in sweeps if isinstance(op.sink, Scan)]
    names = {op: f"sweep{i}" for i, op in enumerate(sweeps)}
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(llvm.get_host_cpu_name(), opt=3)
    module = llvm.parse_assembly("\n".join([DECLARED, *(emit(names[op], op) for op in names)]))
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(3))
    passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    entries = {op: engine.get_function_address(name) for op, name in names.items()}

    def call(*args: Any, owner: llvm.ExecutionEngine = engine) -> Any:  # keeps the code alive
        arrays = [np.asarray(arg, np.float64, order="C") for arg in args]
        return evaluate(program, arrays, {}, partial(launch, entries))[0]

    return call


# --- 8. The demonstration -----------------------------------------------------------------------


def dot(xs: Tracer, ys: Tracer) -> Tracer:
    """The product is never stored."""
    return reduce(lambda a, b: a + b, 0.0, xs * ys)


def best_segment(xs: Tracer) -> Tracer:
    """The largest sum of neighbours: at each prefix sum, less the lowest before it."""
    sums = scan(lambda a, b: a + b, 0.0, xs)
    lowest = scan(minimum, 0.0, sums)
    return reduce(maximum, -np.inf, sums - lowest)


def held(xs: Tracer, limit: Tracer) -> Tracer:
    """The last x below a limit: a closure over a scalar, an operator that does not commute."""
    low = map(lambda x: where(x < limit, x, 0.0), xs)
    return scan(lambda a, b: where(b, b, a), 0.0, low)


def main() -> None:
    """Show a program in every stage, then compare all ways of running three."""
    traced = trace(dot, 1, 1)
    print("traced:", show(traced), "\nfused:", show(fuse(traced)))
    print("emitted:", emit("dot", fuse(traced).lets[0].op))
    xs, ys = np.random.default_rng(1).normal(size=(2, 40_000))
    sums, at = np.cumsum(xs), np.arange(xs.size)
    last = np.maximum.accumulate(np.where(xs < 0.5, at, -1))
    for f, args, expected in [
        (dot, [xs, ys], np.dot(xs, ys)),
        (best_segment, [xs], np.max(sums - np.minimum(np.minimum.accumulate(sums), 0.0))),
        (held, [xs, 0.5], np.where(last < 0, 0.0, xs[last])),
    ]:
        ranks = [np.ndim(arg) for arg in args]
        meaning = evaluate(trace(f, *ranks), args, {}, interpret)[0]
        assert np.allclose(meaning, expected), f"{f.__name__}: the interpreter is wrong"
        assert np.allclose(jit(f, *ranks)(*args), expected), f"{f.__name__}: the compiler is wrong"
        print(f"{f.__name__}: interpreted = compiled = NumPy")


if __name__ == "__main__":
    main()
