"""Schedules as text: read back, obeyed where the laws of a sweep allow it, or refused."""

import re
from enum import Enum
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw
from flatweave.lower.schedule.plan import SweepPlan, parse_plans, print_plans
from flatweave.terms.traverse import walk_lets

XS = np.arange(1000, dtype=np.float64) % 17
GRID = XS.reshape(25, 40)


def values_of(hint):
    """Anything that a field of this type may be."""
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=3).map(tuple)
    if get_args(hint):
        return st.one_of(map(values_of, get_args(hint)))
    if hasattr(hint, "__fields__"):
        return st.builds(hint, **{k: values_of(v) for k, v in get_type_hints(hint).items()})
    if issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    kinds = {bool: st.booleans(), int: st.integers(), str: st.sampled_from(["plain", "a-b"])}
    return kinds[hint]


@given(st.dictionaries(st.sampled_from(["t_9", "xs"]), values_of(SweepPlan), max_size=2))
def test_every_plan_is_read_back(plans):
    """Whatever its steps and guards are, sensible or not."""
    assert parse_plans(print_plans(plans)) == plans


def plan_text(f, *args):
    """The chosen plans."""
    return f.stages(*args).text["plan"]


def forced(f, text, *args):
    """The result by a schedule, which is found in the plan that is obeyed."""
    with fw.schedule(text):
        assert plan_text(f, *args) == text
        return np.asarray(f(*args))


def jit(fn, **options):
    """For the target that has most steps."""
    return fw.jit(fn, target="cpu", **options)


def test_a_width_is_obeyed():
    """In the kernel, too; what is compiled without the text is as before."""
    f = jit(lambda xs: xs * 2)
    text = plan_text(f, XS)
    narrow = re.sub("width=[0-9]+", "width=4", text)
    assert narrow != text
    assert np.array_equal(forced(f, narrow, XS), XS * 2)
    with fw.schedule(narrow):
        unit = f.stages(XS).executable.unit.complete()
    widths = {let.op.width for k in unit.kernels for let in walk_lets(k.body)
              if let.op.name == "lanes"}  # fmt: skip
    assert widths == {1, 4}
    assert plan_text(f, XS) == text


