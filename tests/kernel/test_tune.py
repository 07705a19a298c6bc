"""The fastest of several kernels is found, checked against the others, and kept."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.errors import ArgumentError, KernelError, ShapeError
from flatweave.runtime import tuned
from tests.kernel.test_folds import plus

ROOT = Path(__file__).resolve().parents[2]
XS = np.arange(4096)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Nothing has been kept."""
    monkeypatch.setattr(tuned, "_CHOSEN", {})
    monkeypatch.setattr(tuned, "folder", lambda: tuned.TunedFolder(tmp_path / "t", tuned.LIMIT))


def sums(size, each):
    """Sums of blocks, combined in a second launch."""

    @fk.kernel
    def total(xs):
        def block(part):
            chunks = fk.coalesce(each, part)
            part = fk.force(fk.pconcat_map(lambda chunk: fk.seq_reduce(plus, chunk), chunks))
            while part.length > 1:
                part = fk.force(fk.zip_with(plus, *fk.halve(part)))
            return part

        parts = fk.force(fk.pconcat_map(block, fk.split_up(size, xs)))
        return fk.generate(1, lambda _: fk.seq_reduce(plus, parts))

    return total


def slow(xs):
    """The same by one thread, many times over."""
    def once(_, s):
        return fk.seq_reduce(plus, xs) + s * 0

    return fk.generate(1, lambda _: fk.seq_for(0, 300, once, 0))


def test_the_fastest_is_chosen_and_called():
    """Of kernels with very different times."""
    found = fk.tune([fk.kernel(slow), sums(1024, 16)], (XS,), budget=2)
    assert found.kernel.__name__ == "total"
    assert found(XS) == XS.sum() and found(XS[:1024]) == XS[:1024].sum()
    assert "slow" in str(found) and "kept from now on" in str(found)


def test_all_combinations_of_values_are_variants():
    """Unsuitable variants are reported; the chosen one gives the right values."""
    found = fk.tune(fk.variants(sums, size=[1024, 4096, 5000], each=[8, 16]), (XS,), budget=1)
    assert found.best["size"] in (1024, 4096) and found.best["each"] in (8, 16)
    assert len(found.rows) == 6
    assert sum("leaves some over" in time or "cuts" in time for _, time in found.rows) == 2


def test_what_was_measured_holds_for_the_next_call():
    """Nothing is measured again, unless it is wished."""
    kernels = fk.variants(sums, size=[1024, 2048], each=[8])
    first = fk.tune(kernels, (XS,), budget=1)
    second = fk.tune(fk.variants(sums, size=[1024, 2048], each=[8]), (XS,))
    assert second.best == first.best and second.said == "as measured before"
    assert fk.tune(kernels, (XS,), budget=1, again=True).rows


def test_other_sizes_or_kernels_are_measured_anew():
    """They are stored separately."""
    fk.tune(fk.variants(sums, size=[1024], each=[8, 16]), (XS,), budget=1)
    assert fk.tune(fk.variants(sums, size=[1024], each=[8, 16]), (XS[:2048],), budget=1).rows
    assert fk.tune(fk.variants(sums, size=[1024], each=[8, 32]), (XS,), budget=1).rows


def test_what_is_damaged_on_disk_is_measured_anew(tmp_path, monkeypatch):
    """A stored choice that is not among the variants is ignored."""
    fk.tune([sums(1024, 8)], (XS,), budget=1)
    tuned._CHOSEN.clear()
    for file in (tmp_path / "t").iterdir():
        file.write_bytes(b"no choice")
    assert fk.tune([sums(1024, 8)], (XS,), budget=1).rows


def test_variants_that_disagree_are_an_error():
    """One of them is wrong, and which is not known."""
    with pytest.raises(KernelError, match="gives another result than"):
        fk.tune([sums(1024, 8), fk.kernel(lambda xs: fk.take(1, xs))], (XS,), budget=1)


def test_floats_may_differ_by_the_rounding_of_another_order():
    """As sums in another order do."""
    xs = np.random.default_rng(1).random(4096).astype(np.float32)
    found = fk.tune(fk.variants(sums, size=[1024, 4096], each=[8, 16]), (xs,), budget=1)
    assert np.allclose(found(xs), xs.sum(), rtol=1e-4)


def test_where_no_variant_suits_the_first_error_is_raised():
    """With its line and remedy."""
    with pytest.raises(ShapeError):
        fk.tune([sums(5000, 8), sums(6000, 8)], (XS,), budget=1)


@pytest.mark.parametrize("kernels, args", [([], (XS,)), ([3], (XS,)), ([sums(1024, 8)], XS)])
def test_what_is_no_kernel_and_no_tuple_is_refused(kernels, args):
    """Before anything runs."""
    with pytest.raises(ArgumentError):
        fk.tune(kernels, args)


def test_a_later_process_finds_the_choice(tmp_path):
    """The second one measures nothing."""
    program = """
        import numpy as np
        from flatweave import kernel as fk
        def make(size):
            @fk.kernel
            def blocks(xs):
                return fk.pconcat_map(lambda part: fk.force(part), fk.split_up(size, xs))
            return blocks
        print(fk.tune(fk.variants(make, size=[64, 128]), (np.arange(1024),), budget=1).said)
    """
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("FLATWEAVE_NO_CACHE", None)
    said = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip
    assert said == ["kept from now on", "as measured before"]


def test_the_same_in_the_simulator():
    """The target in force is tuned for; here that is the simulator."""
    with fw.target("interp"):
        found = fk.tune(fk.variants(sums, size=[64], each=[2, 4]), (XS[:128],), budget=1)
        assert found(XS[:128]) == XS[:128].sum()
