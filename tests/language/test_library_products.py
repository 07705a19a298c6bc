"""Products of floats by NumPy's BLAS: outside of programs, and as steps of them from a size on."""

import functools

import numpy as np
import pytest

import flatweave as fw
from flatweave.base import library_products
from flatweave.base.config import config
from flatweave.base.library_products import FILLS, LARGE, PRODUCTS
from flatweave.base.schedule import schedule_of
from flatweave.frontend.call import eager

DRAW = np.random.default_rng(11)
A, B, C = DRAW.normal(size=(5, 7)), DRAW.normal(size=(7, 6)), DRAW.normal(size=(5, 6))
S = DRAW.normal(size=(2, 3, 4))
S32 = S.astype("f")
Z = A + 1j * DRAW.normal(size=A.shape)
LIBRARY = schedule_of("product=library")


def steps(f, *args):
    """How many steps of the library a program has."""
    return f.stages(*args).text["flat"].count("callback matmul")


def in_program(f, *args, target="cpu"):
    """What a program gives that leaves every product to the library."""
    with config.scoped(schedule=LIBRARY):
        return np.asarray(fw.jit(f, target=target)(*args))


WAYS = {
    "plain": (lambda a, b: a @ b, (A, B), A @ B),
    "transposed": (lambda a, b: a.T @ b.T, (A.T.copy(), B.T.copy()), A @ B),
    "left": (lambda a, b: a.T @ b, (A.T.copy(), B), A @ B),
    "right": (lambda a, b: a @ b.T, (A, B.T.copy()), A @ B),
    "gram": (lambda a: a @ a.T, (A,), A @ A.T),
    "work before": (lambda a, b: (a * 2).T @ b, (A.T.copy(), B), (A * 2) @ B),
    "work after": (lambda a, b, c: fw.tanh(a @ b + c), (A, B, C), np.tanh(A @ B + C)),
    "two": (lambda a, b, c: a @ b + c.T @ a @ b, (A, B, A[:, :5].copy()),
            A @ B + A[:, :5].T @ A @ B),
    "chain": (lambda a, b, c: a @ b @ c.T, (A, B, C), A @ B @ C.T),
    "loop": (lambda a: fw.fori_loop(0, 3, lambda k, x: a @ x, a), (A[:, :5].copy(),),
             np.linalg.matrix_power(A[:, :5], 4)),
    "tensordot": (lambda a, b: fw.tensordot(a, b, axes=1), (A, B), A @ B),
    "einsum": (lambda a, b: fw.einsum("ik,kj->ji", a, b), (A, B), (A @ B).T),
    "written out": (
        lambda a, b: fw.generate((a.shape[0], b.shape[1]), lambda i, j: fw.sum(a[i] * b[:, j])),
        (A, B), A @ B,
    ),
    "complex": (lambda a, b: a @ b, (Z, Z.T.copy()), Z @ Z.T.copy()),
    "complex, transposed": (lambda a, b: a.T @ b.T, (Z.T.copy(), Z), Z @ Z.T),
    "complex, conjugated": (lambda a, b: fw.conj(a).T @ b, (Z, 1j - Z), Z.conj().T @ (1j - Z)),
    "gram of complex": (lambda a: fw.conj(a).T @ a, (Z,), Z.conj().T @ Z),
    "complex, work after": (lambda a, b, c: abs(a @ b + c), (Z, B, C), abs(Z @ B + C)),
    "complex, both factors": (
        lambda a, b: a @ fw.conj(b) + 1j, (Z, Z.T.copy()), Z @ Z.conj().T + 1j
    ),
    "complex, a part": (lambda a, b: fw.real(a @ b), (Z, Z.T.copy()), (Z @ Z.T).real),
    "complex, other signs": (
        lambda a, b: fw.real(a) @ fw.real(b) + fw.imag(a) @ fw.imag(b), (Z, Z.T.copy()),
        Z.real @ Z.real.T + Z.imag @ Z.imag.T,
    ),
    "f32": (lambda a, b: a @ b, (A.astype("f"), B.astype("f")), A.astype("f") @ B.astype("f")),
    "stacks": (lambda a, b: a @ b, (S, S.mT.copy()), S @ S.mT.copy()),
    "stacks of f32, transposed": (lambda a: a.mT @ a, (S32,), S32.mT @ S32),
    "stacks, one for all": (lambda a, b: a @ b.T, (S, B.T.copy()[:, :4].copy()), S @ B[:4]),
    "stacks, work after": (lambda a, b: fw.exp(a @ b.mT), (S, S), np.exp(S @ S.mT)),
    "stacks of complex": (lambda a, b: a @ b.mT, (S * 3j, S + 2j), S * 3j @ (S + 2j).mT),
    "stacks of complex, one for all": (
        lambda a, b: a @ b, (S + 1j, Z.T[:4].copy()), (S + 1j) @ Z.T[:4]
    ),
    "stacks of stacks": (
        lambda a, b: a @ b.mT, (S.reshape(2, 1, 3, 4), S.reshape(2, 1, 3, 4)),
        (S @ S.mT).reshape(2, 1, 3, 3),
    ),
    "many axes": (
        lambda a, b: a @ b.mT, (S.reshape(1, 2, 1, 3, 4), S.reshape(1, 2, 1, 3, 4)),
        (S @ S.mT).reshape(1, 2, 1, 3, 3),
    ),
    "no stack": (lambda a: a @ a.mT, (S[:0],), np.zeros((0, 3, 3))),
    "empty": (lambda a, b: a @ b, (A[:, :0].copy(), B[:0]), np.zeros((5, 6))),
    "none": (lambda a, b: a @ b, (A[:0], B), np.zeros((0, 6))),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_in_programs(way):
    """Whatever is before and after a product, its result has the values and the dtype."""
    f, args, wanted = WAYS[way]
    found = in_program(f, *args)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    rtol = 1e-5 if wanted.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)
    assert steps(fw.jit(f), *args) >= 1