STENCIL = lambda xs: fw.stencil(lambda n: n[-1, 0] - n[1, 0] + 3 * n[0, -1] * n[0, 1], xs, (3, 3))
CHANGES = {
    "tail": ("tail=shift ", ""),
    "peel": (" peel=1", ""),
    "farther": ("peel=1", "peel=7"),
    "panels": ("by=512", "by=32"),
    "width": ("width=([0-9]+)", lambda found: f"width={int(found[1]) // 2}"),
    "blocks": ("bind least=[0-9]+ most=[0-9]+", "bind least=64 most=128"),
    "axis": ("split .*\n *reorder.*\n *vectorize .*(width=[0-9]+).*", r"vectorize axis=space \1"),
    "no stream": ("version name=streaming(.|\n)*?version name=plain", "version name=plain"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_step_leaves_the_values(name):
    """Of a stencil, whose schedule has most of the steps."""
    f = jit(STENCIL)
    old, new = CHANGES[name]
    text = plan_text(f, GRID)
    changed = re.sub(old, new, text)
    assert changed != text
    if name == "axis":  # short rows are no longer another case, and none need be whole steps
        changed = re.sub(" *version.*\\n *guard .*below(.|\\n)*?(?= *version)", "", changed)
        changed = re.sub(" multiple=[0-9]+", "", changed)

    assert np.array_equal(forced(f, changed, GRID), np.asarray(f(GRID)))


PRODUCT = lambda a, b: fw.map(lambda r: fw.map(lambda c: fw.sum(r * c), fw.transpose(b)), a)
TILES = {
    "rows": ("unroll axis=row by=[0-9]+", "unroll axis=row by=2"),
    "lanes": ("axis=last width=[0-9]+\n", "axis=last width=4\n"),
    "tile": ("split axis=last by=[0-9]+", "split axis=last by=64"),
    "in place": (" *cache at=packed.*\n", ""),
    "lanes packed": ("axes=row,last", "axes=last"),
}


@pytest.fixture(scope="module")
def product():
    """A program whose contraction runs in tiles, with its text, operands and result."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((37, 70)), rng.standard_normal((70, 53))
    f = jit(lambda a, b: PRODUCT(a, b))
    return f, plan_text(f, a, b), a, b, np.asarray(f(a, b))


@pytest.mark.parametrize("name", TILES)
def test_a_changed_tile_leaves_the_bits(name, product):
    """Of sums of floats, which are added in the parts of the fold."""
    f, text, a, b, result = product
    changed = re.sub(*TILES[name], text)
    assert changed != text

    assert forced(f, changed, a, b).tobytes() == result.tobytes()


def test_other_parts_of_a_fold_group_floats_otherwise(product):
    """So they are refused, but for programs that may have other bits."""
    f, text, a, b, result = product
    changed = re.sub("split axis=fold by=[0-9]+", "split axis=fold by=16", text)

    with pytest.raises(fw.ArgumentError, match="groups floats otherwise"):
        forced(f, changed, a, b)
    free = jit(lambda a, b: PRODUCT(a, b), deterministic=False)
    np.testing.assert_allclose(forced(free, changed, a, b), result, rtol=1e-12)


AFFINE = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
REFUSED = {
    "of a scan reordered": (
        lambda m: fw.map(lambda row: fw.scan(fw.add, 0.0, row), m), GRID,
        ("( *)(vectorize axis=last.*)", r"\1split axis=last by=32\n\1reorder loops=panel,row,column"
         r"\n\1\2"), "parts of axes change the order",
    ),
    "elements summed twice": (
        lambda m: fw.sum(fw.transpose(m) * fw.transpose(m)), GRID,
        ("axis=space width=[0-9]+", "axis=last width=32 tail=shift"), "visit elements twice",
    ),
    "an operator that does not commute": (
        lambda xs: fw.reduce(AFFINE, (1.0, 0.0), (xs, xs)), XS,
        ("rfactor hows=blocked.*", "rfactor hows=lanewise"), "does not commute",
    ),
    "floats grouped otherwise": (
        lambda xs: fw.sum(xs), XS, ("width=[0-9]+", "width=2"), "groups floats otherwise",
    ),
    "a fold that is not there": (
        lambda xs: xs * 2, XS, ("axis=space", "axis=fold"), "there is none",
    ),
    "an end without code": (
        lambda xs: xs * 2, XS, ("width=[0-9]+", "width=8 tail=shift-or-mask"), "do not end by",
    ),
    "lanes without a word": (
        lambda xs: xs * 2, XS, ("width=[0-9]+", "width=128"), "no word for its flags",
    ),
    "scans carried otherwise": (
        lambda xs: fw.scan(fw.add, 0, xs), XS.astype(np.int64),
        ("carry=[a-z-]+", "carry=two-pass"), "follows from the machine",
    ),
    "a step of another sweep": (
        lambda xs: xs * 2, XS, ("( *)(vectorize.*)", r"\1\2\n\1cache at=registers"),
        "does not allow",
    ),
    "stores that are not aligned": (
        STENCIL, GRID, (" multiple=[0-9]+", ""), "multiples of their width",
    ),
    "no version without a guard": (
        lambda xs: xs * 2, XS, ("version name=plain", "version name=plain\n        guard mean=3"),
        "has a guard",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_sweep_does_not_allow_is_refused(case):
    """With the reason, and the user's line."""
    fn, xs, (old, new), reason = REFUSED[case]
    f = jit(fn)
    text = plan_text(f, xs)
    wrong = re.sub(old, new, text)
    assert wrong != text

    with fw.schedule(wrong), pytest.raises(fw.ArgumentError, match=reason):
        f(xs)


def test_sums_may_be_grouped_otherwise_where_bits_may_differ():
    """Of floats; sums of integers always."""
    free, exact = jit(lambda xs: fw.sum(xs), deterministic=False), jit(lambda xs: fw.sum(xs))
    for f, xs in ((free, XS), (exact, XS.astype(np.int64))):
        text = re.sub("width=[0-9]+", "width=2", plan_text(f, xs))
        assert forced(f, text, xs) == XS.sum()


def test_a_sweep_that_is_not_there():
    """The message names those that are."""
    f = jit(lambda xs: xs * 2)
    text = plan_text(f, XS)
    name = text.split()[1]

    with fw.schedule(text.replace(name, "other")), pytest.raises(fw.ArgumentError, match=name):
        f(XS)


@pytest.mark.parametrize("text", ["sweep a\n    colour x=1", "sweep a\n    bind least=many most=2",
                                  "sweep a\n    version name=x y", "sweep a\nbind"])  # fmt: skip
def test_what_is_no_plan_is_refused(text):
    """When something is compiled for it."""
    with fw.schedule(text), pytest.raises(fw.ArgumentError, match="no schedule of sweeps"):
        jit(lambda xs: xs * 2)(XS)


def test_another_text_is_refused_at_once():
    """Names of variants have keywords."""
    with pytest.raises(fw.ArgumentError, match="makes no sense"):
        fw.schedule("per-warp")
