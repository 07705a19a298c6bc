"""What tests/language calls, made once more in chunks: which programs have a rule, which not.

    python -m tests.cluster.language tests/language/test_nests.py --rows 7 --workers 2

Every call of a jitted or public function there is made again with its arrays cut, in this process
or by the processes of a Dask cluster; what it gives must be the same, floats up to rounding, and
what it raises. What has no rule is counted by its message, and so is what is not made again. Tests
that count calls, or ask on which line one stands, may fail; what counts are the calls.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("FLATWEAVE_VERIFY", "1")  # before the first import of flatweave

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import CHOSEN
from flatweave.frontend.call.operation import EVALUATOR
from flatweave.frontend.values.array import HostArray, Tracer
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.jit import Jitted

MOST, CHUNKS = 4096, 400
"""Elements and chunks of an array up to which a call is made once more; those of 64 chunks are."""

EXPLAINED = {
    "test_numbers.py::test_an_integer_that_fits_is_a_value_of_the_dtype[histogram]":
        "2 is no neutral element of add",
    "test_nests.py::test_an_operator_reads_what_is_sorted_beforehand":
        "what chunks make of segments is combined in rounds, which take operators that need memory",
    "test_strided_writes.py::test_steps_of_every_kind": "a * 3 + b is not associative",
    "test_operators.py::test_nothing_is_tried_unless_asked_for":
        "an average is not associative; in chunks of one element there are no three to try it on",
    "test_uneven_rows.py::test_sizes_that_cannot_be_counted":
        "a chunk counts what its own elements expand to: there is no memory for that",
    **dict.fromkeys(
        [f"test_standard.py::test_as_numpy[{target}-unstack]" for target in ("cpu", "interp")],
        "as many results as there are rows",
    ),
}  # fmt: skip
"""Calls that differ, by the beginning of the test's name after its folder, and why they may."""


