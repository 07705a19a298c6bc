"""The random nests themselves: reproducible, of every kind, and made small when they fail."""

import contextlib
import io
import itertools

import numpy as np

import flatweave as fw
from tests.nests import plain
from tests.nests.check import Failure, Run, difference
from tests.nests.program import draw, expected, passed, random_nest, source_of
from tests.nests.report import report
from tests.nests.shrink import shrunk
from tests.nests.types import Row
from tests.nests.vocabulary import INSIDE, called


def test_a_seed_is_a_nest():
    """The same text and the same arguments each time."""
    one, other = random_nest(7), random_nest(7)

    assert source_of(one) == source_of(other)
    assert report(Failure(one, draw(one, 2), Run(), "", "")) == report(
        Failure(other, draw(other, 2), Run(), "", "")
    )


def test_every_operation_turns_up():
    """Among a few hundred nests."""
    used = {name for seed in range(400) for name in called(source_of(random_nest(seed)))}

    assert used >= set(INSIDE)


def test_arguments_mean_what_is_passed():
    """Matrices, rank 3, Ragged values, Ragged of Ragged, also without rows."""
    for seed in range(150):
        nest = random_nest(seed)
        given = draw(nest, seed % 6)
        for value, arg, ours in zip(given.values, nest.args, passed(nest, given), strict=True):
            again = ours.tolist() if isinstance(arg.type, Row) else ours
            assert again == value


def test_differences_are_seen():
    """Of values, lengths and dtypes."""
    nest = next(n for n in map(random_nest, itertools.count()) if n.body.type == Row(Row("int64")))
    rows = [[np.int64(1)], [np.int64(2), np.int64(3)]]

    assert not difference(nest, fw.ragged([[1], [2, 3]]), rows)
    assert "found [[1], [2, 4]]" in difference(nest, fw.ragged([[1], [2, 4]]), rows)
    assert "found [[1, 2], [3]]" in difference(nest, fw.ragged([[1, 2], [3]]), rows)
    assert "float64" in difference(nest, fw.ragged([[1.0], [2.0, 3.0]]), rows)


def test_a_failure_is_made_small():
    """What it does not need is left out; the report is a program that runs."""

    def fails(nest, given):
        sorts, some = "fw.sort(" in source_of(nest), given.shape.rows > 1
        expected(nest, given)
        said = Failure(nest, given, Run("interp"), "it sorts", "difference")
        return said if sorts and some else None

    def reads_little(nest):
        return all(isinstance(arg.type, Row) for arg in nest.args)

    nests = (n for n in map(random_nest, itertools.count()) if reads_little(n))
    first = next(
        f for n in nests if len(source_of(n)) > 500 and (f := fails(n, draw(n, 1))) is not None
    )
    found = shrunk(first, fails)
    text = report(found)

    assert text.count("fw.sort(") == 1
    assert len(source_of(found.nest)) < 200
    assert found.given.shape.rows == 2
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(compile(text, "<report>", "exec"), {})
    assert shown.getvalue()


def test_plain_scans_and_sorts():
    """Against results that are written down here."""
    assert plain.scan(True, True, lambda a, b: a - b, 1, [5, 3, 2]) == [2, 1, 1]
    assert plain.scan(False, False, lambda a, b: a + b, 10, [1, 2]) == [11, 13]
    assert plain.segmented_reduce(lambda a, b: a + b, 1, [0, 0, 1], [1, 2, 3]) == [4, 4]
    assert plain.by(True, lambda x: x // 10, [10, 25, 21, 13]) == [25, 21, 10, 13]
    assert plain.scatter([0, 0, 0], [2, -1, 5], [7, 8, 9]) == [0, 0, 7]
    assert plain.cut([1, 2, 3, 4], -3, -1) == [2, 3]
