"""The driver of the array API suite: its parts, and what is kept of them."""

import pytest

from bench import standard
from bench.standard import Outcome, argument, is_in_shard, kept, merged

NAMES = [f"array_api_tests/test_linalg.py::test_{i}[a -> b]" for i in range(200)]


def test_every_test_is_in_one_shard():
    """Whatever their number, and about as many in each."""
    for count in (1, 7, 48):
        parts = [
            [name for name in NAMES if is_in_shard(name, f"{k + 1}/{count}")] for k in range(count)
        ]
        assert sorted(sum(parts, [])) == sorted(NAMES)
        assert max(map(len, parts)) <= 4 * len(NAMES) / count


def test_what_a_shard_gave_is_not_run_again(tmp_path, monkeypatch):
    """An interrupted run continues; other runs are stored separately."""
    calls = []

    def run(module, suite, examples, shard, workers, files):
        calls.append((module, examples, shard, *files))
        return Outcome(3, ["test_a.py::test_b"], 1, 0.5)

    monkeypatch.setattr(standard, "run", run)
    asked = [("flatweave", 10, "1/2"), ("flatweave", 10, "2/2"), ("numpy", 10, "1/2"),
             ("flatweave", 20, "1/2"), ("flatweave", 20, "1/2", "test_fft.py")]  # fmt: skip
    for _ in range(2):
        outcomes = [
            kept(m, tmp_path, n, shard, 1, tmp_path, files) for m, n, shard, *files in asked
        ]

    assert calls == asked
    assert merged(outcomes[:2]) == Outcome(6, ["test_a.py::test_b"] * 2, 2, 1.0)


@pytest.mark.parametrize(
    ("name", "is_explained"),
    [
        ("test_dlpack.py::test_dunder_dlpack", True),
        ("test_special_cases.py::test_binary[floor_divide(x1_i is +infinity and ..) -> ..]", True),
        ("test_linalg.py::test_solve", False),
    ],
)
def test_failures_have_an_explanation(name, is_explained):
    """By the name of the test, brackets and all."""
    assert bool(argument(name)) == is_explained