class InChunks:
    """A plugin of pytest; `found` counts what became of calls."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.found = Counter[str]()
        self.wrong: list[str] = []
        self._test = ""
        self._is_busy = False
        self._has_large = False
        self._call: Any = Jitted.__call__
        self._evaluate = EVALUATOR[0]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """Watch the calls of one test."""
        self._test = item.nodeid
        Jitted.__call__ = lambda f, *args, **kwargs: self._jitted(f, args, kwargs)  # type: ignore[method-assign,assignment]
        EVALUATOR[0] = self._evaluated
        try:
            return (yield)
        finally:
            Jitted.__call__ = self._call  # type: ignore[method-assign]
            EVALUATOR[0] = self._evaluate

    def _jitted(self, f: Any, args: Any, kwargs: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(f, *args, **kwargs)

        if innermost() is not None:
            return call(*args, **kwargs)
        if f.donated:
            self.found["left out: they give arrays away"] += 1
            return call(*args, **kwargs)
        return self._twice(call, args, kwargs, f)

    def _evaluated(self, known: Any, args: Any, kwargs: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._evaluate(known, args, kwargs)

        return self._twice(call, args, kwargs)

    def _twice(self, call: Any, args: Any, kwargs: Any, f: Any = None) -> Any:
        """What a call gives or raises; another one in chunks must do the same."""
        if self._is_busy:
            return call(*args, **kwargs)
        if config.target == "interp" or config.schedule != CHOSEN:
            self.found["left out: interpreted, or divided as one machine is told to"] += 1
            return call(*args, **kwargs)
        self._is_busy, self._has_large = True, False
        try:
            cut = [self._cut(arg) for arg in args]
            named = {name: self._cut(arg) for name, arg in kwargs.items()}
            pairs = [*zip(cut, args, strict=True), *((named[k], kwargs[k]) for k in kwargs)]
            is_cut = any(mine is not arg for mine, arg in pairs)
            raised, wanted = None, None
            try:
                wanted = call(*args, **kwargs)
                return wanted
            except fw.UserError as error:
                raised = error
                raise
            finally:
                if is_cut and (raised is not None or wanted is not None):
                    traces = f.traces if f else 0
                    self._again(lambda: call(*cut, **named), wanted, raised)
                    if f:
                        f.traces = traces
                elif self._has_large:
                    self.found["left out: their arrays are large"] += 1
        finally:
            self._is_busy = False

    def _again(self, call: Any, wanted: Any, raised: Any) -> None:
        try:
            mine = call()
        except Exception as error:
            is_same = type(error) is type(raised)
            if isinstance(error, fw.Unsupported) and not is_same:
                self.found["without a rule: " + error.message] += 1
            else:
                self._note(is_same, f"{type(error).__name__}: {error}")
        else:
            same = raised is None and _same(mine, wanted)
            self._note(same, f"different, not {type(raised).__name__}" if raised else "different")

    def _note(self, is_same: bool, what: str) -> None:
        name = self._test.rpartition("/")[2]
        why = next((EXPLAINED[begin] for begin in EXPLAINED if name.startswith(begin)), None)
        if is_same or why is None:
            self.found["equal" if is_same else "different"] += 1
        else:
            self.found[f"explained: {why}"] += 1
        if not is_same and why is None:
            self.wrong.append(f"{self._test}: {what.splitlines()[0]}")

    def _cut(self, value: Any) -> Any:
        """An argument with its arrays in chunks; as it is, where it has none."""
        if isinstance(value, fw.Ragged):
            return value if isinstance(value.offsets, Tracer) else self._small(value)
        if isinstance(value, tuple | list | dict):
            leaves, tree = flatten(value)
            cut = [self._cut(leaf) for leaf in leaves]
            changed = any(a is not b for a, b in zip(cut, leaves, strict=True))
            return unflatten(tree, cut) if changed and not tree.irregular else value
        if isinstance(value, np.ndarray | HostArray) and value.ndim:
            return self._small(np.asarray(value))
        return value

    def _small(self, value: Any) -> Any:
        """An array in chunks, if it is small."""
        most = max(MOST, 64 * self.rows)
        if value.size <= most and len(value) <= CHUNKS * self.rows:
            return fw.Chunked.cut(value, self.rows)
        self._has_large = True
        return value


def _same(mine: Any, theirs: Any) -> bool:
    """Whether two results are equal, up to rounding."""
    if isinstance(theirs, fw.Ragged):
        mine = mine if isinstance(mine, fw.Ragged) else mine.load(0, len(mine))
    pairs = zip(flatten(mine)[0], flatten(theirs)[0], strict=True)
    return all(_alike(a, b) for a, b in pairs)


def _alike(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, fw.Ragged):
        return _same(mine, theirs)
    a, b = np.asarray(mine), np.asarray(theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if b.dtype.kind in "fcV":
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        near = 1e-12 if b.dtype.itemsize > 4 and b.dtype.kind == "f" else 1e-2
        return np.allclose(a.astype(wide), b.astype(wide), near, near, equal_nan=True)
    return np.array_equal(a, b)


def run(paths: list[str], rows: int, workers: int, chosen: str) -> InChunks:
    """Those of the tests of some files that `chosen` names, each call made twice."""
    plugin = InChunks(rows)
    options = ["-q", "-m", "not slow", "--no-header", "-p", "no:cacheprovider", "-k", chosen]
    with _processes(workers) if workers else contextlib.nullcontext():
        pytest.main([*options, *paths], plugins=[plugin])
    return plugin


@contextlib.contextmanager
def _processes(workers: int) -> Iterator[None]:
    """Within it chunks are computed by several processes, with one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        fw.on(client),
    ):
        yield


def main() -> None:
    """What became of all calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rows", type=int, default=7)
    parser.add_argument("--workers", type=int, default=0, help="processes of a cluster; 0: here")
    parser.add_argument("-k", default="", metavar="EXPRESSION", help="which tests, as in pytest")
    args = parser.parse_args()
    plugin = run(args.paths, args.rows, args.workers, args.k)
    for what, count in plugin.found.most_common():
        print(f"{count} calls {what}")
    print("\n".join(sorted(set(plugin.wrong))))
    sys.exit(bool(plugin.wrong))


if __name__ == "__main__":
    main()