def test_bits_and_transpositions():
    """The bits are the library's; transposed operands are read as they are."""
    for f, args, wanted in (WAYS[way] for way in ("plain", "f32", "gram", "complex")):
        assert in_program(f, *args).tobytes() == wanted.tobytes()
    f = fw.jit(lambda a, b: a.T @ b)
    text = f.stages(B, C.T.copy()).text["flat"]
    assert f"callback {PRODUCTS[True, False, '', False, False]}" in text
    first = text[: text.index("callback")]
    assert "suits library" in first
    assert "sweep" not in first[first.rindex("(() =>") :]


def test_complex_products_are_one_step():
    """Of the arrays as they are; a program that uses the products of parts otherwise has these."""
    ways = [way for way in WAYS if way.startswith(("complex", "stacks of complex"))]
    with config.scoped(schedule=LIBRARY):
        counts = {way: steps(fw.jit(WAYS[way][0]), *WAYS[way][1]) for way in ways}
    assert counts == {
        "complex": 1, "complex, transposed": 1, "complex, conjugated": 1, "complex, work after": 2,
        "complex, both factors": 1, "complex, a part": 2, "complex, other signs": 2,
        "stacks of complex": 1, "stacks of complex, one for all": 1,
    }  # fmt: skip


def test_sizes_decide():
    """From the machine's sizes on; below them the bits are those of a program's own kernels."""
    n = LARGE.extent
    while n**3 < LARGE.multiplications:
        n += 8
    f = fw.jit(lambda a, b: a @ b)
    a, b = DRAW.normal(size=(n, n)), DRAW.normal(size=(n, 40 * n))
    assert np.asarray(f(a, b)).tobytes() == (a @ b).tobytes()
    few = a[: LARGE.extent - 1]
    with config.scoped(schedule=schedule_of("product=kernels")):
        own = np.asarray(f(few, b))
    assert np.asarray(f(few, b)).tobytes() == own.tobytes() != (few @ b).tobytes()


@pytest.fixture
def called(monkeypatch):
    """The numbers of operands of the products that Python calls."""
    found = []

    def noted(fill, factors, out):
        found.append(len(factors))
        return fill(factors, out)

    for name, fill in FILLS.items():
        monkeypatch.setitem(FILLS, name, functools.partial(noted, fill))
    return found


