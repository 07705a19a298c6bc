"""Complex numbers: functions of them as NumPy's, at once and in jitted functions."""

import cmath

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import NegativeExtentError, ShapeError

Z = np.array([1 + 2j, -3.5 + 0.25j, 0.5 - 1j, 2j, -4, 0.75 + 1e-3j])
W = Z[::-1].copy()
M = np.arange(12.0).reshape(3, 4) * (1 + 0.5j) - 2j
B = np.array([True, False, True, True, False, True])
NAN, INF = float("nan"), float("inf")

CASES = {
    "arithmetic": lambda xp, z, w: (z + w, z - w, z * w, z / w, -z, z + 1, 2.5 * z, 1j - z, z / 2),
    "promotion": lambda xp, z, w: (
        z.astype(np.complex64) * 1j, z.astype(np.complex64) + xp.real(w)),
    "comparisons": lambda xp, z, w: (z == w, z != w, z == 2j, xp.isnan(z), xp.isfinite(z)),
    "parts": lambda xp, z, w: (xp.real(z), xp.imag(z), xp.conj(z), xp.abs(z), xp.sign(z)),
    "powers": lambda xp, z, w: (z**2, z**w, xp.sqrt(z), xp.square(z), xp.reciprocal(z)),
    "exponentials": lambda xp, z, w: (xp.exp(z), xp.expm1(z), xp.log(z), xp.log2(z), xp.log1p(z)),
    "circular": lambda xp, z, w: (xp.sin(z), xp.cos(z), xp.tan(z), xp.asin(z), xp.atan(z)),
    "hyperbolic": lambda xp, z, w: (xp.sinh(z), xp.cosh(z), xp.tanh(z), xp.asinh(z), xp.atanh(z)),
    "inverses": lambda xp, z, w: (xp.acos(z), xp.acosh(z), xp.round(z)),
    "sums": lambda xp, z, w: (xp.sum(z), xp.mean(z), xp.prod(z), xp.cumsum(z), xp.cumprod(z)),
    "truth": lambda xp, z, w: (xp.any(z), xp.all(z), xp.count_nonzero(z), z.astype(bool)),
    "arrangement": lambda xp, z, w: (
        z[1:3], z[::-1], xp.reshape(z, (2, 3)).T, xp.concat([z, xp.real(w)]), xp.flip(z),
        xp.stack([z, w]), xp.append(z, w), xp.tile(z, 3), xp.tile(z, (2, 1)), xp.roll(z, 2),
        xp.take(z, xp.asarray(np.array([4, 0])))),
    "masks": lambda xp, z, w: (z[xp.asarray(B)], xp.where(xp.asarray(B), z, 0.5)),
    "creation": lambda xp, z, w: (
        xp.zeros(2, dtype=np.complex64), xp.ones_like(z), xp.full(3, 1j), xp.full_like(z, 2),
        xp.full(2, 2, np.complex64), xp.eye(2, dtype=complex), xp.linspace(0, 1j, 5)),
    "products": lambda xp, z, w: (z @ w, xp.vecdot(z, w), xp.tensordot(z, xp.real(w), axes=0)),
    "broadcasting": lambda xp, z, w: xp.reshape(z, (6, 1)) * w[:4],
    "a number": lambda xp, z, w: (z[0], z[0] * w[1], xp.sum(z) / 6),
}  # fmt: skip


MATRIX = np.arange(35.0).reshape(5, 7) * (1 - 2j)
OF_MATRICES = {
    "joined": lambda xp, m, w: (xp.concat([m, w]), xp.concat([m, m * 2, w]), xp.stack([m, w])),
    "of two dtypes": lambda xp, m, w: xp.concat([m, w.astype(np.complex64)]),
    "joined along others": lambda xp, m, w: (
        xp.concat([m, w], axis=-1), xp.stack([m, w], axis=-1), xp.concat([m, w], axis=None)),
    "computed with": lambda xp, m, w: xp.abs(xp.concat([m, w])) + xp.sum(xp.imag(xp.stack([m, w]))),
    "sums": lambda xp, m, w: (
        xp.sum(m, axis=1), xp.mean(m, axis=1), xp.prod(m / 9, axis=1), xp.sum(m * w, axis=-1)),
    "inner products": lambda xp, m, w: (
        xp.vecdot(m, w), xp.vecdot(m, xp.real(w)), xp.vecdot(xp.real(m), w),
        xp.vecdot(m, xp.sum(w, axis=0)), xp.vecdot(m, w[:, 0], axis=0), xp.vecdot(m, w, axis=0)),
}  # fmt: skip


