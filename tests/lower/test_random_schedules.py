"""Schedules that are changed at random: refused, or obeyed with the same values."""

import random
import re

import numpy as np
import pytest

import flatweave as fw

XS = np.arange(1000) % 17
GRID = XS.reshape(25, 40)
PROGRAMS = {
    "map": (lambda xs: xs * 2, XS),
    "sum": (lambda xs: fw.sum(xs), XS),
    "argmax": (lambda xs: fw.argmax(xs), XS),
    "scan": (lambda xs: fw.scan(fw.add, 0, xs), XS),
    "filter": (lambda xs: fw.filter(lambda x: x > 5, xs), XS),
    "neighbours": (lambda xs: fw.stencil(lambda n: n[-2] + n[1], xs, 5), XS),
    "stencil": (lambda m: fw.stencil(lambda n: n[-1, 0] - n[1, 0] * n[0, 1], m, (3, 3)), GRID),
    "sums of rows": (lambda m: fw.map(fw.sum, m), GRID),
    "rows less their greatest": (lambda m: m - fw.map(fw.max, m)[:, None], GRID),
    "transposed": (lambda m: fw.transpose(m) * 2, GRID),
    "scans of rows": (lambda m: fw.map(lambda row: fw.scan(fw.add, 0, row), m), GRID),
    "product": (lambda m: m @ m.T, GRID),
    "three axes": (
        lambda xs: fw.generate((5, 6, 7), lambda i, j, k: xs[i + j] * xs[k] + i), XS,
    ),
}  # fmt: skip


def changed(text, rng):
    """The text with some steps changed."""

    new = {
        "axis": rng.choice(["space", "last", "fold"]), "width": rng.choice([1, 2, 8, 16, 64]),
        "tail": rng.choice(["scalar", "shift", "shift-or-mask"]), "peel": rng.choice([0, 1, 9]),
    }  # fmt: skip
    new = {word: new[word] for word in rng.sample(list(new), rng.choice([1, 1, 2, 4]))}

    def lanes(found):
        words = dict(word.split("=") for word in found[1].split())
        return " ".join(["vectorize", *(f"{k}={v}" for k, v in {**words, **new}.items())])

    if rng.random() < 0.2:
        least = rng.choice([1, 8, 64, 100, 512])
        text = re.sub("least=.* most=[0-9]+", f"least={least} most={least * 8}", text)
    if rng.random() < 0.2:
        text = re.sub("( *)(split .*)\\n.*reorder.*\\n", "", text)
    if rng.random() < 0.5:
        head, *versions = re.split("(?m)^(?=    version)", text)
        kept = [version for version in versions[:-1] if rng.random() < 0.5]
        text = "".join([head, *kept, versions[-1]])
    return re.sub("vectorize (.*)", lanes, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_do_not_depend_on_the_schedule(name):
    """Each text is obeyed, or refused with a reason, and some are obeyed."""
    fn, xs = PROGRAMS[name]
    f, rng, obeyed = fw.jit(fn, target="cpu"), random.Random(name), 0
    text, wanted = f.stages(xs).text["plan"], np.asarray(f(xs))
    for _ in range(60):
        try:
            with fw.schedule(changed(text, rng)):
                found = np.asarray(f(xs))
        except fw.ArgumentError:
            continue
        obeyed += 1
        assert np.array_equal(found, wanted)
    assert obeyed