def test_numpys_loop_is_called_without_python(called):
    """Also for products whose zeros count and that have no NaN; of an odd number of floats, too."""
    for way in (
        "plain", "transposed", "left", "right", "gram", "complex", "f32", "empty", "none",
        "no stack",
        "stacks", "stacks of f32, transposed", "stacks, one for all", "stacks of complex",
        "stacks of complex, one for all", "stacks of stacks",
    ):  # fmt: skip
        f, args, wanted = WAYS[way]
        assert in_program(f, *args).tobytes() == wanted.tobytes(), way
    for dtype in (np.float32, np.float64):
        a, seeds = A[:, :3].astype(dtype), C[:, :5].astype(dtype)
        found = in_program(lambda a, seeds: fw.vjp(lambda a: a @ a.T, a)[1](seeds)[0], a, seeds)
        np.testing.assert_allclose(found, (seeds + seeds.T) @ a, rtol=1e-5)
    assert not called


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_python_corrects_products_whose_zeros_count(called, dtype, odd):
    """Where an element is NaN, as of zero times infinity."""
    b, seeds = B[:, :5].astype(dtype), C[:, :5].astype(dtype)
    b[3, 4], seeds[:, 4] = odd, 0
    a = A.astype(dtype)
    found = in_program(lambda a, b, s: fw.vjp(lambda a: a @ b, a)[1](s)[0], a, b, seeds)
    wanted = seeds[:, :4] @ b[:, :4].T
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert called == [2]


def test_fields_that_are_not_known(monkeypatch, called):
    """Python calls the library then, with the same bits."""
    monkeypatch.setattr(library_products, "loops", dict)
    assert in_program(lambda a, b: a @ b * 1.0, A, B).tobytes() == (A @ B).tobytes()
    assert called == [2]