@pytest.mark.parametrize("rows, columns", [(5, 7), (1, 3), (3, 1), (2, 100), (0, 4), (70, 33)])
@pytest.mark.parametrize("name", OF_MATRICES)
def test_rows_of_matrices(name, rows, columns):
    """Moved as pairs, or each part."""
    m = np.resize(MATRIX, (rows, columns))
    w = np.conj(m) * 1.5 - 2

    program = OF_MATRICES[name]
    same(fw.jit(lambda m, w: program(fw, m, w))(m, w), program(np, m, w))


def test_rows_that_do_not_fit():
    """As of real numbers, and those of the user's axes."""
    for xs, axis in (([MATRIX, MATRIX[:, :3]], 0), ([MATRIX[0], MATRIX], 0)):
        with pytest.raises(ShapeError):
            fw.concat(xs, axis=axis)
    with pytest.raises(ShapeError):
        fw.stack([MATRIX, MATRIX[:3]])
    with pytest.raises(ShapeError):
        fw.vecdot(MATRIX, MATRIX[:, :1])
    with pytest.raises(NegativeExtentError):
        fw.tile(MATRIX[0], -1)
    assert fw.tile(MATRIX[0], 0).shape == (0,)


def same(found, wanted):
    """Of one dtype and shape, equal to the last bits."""
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        got, want = np.asarray(one), np.asarray(other)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=2e-6 if want.dtype == np.complex64 else 1e-13)


DEAR = ("powers", "circular", "hyperbolic", "inverses")  # to compile


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in DEAR else ()) for n in CASES]
)
def test_as_numpy(name):
    """In a jitted function."""
    program = CASES[name]

    same(fw.jit(lambda z, w: program(fw, z, w))(Z, W), program(np, Z, W))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "arithmetic" else pytest.mark.slow) for n in CASES]
)
def test_at_once(name):
    """The same without `jit`, and in the reference meaning."""
    program = CASES[name]
    wanted = program(np, Z, W)

    same(program(fw, fw.asarray(Z), fw.asarray(W)), wanted)
    with fw.target("interp"):
        same(fw.jit(lambda z, w: program(fw, z, w))(Z, W), wanted)


def test_arguments():
    """Numbers, captured arrays, other byte orders and strides, broadcasting, `asarray`."""
    program = fw.jit(lambda z, k: {"product": z * k, "beside": Z + z, "one": 1j})
    for k in (2j, 1.5, np.complex64(1j), np.array(2j)):
        found = program(W, k)
        same((found["product"], found["beside"], found["one"]), (W * k, Z + W, np.array(1j)))
    product = fw.jit(lambda a, b: a * b)
    for a, b in [(Z.reshape(6, 1), W.reshape(1, 6)), (Z[::-1], W), (Z.astype(">c16"), W)]:
        same(product(a, b), (a * b).astype(np.complex128))
    same(fw.jit(lambda z: fw.asarray(z, dtype=fw.c64))(Z), Z.astype(np.complex64))
    same(fw.gather(Z, np.array([2, 0])), Z[[2, 0]])


def test_elements():
    """What maps, scans and loops are given has a real and an imaginary part."""
    assert np.asarray(fw.map(lambda z: z * z.imag, Z)).tolist() == (Z * Z.imag).tolist()
    assert complex(fw.reduce(lambda a, b: a * b, 1 + 0j, Z)) == pytest.approx(np.prod(Z))
    turns = fw.jit(lambda z: fw.fori_loop(0, 3, lambda i, z: z * 1j, z))
    assert np.asarray(turns(Z)).tolist() == (-1j * Z).tolist()


def test_nothing_is_copied_at_the_ends():
    """The argument of a program is the floats of a complex array; so is its result."""
    stages = fw.jit(lambda z: z * 2).stages(Z)

    assert stages.kernels == 1
    assert "f64[n_1, 2]" in stages.text["array"].splitlines()[0]
    shared = fw.asarray(Z, copy=False)
    assert np.shares_memory(np.asarray(shared), Z)


@pytest.mark.parametrize("size", [0, 1, 127, 1025])
def test_sizes(size):
    """Of no element, and of several blocks."""
    z = np.arange(size) * (0.5 - 1j)

    same(fw.exp(z * -0.001j), np.exp(z * -0.001j))
    same(fw.sum(z.astype(np.complex128)), np.sum(z.astype(np.complex128)))


SPECIAL = [complex(x, y) for x in (0.0, -0.0, 1.0, -INF, INF, NAN) for y in (0.0, -0.0, 2.0, INF)]


