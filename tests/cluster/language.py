"""What tests/language calls, made once more in chunks: which programs have a rule, which not.

    python -m tests.cluster.language tests/language/test_nests.py --rows 7

Every call of a jitted function that gives a result there is made again with its arrays cut; what it
gives must be the same, up to rounding. What has no rule is counted by its message.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.values.array import HostArray, Tracer
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.jit import Jitted

MOST, CHUNKS = 4096, 400
"""Elements and chunks of an array up to which a call is made once more."""


class InChunks:
    """A plugin of pytest; `found` counts what became of calls."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.found = Counter[str]()
        self.wrong: list[str] = []
        self._test = ""
        self._call: Any = Jitted.__call__

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """Watch the calls of one test."""
        self._test = item.nodeid
        Jitted.__call__ = lambda f, *args, **kwargs: self._twice(f, args, kwargs)  # type: ignore[method-assign,assignment]
        try:
            return (yield)
        finally:
            Jitted.__call__ = self._call  # type: ignore[method-assign]

    def _twice(self, f: Any, args: Any, kwargs: Any) -> Any:
        wanted = self._call(f, *args, **kwargs)
        if innermost() is None and not kwargs and not f.static and not f.donated and not f.target:
            cut = [self._cut(arg) for arg in args]
            if any(mine is not arg for mine, arg in zip(cut, args, strict=True)):
                self._again(f, cut, wanted)
        return wanted

    def _again(self, f: Any, args: Any, wanted: Any) -> None:
        traces = f.traces
        try:
            mine = self._call(f, *args)
        except fw.Unsupported as error:
            self.found["without a rule: " + error.message] += 1
            return
        except Exception as error:
            self.found["raised"] += 1
            self.wrong.append(f"{self._test}: {type(error).__name__}: {str(error).splitlines()[0]}")
            return
        finally:
            f.traces = traces
        same = _same(mine, wanted)
        self.found["equal" if same else "different"] += 1
        if not same:
            self.wrong.append(f"{self._test}: different")

    def _cut(self, value: Any) -> Any:
        """An argument with its arrays in chunks; as it is, where it has none."""
        if isinstance(value, fw.Ragged):
            is_small = not isinstance(value.offsets, Tracer) and value.size <= MOST
            return self._small(value) if is_small else value
        if isinstance(value, tuple | list | dict):
            leaves, tree = flatten(value)
            cut = [self._cut(leaf) for leaf in leaves]
            changed = any(a is not b for a, b in zip(cut, leaves, strict=True))
            return unflatten(tree, cut) if changed and not tree.irregular else value
        if isinstance(value, np.ndarray | HostArray) and value.ndim and value.size <= MOST:
            return self._small(np.asarray(value))
        return value

    def _small(self, value: Any) -> Any:
        """A small array in chunks."""
        few = len(value) <= CHUNKS * self.rows
        return fw.Chunked.cut(value, self.rows) if few else value


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


def run(paths: list[str], rows: int) -> InChunks:
    """The tests of some files, each call made twice."""
    plugin = InChunks(rows)
    options = ["-q", "-m", "not slow", "--no-header", "-p", "no:cacheprovider"]
    pytest.main([*options, *paths], plugins=[plugin])
    return plugin


def main() -> None:
    """What became of all calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rows", type=int, default=7)
    args = parser.parse_args()
    plugin = run(args.paths, args.rows)
    for what, count in plugin.found.most_common():
        print(f"{count} calls {what}")
    print("\n".join(sorted(set(plugin.wrong))))
    sys.exit(bool(plugin.wrong))


if __name__ == "__main__":
    main()