def test_products_in_a_map():
    """Large ones are the library's, small ones the program's, many at once."""
    f = fw.jit(lambda a, b: fw.map(lambda x: x @ b, a))
    n = 2 * round(LARGE.of_stacks ** (1 / 3) / 2 + 1)
    a, b = DRAW.normal(size=(3, n, n)), DRAW.normal(size=(n, n))
    assert np.asarray(f(a, b)).tobytes() == (a @ b).tobytes()
    few = a[:, :, : n // 2].copy(), b[: n // 2]
    with config.scoped(schedule=schedule_of("product=kernels")):
        own = np.asarray(f(*few))
    assert np.asarray(f(*few)).tobytes() == own.tobytes() != (few[0] @ few[1]).tobytes()


@pytest.mark.parametrize("way", ["left", "right"])
def test_zeros_that_count_in_stacks(called, way):
    """Python corrects those matrices that have NaN."""
    a, b, seeds = S.copy(), S.mT.copy(), DRAW.normal(size=(2, 3, 3))
    seeds[1, :, 2], b[1, 0, 2], a[1, 2, 0] = 0, np.inf, np.nan
    seeds[1, 2] = 0
    which = 0 if way == "left" else 1

    def gradient(a, b, seeds):
        return fw.vjp(lambda a, b: a @ b, a, b)[1](seeds)[which]

    found = in_program(gradient, a, b, seeds)
    assert steps(fw.jit(gradient), a, b, seeds) == len(called) == 1
    np.testing.assert_allclose(found, _ours(fw.jit(gradient), a, b, seeds), rtol=1e-12)
    assert np.isfinite(found).all()


def test_what_stays_ours():
    """Integers, other operators, what a reduction reads, and known small extents."""
    whole = A.astype(np.int64)
    for f, args in (
        (lambda a: a @ a.T, (whole,)),
        (lambda a, b: fw.map(lambda row: fw.min(row[:, None] + b, axis=0), a), (A, B)),
        (lambda a, b: fw.argmin(a @ b, axis=1), (A, B)),
        (lambda a: a.T @ fw.ones((5, 3)), (A,)),
    ):  # fmt: skip
        assert steps(fw.jit(f), *args) == 0


def test_a_note_marks_the_step():
    """Which says when it is done."""
    f = fw.jit(lambda a, b: a @ b + 1)
    notes = [str(note) for note in f.stages(A, B).notes]
    wanted = "a step of NumPy's BLAS where the product is large, whose bits it gives"
    assert any(wanted in note for note in notes)
    assert "matmul" in str(fw.explain(f, A, B))


def test_later_processes_know_the_functions():
    """They are registered when the package is imported."""
    assert set(PRODUCTS.values()) == set(FILLS)


@pytest.mark.parametrize("f", [
    lambda a, b: fw.sum(fw.tanh(a @ b)), lambda a, b: fw.sum((a @ b) * C),
    lambda a, b: fw.sum(fw.exp(a.T.T @ b)[1]),
])  # fmt: skip
def test_gradients(f):
    """Of both operands, with the product by the library; as central differences have them."""
    with config.scoped(schedule=LIBRARY):
        fw.check_grads(f, (A, B), order=1)
    both = fw.jit(lambda a, b: fw.grad(f, argnums=(0, 1))(a, b))
    for mine, other in zip(both(A, B), _ours(both, A, B), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def _ours(f, *args):
    with config.scoped(schedule=schedule_of("product=kernels")):
        return f(*args)


def test_zeros_of_a_cotangent():
    """Are left out, whatever they meet, as a program's own kernels have it."""
    a, b = A.copy(), B.copy()
    a[1, 2], a[4, 0], b[3, 3], b[0, 0] = np.inf, np.nan, -np.inf, np.nan
    seeds = C.copy()
    seeds[1], seeds[:, 3], seeds[2, 2] = 0, 0, np.inf

    @fw.jit
    def gradient(a, b, seeds):
        return fw.vjp(lambda a, b: a @ b, a, b)[1](seeds)

    assert steps(gradient, a, b, seeds) == 2
    with config.scoped(schedule=LIBRARY):
        found = gradient(a, b, seeds)
    assert np.isfinite(np.asarray(found[0])[1]).all()
    for mine, other in zip(found, _ours(gradient, a, b, seeds), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_a_large_gradient():
    """Above the size from which on the library has the product."""
    n = 200
    a, b = DRAW.normal(size=(n, n)), DRAW.normal(size=(n, n))
    found = fw.jit(fw.grad(lambda a, b: fw.sum((a @ b) ** 2), argnums=(0, 1)))(a, b)
    np.testing.assert_allclose(found[0], 2 * (a @ b) @ b.T, rtol=1e-9)
    np.testing.assert_allclose(found[1], 2 * a.T @ (a @ b), rtol=1e-9)


def test_outside_of_programs(monkeypatch):
    """NumPy has the call, with its bits; nothing is traced."""
    monkeypatch.setattr(eager, "_entry", None)
    stack = DRAW.normal(size=(2, 3, 4))
    for mine, theirs in (
        (fw.matmul(A, B), A @ B), (fw.asarray(A) @ fw.asarray(B), A @ B),
        (fw.matmul(A.T[::2].T, B[::2]), A.T[::2].T @ B[::2]), (fw.dot(A, B[:, 0]), A @ B[:, 0]),
        (fw.dot(A[0], A[0]), np.dot(A[0], A[0])), (fw.matmul(Z, B), Z @ B),
        (fw.matmul(stack, stack[0].T), stack @ stack[0].T),
        (fw.dot(stack, B[:4]), np.dot(stack, B[:4])),
        (fw.tensordot(stack, stack, axes=((0, 2), (0, 2))),
         np.tensordot(stack, stack, axes=((0, 2), (0, 2)))),
    ):  # fmt: skip
        assert isinstance(mine, fw.Array)
        assert np.asarray(mine).tobytes() == np.ascontiguousarray(theirs).tobytes()
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype


def test_stacks_of_small_products():
    """By a program where there are many of few multiplications; else by NumPy."""
    a, b = DRAW.normal(size=(5000, 2, 2, 3)), DRAW.normal(size=(5000, 2, 3, 4))
    for x, y in ((a, b), (a[..., :1], b[..., :1, :1]), (a, b[0, 0]), (a.astype("f"), b),
                 (a, b[:, :1]), (a, b[0, 0, :, 0])):  # fmt: skip
        found = fw.matmul(x, y)
        assert found.dtype == (x @ y).dtype
        np.testing.assert_allclose(found, x @ y, rtol=1e-12, atol=1e-12)
    wide = DRAW.normal(size=(1000, 17, 17))
    for x, y in ((wide, wide), (a[:400], b[:400]), (a + 1j, b[:1]), (a, b + 1j)):
        assert np.asarray(fw.matmul(x, y)).tobytes() == (x @ y).tobytes()
    with pytest.raises(fw.ShapeError):
        fw.matmul(a, b[:, :, :2])


def test_what_numpy_refuses():
    """Raises our errors; other dtypes and long sums of few results are programs."""
    with pytest.raises(fw.ShapeError, match="extents that meet"):
        fw.matmul(A, A)
    with pytest.raises(fw.ShapeError, match="Multiply a number"):
        fw.matmul(A, np.array(2.0))
    with pytest.raises(fw.ArgumentError, match="as many axes"):
        fw.tensordot(A, B, axes=4)
    assert fw.matmul(np.ones((2, 2), bool), np.ones((2, 2), "i1")).dtype == np.int8
    assert fw.matmul(np.ones((2, 2), "f"), np.ones((2, 2), "i8")).dtype == np.float64