@pytest.mark.parametrize("name", ["exp", "sqrt", "log", "sinh", "cosh", "tanh", "asinh", "acos"])
@pytest.mark.slow
def test_infinities(name):
    """As C99 has them, which Python follows; signs of zeros and of NaN aside."""
    found = np.asarray(getattr(fw, name)(np.array(SPECIAL)))
    for z, value in zip(SPECIAL, found, strict=True):
        try:
            wanted = getattr(cmath, name)(z)
        except (ValueError, OverflowError):
            continue
        for one, other in ((value.real, wanted.real), (value.imag, wanted.imag)):
            near = one == pytest.approx(other, nan_ok=True)
            assert near or (abs(one) == abs(other) and cmath.isinf(other)), (z, value, wanted)


def test_atanh_of_a_number_that_is_none():
    """With a finite imaginary part nothing is known, with an infinite one half."""
    found = np.asarray(fw.atanh(np.array([complex(NAN, 2.0), complex(NAN, 1e300)])))

    assert np.isnan(found.imag).all()
    assert np.isnan(found.real).all()
    assert complex(fw.atanh(np.array([complex(NAN, INF)]))[0]) == cmath.atanh(complex(NAN, INF))


def test_what_has_no_order():
    """Sorting and comparing complex numbers is refused by name."""
    for wrong in (lambda: fw.sort(Z), lambda: fw.max(Z), lambda: fw.less(Z, W)):
        with pytest.raises(fw.Unsupported, match="of complex numbers"):
            wrong()
    with pytest.raises(fw.DTypeError, match="imaginary part"):
        fw.asarray(Z).astype(fw.f64)
    with pytest.raises(fw.NotTraceableError):
        fw.jit(lambda z: 1 if z[0] else 2)(Z)


def test_a_number_read_at_no_index(target):
    """As of other numbers."""
    one = np.asarray(1 + 2j)
    assert complex(fw.jit(lambda z: z[()])(one)) == 1 + 2j
    assert complex(fw.asarray(one)[()]) == 1 + 2j


ROWS = [list(Z[:2]), [], list(Z[2:])]
OF_ROWS = {
    "themselves": (lambda r: r, ROWS),
    "arithmetic": (lambda r: r * 2j + r, [[z * 2j + z for z in row] for row in ROWS]),
    "one for each row": (
        lambda r: r - np.array([1j, 0, 2]),
        [[z - m for z in row] for row, m in zip(ROWS, [1j, 0, 2], strict=True)]),
    "comparisons": (lambda r: r == 2j, [[z == 2j for z in row] for row in ROWS]),
    "choices": (lambda r: fw.where(fw.abs(r) > 2, r, 0),
                [[z if abs(z) > 2 else 0 for z in row] for row in ROWS]),
    "maps": (lambda r: fw.map(lambda row: fw.map(lambda z: z * z, row), r),
             [[z * z for z in row] for row in ROWS]),
    "sums": (lambda r: fw.map(fw.sum, r), [sum(row) for row in ROWS]),
    "filters": (lambda r: fw.map(lambda row: fw.filter(lambda z: z.real > 0, row), r),
                [[z for z in row if z.real > 0] for row in ROWS]),
    "some of them": (lambda r: fw.concat([r[1:], r[:1]]), ROWS[1:] + ROWS[:1]),
    "another in its place": (
        lambda r: fw.replace(r, 1, fw.full(2, 3j)), [ROWS[0], [3j] * 2, ROWS[2]]),
    "flags": (lambda r: fw.ragged(r.values, flags=r.flags), [ROWS[0], ROWS[2]]),
    "made of numbers": (
        lambda r: fw.map(lambda n: fw.map(lambda i: fw.iota(i) * 1j, fw.iota(n)), r.lengths),
        [[[0j] * i if i < 2 else [0, 1j, 2j][:i] for i in range(len(row))] for row in ROWS]),
}  # fmt: skip


@pytest.mark.parametrize("case", OF_ROWS)
def test_rows(target, case):
    """Rows of complex numbers are made, mapped, chosen from and put together as others are."""
    f, expected = OF_ROWS[case]
    rows = fw.ragged(Z, lengths=[2, 0, 4])

    assert f(rows).tolist() == expected
    assert fw.jit(f)(rows).tolist() == expected


def test_rows_of_lists():
    """Python's complex numbers in lists."""
    assert fw.ragged([[1j, 2], [], [3.5]]).tolist() == [[1j, 2], [], [3.5]]
    assert fw.ragged([[1], [2, 3]], dtype=fw.c64).values.dtype == np.complex64
    assert fw.jit(lambda z: fw.ragged(z, lengths=[2, 4]))(Z).tolist() == [list(Z[:2]), list(Z[2:])]


