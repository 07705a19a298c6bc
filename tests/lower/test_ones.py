"""Rows of one element: a map over them, chosen when the program runs, with the same results."""

import numpy as np
import pytest

import flatweave as fw

MINUS = np.float32(-0.0)
PROGRAMS = {
    "sums": (lambda m: fw.map(fw.sum, m), lambda m: m.sum(1)),
    "scans": (lambda m: fw.map(fw.cumsum, m), lambda m: m.cumsum(1)),
    "sums from 3": (lambda m: fw.map(lambda r: fw.reduce(fw.add, 3, r), m), lambda m: 3 + m.sum(1)),
    "scans from 3": (
        lambda m: fw.map(lambda r: fw.scan(fw.add, 3, r), m),
        lambda m: 3 + m.cumsum(1),
    ),
    "exclusive": (
        lambda m: fw.map(lambda r: fw.scan(fw.add, 0, r, exclusive=True), m),
        lambda m: m.cumsum(1) - m,
    ),
    "backwards": (
        lambda m: fw.map(lambda r: fw.scan(fw.add, 0, r, reverse=True), m),
        lambda m: m[:, ::-1].cumsum(1)[:, ::-1],
    ),
    "two folds": (
        lambda m: fw.map(lambda r: fw.sum(r) / fw.max(fw.abs(r), initial=1), m),
        lambda m: m.sum(1) / np.abs(m).max(1, initial=1),
    ),
    "flags": (
        lambda m: fw.map(lambda r: fw.any(r * r > fw.cos(r)), m),
        lambda m: (m * m > np.cos(m)).any(1),
    ),
}
SHAPES = [(0, 0), (0, 1), (1, 1), (3, 1), (127, 1), (129, 1), (1025, 1), (4, 0), (1, 5), (40, 3)]


def whole_numbers(shape):
    """Sums of them are exact in any order."""
    return np.random.default_rng(1).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.sampled
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_of_few_elements(name, target, threads):
    """One program, for rows of none, of one, and of more."""
    program, plain = PROGRAMS[name]
    program = fw.jit(program, target=target)

    for shape in SHAPES:
        rows = whole_numbers(shape)
        assert np.allclose(program(rows), plain(rows)), shape


@pytest.mark.slow
@pytest.mark.parametrize("count", [1_048_575, 1_048_576, 1_300_001])
@pytest.mark.parametrize("name", ["sums", "scans", "flags"])
def test_many_rows_of_one_element(name, count):
    """Results that go around the caches, in blocks that begin on cache lines."""
    program, plain = PROGRAMS[name]
    rows = whole_numbers((count, 1))

    assert np.array_equal(fw.jit(program)(rows), plain(rows))


def test_an_axis_around_rows_of_one_element():
    """The last axis is left out; those around it stay."""
    cube = whole_numbers((30, 20, 1))

    assert np.array_equal(fw.map(lambda m: fw.map(fw.cumsum, m), cube), cube)
    assert np.array_equal(fw.map(lambda m: fw.map(fw.sum, m), cube), cube[:, :, 0])


def test_a_fold_within_a_branch_stays(target):
    """Then the elements are folds as before, of rows of any length."""

    def program(rows, xs):
        def one(row):
            return fw.sum(fw.map(lambda x: fw.cond(x > 0, lambda: x + fw.min(xs), lambda: x), row))

        return fw.map(one, rows)

    for length in (1, 2):
        rows, xs = whole_numbers((6, length)), np.arange(3.0, 3.0 + length, dtype=np.float32)
        expected = np.where(rows > 0, rows + 3, rows).sum(1)
        assert np.array_equal(fw.jit(program, target=target)(rows, xs), expected)
        same = fw.jit(
            lambda m, xs: fw.map(
                lambda _: fw.sum(
                    fw.map(lambda x: fw.cond(x > 0, lambda: fw.min(xs), lambda: x), xs)
                ),
                m,
            ),
            target=target,
        )
        assert np.array_equal(same(rows, xs), np.full(6, 3.0 * length))


def test_a_sum_of_one_element_begins_with_the_neutral_one():
    """0.0 + -0.0 is 0.0; a scan gives the element as it is."""
    rows = np.full((5, 1), MINUS)

    assert not np.signbit(fw.map(fw.sum, rows)).any()
    assert np.signbit(fw.map(fw.cumsum, rows)).all()


@pytest.mark.parametrize("name", ["sums", "scans", "two folds"])
def test_the_reason_is_told(name):
    """Such rows have a separate kernel, and notes say when it ran; it is no further pass."""
    program = fw.jit(PROGRAMS[name][0])
    program(whole_numbers((200, 1)))
    stages = program.stages(whole_numbers((200, 1)))

    assert stages.kernels == 1
    assert any("rows have one element each" in note for note in stages.notes)


@pytest.mark.usefixtures("compiled_anew")
def test_longer_rows_have_no_such_reason():
    """What is not needed is not compiled."""
    program = fw.jit(PROGRAMS["sums"][0])
    program(whole_numbers((200, 2)))

    assert not any("one element" in n for n in program.stages(whole_numbers((200, 2))).notes)


@pytest.mark.sampled
def test_products_with_one_column(target, threads):
    """The same program for others, with rows of the first as they are, and turned."""
    products = fw.jit(lambda a, b, c: (a @ b, a.T @ c))
    for shape in ((1, 1), (0, 3), (3, 0), (5, 17), (70, 300)):
        for columns in (1, 0, 2):
            a = whole_numbers(shape)
            b, c = whole_numbers((shape[1], columns)), whole_numbers((shape[0], columns))

            for ours, theirs in zip(products(a, b, c), (a @ b, a.T @ c)):
                assert np.array_equal(ours, theirs), shape


def test_a_fold_of_one_column_reports_the_first_element_outside(target):
    """By its row, as with more columns."""
    f = fw.jit(lambda xs, m: fw.generate(
        (5, m), lambda i, j: fw.sum(fw.generate(40, lambda k: xs[i * 40 + k + j]))))  # fmt: skip
    xs = np.arange(200)

    assert np.array_equal(f(xs, 1), xs.reshape(5, 40).sum(axis=1)[:, None])
    with pytest.raises(IndexError, match="index 190 is outside"):
        f(xs[:190], 1)
    with pytest.raises(IndexError, match="index 200 is outside"):
        f(xs, 2)


def test_one_column_is_no_row():
    """Lanes are along the fold, or along the rows, where they would be idle."""
    text = fw.jit(lambda a, b: a @ b).stages(np.ones((3, 4)), np.ones((4, 5))).text["plan"]

    assert "axis=last" in text and "axis=fold" in text
