"""The programs of `gradients.py` for JAX and PyTorch, where these can say them.

    calls_of("jax", "sum", args)       {"jax value": .., "jax derivative": ..}, or none

A program is written once, over the functions that `jax.numpy` and `torch` have in common. Rows of
different lengths are flat values with the row of each, or rows padded to the longest where all
pairs are computed. JAX compiles all of it; PyTorch runs it operation by operation.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

Array = Any
Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of floating arrays, and its arguments."""


@dataclass(frozen=True, slots=True)
class Library:
    """What differs between the two."""

    name: str
    xp: ModuleType
    array: Callable[[Any], Array]
    by_index: Callable[[str, Array, Array, int], Array]  # the operator's name, values, at, bins
    logsumexp: Callable[[Array], Array]  # along the last axis
    repeat: Callable[[Array, Array, int], Array]  # the total, too
    loop: Callable[[int, Callable[[Any, Any], Any], Any], Any]  # a number of steps, the step


def jax_library() -> Library:
    """JAX, with floats of 64 bits."""
    import jax
    from jax import numpy, ops

    jax.config.update("jax_enable_x64", True)
    segments = {"add": ops.segment_sum, "min": ops.segment_min, "max": ops.segment_max}
    return Library(
        "jax", numpy, numpy.asarray, lambda op, x, at, n: segments[op](x, at, n),
        lambda x: jax.scipy.special.logsumexp(x, axis=-1),
        lambda x, counts, total: numpy.repeat(x, counts, total_repeat_length=total),
        lambda n, step, state: jax.lax.scan(
            lambda s, i: (step(i, s), None), state, numpy.arange(n)
        )[0],
    )  # fmt: skip


