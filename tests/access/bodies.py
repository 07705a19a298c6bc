"""Random bodies over two axes: sums, products, edges, elements; and what their values are."""

import numpy as np

from flatweave.access import Modified, factors_of
from flatweave.base.dtypes import bool_, i64
from flatweave.ops import Index
from flatweave.scalar import ops as scalar
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Const, Let, Var, constant

OWN, OTHER, N, M = (Var(name, i64) for name in "ijnm")
XS = Var("xs", ArrayType(i64, (constant(11, i64),)))
ELEMENTS = np.arange(11) ** 3 % 7 - 2
AXES = (OWN, OTHER)
PLAIN = ("add", "sub", "add", "sub", "mul", "minimum", "maximum")
OTHERS = ("abs", "mod", "floordiv", "select", "index", "xor")


def random_body(random, length=9, plain=PLAIN, share=0.7):
    """Lets, of which each may read those before it."""
    lets, pool = [], [OWN, OWN, OTHER, N, M]
    for number in range(length):
        a, b = random.choice(pool), random.choice([*pool, constant(random.randint(-3, 3), i64)])
        fn = random.choice(plain if random.random() < share else OTHERS)
        if fn == "index":
            k = Var(f"k{number}", i64)
            lets.append(Let((k,), Apply("mod", (a, constant(11, i64)))))
            op = Index(XS, (k,), checked=False)
        elif fn == "select":
            p = Var(f"p{number}", bool_)
            lets.append(Let((p,), Apply("lt", (a, b))))
            op = Apply(fn, (p, a, random.choice(pool)))
        elif fn in ("mod", "floordiv"):
            op = Apply(fn, (a, random.choice([constant(3, i64), N])))
        else:
            op = Apply(fn, (a,) if fn == "abs" else (a, b))
        lets.append(Let((Var(f"v{number}", i64),), op))
        pool.append(lets[-1].vars[0])
    return lets


def environment(*rows):
    """The values of what is bound outside of lets, an i, j, n, m for each row."""
    columns = np.array(rows, np.int64).T
    return {**dict(zip((OWN, OTHER, N, M), columns, strict=True)), XS: ELEMENTS}


def values_of(lets, env):
    """What each variable of a body is."""
    known = dict(env)
    for let in lets:
        op = let.op
        args = op.args if isinstance(op, Apply) else (op.xs, *op.indices)
        values = [at(known, atom) for atom in args]
        known[let.vars[0]] = applied(getattr(op, "fn", "index"), values)
    return known


def at(known, atom):
    """The value of an atom."""
    return atom.dtype.numpy.type(atom.value) if isinstance(atom, Const) else known[atom]


def applied(fn, args):
    """A function of values. The name of a read goes on with its fixed fields."""
    return args[0][args[1]] if fn.startswith("index") else scalar.evaluate(fn, *args)


def value_of(sum_, env):
    """What a sum is where its terms have these values."""
    if len(sum_.terms) == 1 and not sum_.more and set(sum_.terms.values()) == {1}:
        return _product(*sum_.terms, env)  # perhaps no number
    total = np.int64(sum_.more)
    for term, count in sum_.terms.items():
        total = total + np.int64(count) * _product(term, env)
    return total


def _product(term, env):
    first, *others = (_factor(factor, env) for factor in factors_of(term))
    for other in others:
        first = first * other
    return first


def _factor(factor, env):
    if isinstance(factor, Modified):
        return applied(factor.fn, [value_of(arg, env) for arg in factor.args])
    return at(env, factor)