def test_real_numbers_among_complex_ones(target):
    """Neutral elements and values to write may be real; bins and neighbourhoods are of either."""
    k = np.array([0, 1, 1, 0, 2, 5])
    sums = np.array([Z[0] + Z[3], Z[1] + Z[2], Z[4]])

    assert complex(fw.reduce(fw.add, 0, Z)) == pytest.approx(complex(Z.sum()))
    pair = fw.reduce(lambda a, b: (a[0] * b[0], a[1] + b[1]), (1, 0), (Z, k))
    assert (complex(pair[0]), int(pair[1])) == (pytest.approx(complex(Z.prod())), k.sum())
    parts = [Z[0], Z[1], Z[2] + Z[3], Z[4], Z[5]]
    assert np.allclose(fw.segmented_reduce(fw.add, 0, k > 0, Z), parts)
    assert np.allclose(fw.histogram(3, k, Z), sums)
    assert np.allclose(fw.reduce_by_index(np.zeros(3, complex), fw.add, 0, k, Z), sums)
    assert fw.scatter(Z, [1], 2).tolist() == [Z[0], 2, *Z[2:]]
    around = fw.stencil(lambda n: n[-1] + n[1], Z, (3,), ("constant", 0))
    assert np.allclose(around, np.append(0, Z[:-1]) + np.append(Z[1:], 0))


def test_numbers_become_complex_in_loops_and_branches(target):
    """Python numbers do, where what the body gives, or the other branch, is complex."""
    z = np.complex128(0.5 + 0.5j)

    def steps(z):
        return fw.while_loop(
            lambda s: (abs(s[0]) < 2) & (s[1] < 50), lambda s: (s[0] * s[0] + z, s[1] + 1), (0, 0)
        )

    def plain(z):
        s, n = 0, 0
        while abs(s) < 2 and n < 50:
            s, n = s * s + z, n + 1
        return s, n

    found = fw.jit(steps)(z)
    assert (complex(found[0]), int(found[1])) == plain(z)
    given = np.array([z, 1, -1 + 0.25j])
    counts = fw.jit(lambda zs: fw.map(lambda z: steps(z)[1], zs))(given)
    assert counts.tolist() == [plain(z)[1] for z in given]
    product = fw.fori_loop(0, 3, lambda i, s: {"p": s["p"] * np.complex64(1j)}, {"p": 1})
    assert product["p"] == -1j and product["p"].dtype == np.complex64
    assert fw.fori_loop(0, 2, lambda i, s: 1, z) == 1
    for p in (True, False):
        chosen = fw.jit(lambda p, z: fw.cond(p, lambda: (1, z), lambda: (z, 2.5)))(p, z)
        assert [complex(x) for x in chosen] == ([1, z] if p else [z, 2.5])


def test_floats_do_not_become_complex_in_loops():
    """Both dtypes are named, and where they are."""
    x, z = np.float64(1.5), np.complex128(1j)
    with fw.target("interp"):
        with pytest.raises(fw.DTypeError, match=r"state of fori_loop enters as f64 .* as c128"):
            fw.fori_loop(0, 2, lambda i, s: s * z, x)
        with pytest.raises(fw.DTypeError, match=r"leaf state\[1\] of while_loop enters as c128"):
            fw.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, x), (0, z))
        with pytest.raises(fw.DTypeError, match=r"different dtypes at result\[0\], f64 and"):
            fw.cond(True, lambda: (x, 1), lambda: (z, 1))
        with pytest.raises(fw.OperatorError, match=r"takes a state i64 but gives \(i64, c128\)"):
            fw.fori_loop(0, 2, lambda i, s: (s, z), 1)


@pytest.mark.parametrize("how", ["add", "multiply"])
@pytest.mark.parametrize("key", [np.array([0, 0, 2]), slice(1, 3), np.array([True, False, True])])
def test_updates_at_a_key(how, key):
    """As `np.add.at` and `np.multiply.at` do it, equal indices among the key."""
    z = np.array([1 + 2j, 3 - 1j, -2j])
    expected = z.copy()
    getattr(np, how).at(expected, key, 2 - 1j)

    assert getattr(fw.asarray(z).at[key], how)(2 - 1j).tolist() == expected.tolist()
    assert fw.jit(lambda z: getattr(z.at[key], how)(2 - 1j))(z).tolist() == expected.tolist()


def test_complex_numbers_have_no_least_one():
    """Nor a greatest."""
    with pytest.raises(fw.Unsupported, match=r"at\[..\].min of complex numbers"):
        fw.asarray(np.array([1j])).at[0].min(2)