def torch_library() -> Library:
    """PyTorch."""
    import torch

    names = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}
    starts = {"add": 0.0, "mul": 1.0, "min": float("inf"), "max": -float("inf")}

    def by_index(op: str, x: Array, at: Array, n: int) -> Array:
        into = torch.full((n, *x.shape[1:]), starts[op], dtype=x.dtype)
        if op == "add":
            return into.index_add(0, at, x)
        return into.scatter_reduce(0, at.long(), x, names[op])

    def loop(n: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
        for i in range(n):
            state = step(i, state)
        return state

    return Library(
        "torch", torch, lambda x: torch.as_tensor(np.array(x)), by_index,
        lambda x: torch.logsumexp(x, -1), lambda x, counts, total: torch.repeat_interleave(
            x, counts
        ), loop,
    )  # fmt: skip


LIBRARIES = {"jax": jax_library, "torch": torch_library}


# --- programs: of a library and the arguments in NumPy


def rows_of(lib: Library, lengths: np.ndarray) -> tuple[Array, int]:
    """The row of each value, and how many rows there are."""
    return lib.array(np.repeat(np.arange(len(lengths)), lengths)), len(lengths)


def flat(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """The values of a Ragged, and the lengths of its rows."""
    return np.asarray(rows.values), np.diff(np.asarray(rows.offsets))


def expand(lib: Library, args: tuple[Any, ...]) -> Program:
    """Each number times 0, 1, .., as often as its count says."""
    x, counts = args
    starts, total = np.cumsum(counts) - counts, int(counts.sum())
    at = lib.array((np.arange(total) - np.repeat(starts, counts)).astype(np.float32))
    times = lib.array(counts)
    return lambda x: lib.repeat(x, times, total) * at, (x,)


def cross_entropy(lib: Library, args: tuple[Any, ...]) -> Program:
    """The mean of softmax cross-entropies of rows."""
    rows, labels = args
    values, lengths = flat(rows)
    at, n = rows_of(lib, lengths)
    chosen = lib.array(np.cumsum(lengths) - lengths + labels)

    def loss(x: Array) -> Array:
        top = lib.by_index("max", x, at, n)
        sums = lib.by_index("add", lib.xp.exp(x - top[at]), at, n)
        return lib.xp.mean(lib.xp.log(sums) + top - x[chosen])

    return loss, (values,)


def attention(lib: Library, args: tuple[Any, ...]) -> Program:
    """All pairs of a row, padded to the longest row."""
    lengths = flat(args[0])[1]
    inside = np.arange(lengths.max()) < lengths[:, None]
    mask, padded = lib.array(inside), []
    for rows in args:
        padded.append(np.zeros(inside.shape, np.float32))
        padded[-1][inside] = flat(rows)[0]

    def rows(q: Array, k: Array, v: Array) -> Array:
        weights = lib.xp.exp(q[:, :, None] * k[:, None, :]) * mask[:, None, :]
        return (weights * v[:, None, :]).sum(2) / weights.sum(2) * mask

    return rows, tuple(padded)


def spmv(lib: Library, args: tuple[Any, ...], by: str) -> Program:
    """Values times gathered elements, summed by row."""
    values, columns, x = args
    given, lengths = flat(values)
    at, n = rows_of(lib, lengths)
    places = lib.array(flat(columns)[0])
    if by == "values":
        vector = lib.array(x)
        return lambda v: lib.by_index("add", v * vector[places], at, n), (given,)
    held = lib.array(given)
    return lambda x: lib.by_index("add", held * x[places], at, n), (x,)


def gmm(lib: Library, args: tuple[Any, ...]) -> Program:
    """Points by components by dimensions."""
    xp, points = lib.xp, lib.array(args[3])

    def likelihood(weights: Array, means: Array, scales: Array) -> Array:
        d = (points[:, None, :] - means) * xp.exp(scales)
        return lib.logsumexp(weights + (scales - 0.5 * d * d).sum(2)).sum()

    return likelihood, args[:3]


def newton(lib: Library, args: tuple[Any, ...]) -> Program:
    """A loop over all numbers, until each converges; PyTorch's alone has a derivative."""
    xp = lib.xp

    def roots(a: Array) -> Array:
        s = a + 1.0
        while bool((goes := xp.abs(s * s * s - a) > 1e-5).any()):
            s = xp.where(goes, s - (s * s * s - a) / (3 * s * s), s)
        return s

    return roots, args


def ode(lib: Library, args: tuple[Any, ...]) -> Program:
    """Adaptive steps of all rows at once, until each is at its end; PyTorch alone, too."""
    xp = lib.xp

    def at_end(k: Array) -> Array:
        t, y, h = xp.zeros_like(k), xp.ones_like(k), xp.full_like(k, 0.1)
        while bool((goes := t < 1.0).any()):
            h = xp.minimum(h, 1.0 - t)
            first = -k * y
            whole = y + h * first
            mean = y + h / 2 * (first - k * whole)
            error = xp.abs(mean - whole)
            taken = goes & (error < 1e-4)
            t, y = xp.where(taken, t + h, t), xp.where(taken, mean, y)
            h = xp.where(goes, h * xp.clip(0.9 * xp.sqrt(1e-4 / (error + 1e-12)), 0.2, 2.0), h)
        return y

    return at_end, args


def particles(lib: Library, args: tuple[Any, ...]) -> Program:
    """50 steps, forces summed by particle."""
    x, lists = args
    near, lengths = flat(lists)
    at, n = rows_of(lib, lengths)
    near = lib.array(near)

    def step(_: Any, state: Any) -> Any:
        x, v = state
        d = x[near] - x[at]
        v = v - 0.01 * lib.by_index("add", d / (1.0 + d * d), at, n)
        return x + 0.01 * v, v

    return lambda x: lib.loop(50, step, (x, x * 0.0))[0], (x,)


def lstm(lib: Library, args: tuple[Any, ...]) -> Program:
    """ADBench's network: the loss."""
    main, extra, state, letters = args
    xp, text = lib.xp, lib.array(letters)
    begin = [tuple(map(lib.array, layer)) for layer in state]

    def sigmoid(x: Array) -> Array:
        return 1 / (1 + xp.exp(-x))

    def loss(main: Array, extra: Array) -> Array:
        def step(t: Any, carry: Any) -> Any:
            state, total = carry
            x, fresh = text[t] * extra[0], []
            for k, (hidden, cell) in enumerate(state):
                weight, bias = main[k, 0], main[k, 1]
                forget = sigmoid(x * weight[0] + bias[0])
                ingate = sigmoid(hidden * weight[1] + bias[1])
                outgate = sigmoid(x * weight[2] + bias[2])
                cell = cell * forget + ingate * xp.tanh(hidden * weight[3] + bias[3])
                x = outgate * xp.tanh(cell)
                fresh.append((x, cell))
            guess = x * extra[1] + extra[2]
            sure = guess - xp.log(xp.exp(guess).sum() + 2)
            return fresh, total + (text[t + 1] * sure).sum()

        total = lib.loop(len(letters) - 1, step, (begin, lib.array(0.0)))[1]
        return -total / ((len(letters) - 1) * letters.shape[1])

    return loss, (np.stack([np.stack(layer) for layer in main]), extra)


def bundle(lib: Library, args: tuple[Any, ...]) -> Program:
    """ADBench's residual of one observation, and the numbers [p, 15] of all of them."""
    cameras, points, weights, observations, features = args
    xp = lib.xp
    numbers = np.concatenate(
        [cameras[observations[:, 0]], points[observations[:, 1]], weights[:, None]], axis=1
    )

    def residual(numbers: Array, feature: Array) -> Array:
        rotation, away = numbers[:3], numbers[11:14] - numbers[3:6]
        square = (rotation * rotation).sum()
        angle = xp.sqrt(xp.where(square == 0, 1.0, square))
        axis = rotation / angle
        turned = (away * xp.cos(angle) + xp.linalg.cross(axis, away) * xp.sin(angle)
                  + axis * ((axis * away).sum() * (1 - xp.cos(angle))))  # fmt: skip
        turned = xp.where(square == 0, away + xp.linalg.cross(rotation, away), turned)
        flat = turned[:2] / turned[2]
        far = (flat * flat).sum()
        spread = 1 + numbers[9] * far + numbers[10] * far * far
        return numbers[14] * (flat * spread * numbers[6] + numbers[7:9] - feature)

    return residual, (numbers, features)


def hand(lib: Library, args: tuple[Any, ...]) -> Program:
    """ADBench's hand, its simple form."""
    angles_at = importlib.import_module("gradients.hand").ANGLES
    parameters, model, points, at = args
    xp, bones = lib.xp, len(model.parents)
    slots = np.full((bones, 3), len(parameters))  # the angle 0 comes after the parameters
    slots[angles_at[:, 1], angles_at[:, 2]] = angles_at[:, 0]
    slots, rest, inverses, vertices, weights = map(
        lib.array, (slots, model.relatives, model.inverses, model.vertices, model.weights)
    )
    measured, at = lib.array(points), lib.array(at)
    zero, one = lib.array(0.0), lib.array(1.0)

    def matrix(rows: Any) -> Array:
        return xp.stack([xp.stack(list(row)) for row in rows])

    def turned(angles: Array) -> Array:
        (cx, cz, cy), (sx, sz, sy) = xp.cos(angles), xp.sin(angles)
        return matrix([
            [cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz, zero],
            [cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz, zero],
            [-sy, sx * cy, cx * cy, zero], [zero, zero, zero, one],
        ])  # fmt: skip

    def residuals(p: Array) -> Array:
        poses, places = xp.concatenate([p, zero[None]])[slots], []
        for bone, parent in enumerate(model.parents):
            local = rest[bone] @ turned(poses[bone])
            places.append(local if parent < 0 else places[parent] @ local)
        moves = xp.stack(places) @ inverses
        bent = xp.einsum("vb,bij,vj->vi", weights, moves, vertices)[:, :3]
        angle = xp.sqrt((p[:3] ** 2).sum())
        x, y, z = p[:3] / angle
        across = matrix([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
        whole = (xp.eye(3, dtype=p.dtype) + xp.sin(angle) * across
                 + (1 - xp.cos(angle)) * across @ across)  # fmt: skip
        return measured - (bent @ whole.T + p[3:6])[at]

    return residuals, (parameters,)


def affine(f: Array, g: Array) -> Array:
    """Linear functions, composed in order."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def matrix_product(p: Array, q: Array) -> Array:
    """A product of 2 by 2 matrices."""
    return (p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3],
            p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3])  # fmt: skip


def simple(lib: Library, name: str, args: tuple[Any, ...]) -> Program | None:
    """One function of the library."""
    given: Mapping[str, Callable[..., Any] | None]
    if lib.name == "jax":
        from jax import lax

        given = {
            "sum": lib.xp.sum, "min": lib.xp.min, "prod": lib.xp.prod, "cumsum": lib.xp.cumsum,
            "cummin": lax.cummin, "cumprod": lib.xp.cumprod, "sort": lib.xp.sort,
            "linear": lambda *xs: lax.associative_scan(affine, xs),
            "last linear": lambda *xs: [x[-1] for x in lax.associative_scan(affine, xs)],
            "matrices": lambda *xs: lax.associative_scan(matrix_product, xs),
        }  # fmt: skip
    else:
        given = {
            "sum": lambda x: x.sum(), "min": lambda x: x.min(), "prod": lambda x: x.prod(),
            "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(0),
            "cummin": lambda x: x.cummin(0).values, "sort": lambda x: x.sort().values,
            "filter": lambda x: x[x > 1],
        }  # fmt: skip
    found = given.get(name)
    return None if found is None else (found, args)


WRITTEN: dict[str, Callable[[Library, tuple[Any, ...]], Program]] = {
    "expand": expand, "cross-entropy": cross_entropy, "attention": attention,
    "spmv by values": lambda lib, args: spmv(lib, args, "values"),
    "spmv by vector": lambda lib, args: spmv(lib, args, "vector"),
    "gmm": gmm, "newton": newton, "ode": ode, "particles": particles, "lstm": lstm,
    "bundle": bundle, "hand": hand,
}  # fmt: skip
JACOBIANS = {"bundle", "hand"}
NOT_IN_JAX = {"newton", "ode", "mul by index"}  # no reverse mode there


def program_of(lib: Library, name: str, args: tuple[Any, ...]) -> Program | None:
    """A program, or none where the library cannot say it."""
    if lib.name == "jax" and name in NOT_IN_JAX:
        return None
    if name.endswith(" by index"):
        x, at = args
        places, bins = lib.array(at), 1 << 16
        return lambda x: lib.by_index(name.split()[0], x, places, bins), (x,)
    return WRITTEN[name](lib, args) if name in WRITTEN else simple(lib, name, args)


def calls_of(which: str, name: str, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """Calls of the value and of the derivative; ImportError where the library is missing."""
    lib = LIBRARIES[which]()
    found = program_of(lib, name, args)
    if found is None:
        return {}
    f, floats = found[0], tuple(map(lib.array, found[1]))
    derive = jax_derivative if which == "jax" else torch_derivative
    value, derivative = derive(name, f)
    return {f"{which} value": lambda: value(*floats), f"{which} vjp": lambda: derivative(*floats)}


def jacobian(name: str, f: Callable[..., Any], transforms: Any) -> tuple[Callable[..., Any], ...]:
    """The value and its Jacobian, by reverse mode of a residual, by forward mode of a hand."""
    if name == "hand":
        return f, lambda x: (f(x), transforms.jacfwd(f)(x))
    both = transforms.jacrev(f)
    return transforms.vmap(f), transforms.vmap(lambda *given: (f(*given), both(*given)))


def jax_derivative(name: str, f: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The value, and what derives it, compiled."""
    import jax

    def waited(g: Callable[..., Any]) -> Callable[..., Any]:
        compiled = jax.jit(g)
        return lambda *xs: jax.block_until_ready(compiled(*xs))

    if name in JACOBIANS:
        return tuple(map(waited, jacobian(name, f, jax)))

    def vjp(cotangents: Any, *floats: Array) -> Array:
        out, back = jax.vjp(f, *floats)
        return out, back(cotangents)

    value, back = waited(f), waited(vjp)
    ones: list[Any] = []  # an argument, which XLA does not fold

    def derivative(*floats: Array) -> Array:
        if not ones:
            ones.append(jax.tree.map(jax.numpy.ones_like, value(*floats)))
        return back(ones[0], *floats)

    return value, derivative


def torch_derivative(name: str, f: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The value without a tape, and what derives it."""
    import torch

    def vjp(*floats: Array) -> Array:
        moving = [x.detach().requires_grad_() for x in floats]
        out = f(*moving)
        return out, torch.autograd.grad(out, moving, torch.ones_like(out))

    value, derivative = jacobian(name, f, torch.func) if name in JACOBIANS else (f, vjp)

    def untaped(*floats: Array) -> Array:
        with torch.no_grad():
            return value(*floats)

    return untaped, derivative
