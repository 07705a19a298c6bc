"""Random programs for hypothesis: maps, sweeps, control and scalar work over a few arrays."""

from hypothesis import strategies as st

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DTYPES, bool_, f32, f64, i32, i64
from flatweave.ops import (
    Check,
    Combine,
    CombineRows,
    CombineSegments,
    Compact,
    Filter,
    Fold,
    Generate,
    Index,
    Map,
    Prefix,
    Reduce,
    ReduceSegments,
    Scan,
    ScatterReduce,
    Store,
    Sweep,
)
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, constant

BINARY = ["add", "mul", "minimum", "maximum"]
ELEMENTS = [f32, f64, i32, i64]


@st.composite
def constants(draw, dtypes=DTYPES):
    """A constant of any dtype: extremes, NaN and infinities among them."""
    dtype = draw(st.sampled_from(dtypes))
    if dtype is bool_:
        return constant(draw(st.booleans()), dtype)
    if dtype.is_float:
        return constant(draw(st.floats(width=dtype.bits)), dtype)
    return constant(draw(st.integers(int(dtype.low), int(dtype.high))), dtype)


def scalar_work(draw, b, pool, traced, depth=0):
    """Adds a few scalars computed from the pool of scalars to it."""
    for _ in range(draw(st.integers(1, 3))):
        a = draw(st.sampled_from(pool))
        alike = [x for x in pool if x.type is a.type]
        kind = draw(st.integers(0, 1 if depth == 2 else 4 if traced else 5))
        if kind == 0:
            pool.append(b.cast(a, draw(st.sampled_from(ELEMENTS))))
        elif kind in (1, 2):
            other = draw(st.sampled_from([*alike, draw(constants([a.type]))]))
            pool.append(b.apply(draw(st.sampled_from([*BINARY, "lt"])), a, other))
        else:
            pool.extend(control(draw, b, pool, kind, traced, depth + 1))
    return pool


def control(draw, b, pool, kind, traced, depth):
    """An if, a for or a fold over scalars."""
    init = draw(st.sampled_from(pool))

    def body(c, *params):
        inner = scalar_work(draw, c, [*pool, *params], traced, depth)
        return [draw(st.sampled_from([x for x in inner if x.type is init.type]))]

    if kind == 3:
        condition = b.apply("lt", init, init) if init.type is not bool_ else init
        return b.emit(If(condition, b.function([], body), b.function([], body)))
    if kind == 4:
        turn = b.function([i64, init.type], body)
        return b.emit(For(index(0), index(3), index(1), turn, (init,)))
    fn = lambda_of(draw(st.sampled_from(BINARY)), init.type)
    return b.emit(Fold(index(draw(st.integers(0, 3))), b.function([i64], body), fn, (init,)))


def array_op(draw, b, arrays, traced):
    """Emits one array operation over arrays of any extents and adds its arrays to them."""
    xs = draw(st.sampled_from(arrays))
    (n,), dtype = xs.type.shape, xs.type.dtype
    fn, zero = lambda_of(draw(st.sampled_from(BINARY)), dtype), constant(0, dtype)

    def element(c, x):
        return [draw(st.sampled_from(scalar_work(draw, c, [x, index(7)], traced)))]

    def flag(c, x):
        return [c.apply("le", x, zero)]

    def swept(c, i):
        (x,) = c.emit(Index(xs, (i,), draw(st.booleans())))
        starts = flag(c, x) if draw(st.booleans()) else ()
        (p,) = c.emit(Prefix(fn, (zero,), (x,), draw(st.booleans()), tuple(starts)))
        return p, *flag(c, x), x, p

    def scattered(c, i):
        return i, *c.emit(Index(xs, (i,), checked=False))

    def segmented(c, i):
        (x,) = c.emit(Index(xs, (i,), checked=False))
        return *flag(c, x), x, i, *flag(c, x), x

    kind = draw(st.integers(0, 6 if traced else 7))
    if kind == 0:
        arrays += b.emit(Map(b.function([dtype], element), (xs,)))
    elif kind == 1:
        flags = b.emit(Map(b.function([dtype], flag), (xs,)))
        arrays += b.emit(Filter(flags[0], (xs, xs)))[1:]
    elif kind == 2:
        starts = b.emit(Map(b.function([dtype], flag), (xs,))) if draw(st.booleans()) else ()
        exclusive, reverse = draw(st.booleans()), draw(st.booleans())
        arrays += b.emit(Scan(fn, (zero,), (xs,), exclusive, reverse, starts))
    elif kind == 3:
        (total,) = b.emit(Reduce(fn, (zero,), (xs,)))
        plus = b.function([dtype], lambda c, x: [c.apply("add", x, total)])
        arrays += b.emit(Map(plus, (xs,)))
    elif kind == 4:
        arrays += b.emit(Generate((n,), b.function([i64], lambda c, i: [i])))
    elif kind == 5:
        b.emit(Check(b.apply("le", index(0), n), "same", (n,), 'An extent is "small".'))
    elif kind == 6:
        flags = b.emit(Map(b.function([dtype], flag), (xs,)))
        arrays += b.emit(ReduceSegments(fn, (zero,), flags[0], (xs,)))[1:]
    else:
        sinks = (Store(), Compact(1), Combine(fn, (zero,)))
        made = b.emit(Sweep((n,), b.function([i64], swept), sinks, draw(st.booleans())))
        arrays += [made[0], made[2]]
        scatter = (ScatterReduce(fn, (zero,), (xs,)),)
        arrays += b.emit(Sweep((n,), b.function([i64], scattered), scatter, draw(st.booleans())))
        sinks = (CombineSegments(fn, (zero,)), CombineRows(fn, (zero,), n))
        made = b.emit(Sweep((n,), b.function([i64], segmented), sinks))
        arrays += made[1:]


def shrinking_loop(b, xs):
    """A loop whose state is an array that may change its extent."""
    (n,), dtype = xs.type.shape, xs.type.dtype

    def types(c):
        m = c.var("m", i64)
        return m, c.var("ys", ArrayType(dtype, (m,)))

    test, turn = b.inner(), b.inner()
    seen, state = types(test), types(turn)
    condition = test.close(seen, [test.apply("lt", seen[0], index(0))])
    return b.emit(While(condition, turn.close(state, state), (n, xs)))[1:]


@st.composite
def programs(draw, traced=False):
    """A program over one or two arrays; `traced`: without what only passes make."""
    b = Builder()
    params, arrays = [], []
    for dtype in draw(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=2)):
        n = b.var("n", i64)
        name = draw(st.sampled_from(["xs", "add", "in", "f32"]))
        arrays.append(b.var(name, ArrayType(dtype, (n,))))
        params += [n, arrays[-1]]
    for _ in range(draw(st.integers(0, 4))):
        array_op(draw, b, arrays, traced)
    if draw(st.booleans()):
        arrays += shrinking_loop(b, arrays[-1])
    results = [arrays[-1], draw(constants())]
    return Program("random", b.close(params, results))
