"""Notes tell the user, by the lines of the program, why arrays that are no results are stored."""

import inspect
import pickle
import re

import numpy as np
import pytest

import flatweave as fw

XS = np.arange(9.0)
SIZES = np.arange(4)


def opened(f, *args):
    """The notes on a program, its lines counted from that of its `def`."""
    start = inspect.getsourcelines(f)[1]
    notes = fw.jit(f, target="cpu").stages(*args).notes
    return [re.sub(r"\S*\.py:(\d+)", lambda m: f"line {int(m[1]) - start}", n) for n in notes]


def dear(xs):
    kept = fw.filter(lambda v: v > 3, xs)
    powers = fw.exp(fw.sin(fw.exp(kept)))
    return fw.sum(powers)


def from_both_ends(xs):
    kept = fw.filter(lambda v: v > 3, xs)
    return fw.scan(fw.add, 0.0, kept, reverse=True)


def distances(xs):
    sums = fw.cumsum(xs)
    return sums[3:] - sums[:-3]


def shares(xs):
    powers = fw.exp(fw.sin(xs))
    total = fw.sum(powers)
    return powers / total


def in_order(xs):
    doubled = xs * 2
    return fw.sort(doubled)


def turns(xs):
    return fw.sum(fw.fori_loop(0, 3, lambda k, s: fw.cumsum(s), xs))


def every_turn(xs):
    powers = fw.exp(fw.sin(xs))
    return fw.fori_loop(0, 3, lambda k, s: s + fw.sum(powers * k), 0.0)


def chosen(xs):
    return fw.sum(fw.cond(xs[0] > 0, lambda: fw.cumsum(xs), lambda: xs[1:]))


def joined(xs):
    kept = fw.filter(lambda v: v > 3, xs)
    return fw.concat([kept, xs])


def expanded(sizes):
    return fw.sum(fw.expand(lambda v: v, lambda v, i: v * i, sizes))


def neighbours(xs):
    doubled = xs * 2
    return doubled[1:] * doubled[:-1]


def ends(xs):
    powers = fw.exp(xs)
    return powers[0], powers[-1]


def shared_rows(xs):
    def of(row):
        powers = fw.exp(row)
        return powers / fw.sum(powers)

    return fw.map(of, fw.reshape(xs, (3, 3)))


def two_lines(xs):
    doubled = xs * 2
    roots = fw.sqrt(xs)
    return doubled[1:] * doubled[:-1], roots[1:] * roots[:-1], roots[2:] * 3


def fused(xs):
    return fw.sum(fw.filter(lambda v: v > 3, fw.cumsum(xs * 2)))


NOTES = {
    dear: "line 1: a filter's result is stored (f64[n_6]): line 2 does more with an element than"
    " storing it costs, for kept ones only",
    from_both_ends: "line 1: a filter's result is stored (f64[n_6]): line 2 goes through it from"
    " the other end",
    distances: "line 1: a scan is stored (f64[n_1]): line 2 reads it at other positions than its"
    " own",
    shares: "line 1: a map is stored (f64[n_1]): line 3 needs line 1 first, which goes over all of"
    " it",
    in_order: "line 1: a map is stored (f64[n_1]): the sort at line 2 moves all of it",
    turns: "line 1: a scan is stored (f64[n_1]): the loop at line 1 carries it from iteration to"
    " iteration",
    every_turn: "line 1: a map is stored (f64[n_1]): line 2 reads it in each iteration of a loop",
    chosen: "line 1: a scan is stored (f64[n_1]): the branch at line 1 gives it, where another one"
    " gives another array",
    joined: "line 1: a filter's result is stored (f64[n_6]): line 2 writes it after another"
    " part",
    expanded: "line 1: a scan is stored (i64[n_1]): line 1 looks up in it which row an element"
    " belongs to",
    neighbours: "line 1: a map is computed at each of 2 reads, for 3 additions each: to store and"
    " read an element costs 24",
    ends: "line 1: a map is computed at each of 2 reads, for 16 additions each: these are its"
    " only reads",
    shared_rows: "line 2: a map is computed at each of 2 reads, for 16 additions each: to store and"
    " read an element costs 24",
    two_lines: "line 2: a map is computed at each of 3 reads, for 10 additions each: to store and"
    " read an element costs 24",
}


@pytest.mark.parametrize("f", NOTES, ids=lambda f: f.__name__)
def test_the_reason(f):
    """What is stored, and which line asks for it."""
    assert opened(f, SIZES if f is expanded else XS)[0] == NOTES[f]


def test_what_costs_most_comes_first():
    """One note for each line, by what computing it again costs."""
    again = [note for note in opened(two_lines, XS) if "computed at each" in note]

    assert [note[:7] for note in again] == ["line 2:", "line 1:"]


def test_nothing_to_say():
    """What is one pass stores nothing."""
    assert opened(fused, XS) == []


def test_a_note_has_its_facts():
    """What is stored, its type and line, the reason, and what would help; `str` is all of it."""
    (note, *_) = fw.jit(shares, target="cpu").stages(XS).notes
    start = inspect.getsourcelines(shares)[1]

    assert (note.what, note.array, note.where.line) == ("a map", "f64[n_1]", start + 1)
    assert note == f"{note.line}: {note.what} is stored ({note.array}): {note.reason}"
    assert "sum(x) / t" in note.remedy
    assert pickle.loads(pickle.dumps(note)) == str(note)


def test_a_stored_array_has_its_facts():
    """Name, type, bytes for these arguments, and the line that asks for it."""
    stages = fw.jit(shares, target="cpu").stages(XS)
    kept, result = stages.manifest

    assert (kept.type, kept.bytes, kept.is_result) == ("f64[n_1]", XS.nbytes, False)
    assert result.is_result
    assert result == f"{result.name}: {result.type} (result), {result.line}"
    assert str(kept) in str(stages)


def test_a_note_names_the_kernel_that_ran():
    """Why one of several variants was taken, once a call has run."""
    f = fw.jit(shares, target="cpu")
    f(XS)
    stages = f.stages(XS)
    ran = {note.kernel for note in stages.notes if note.kernel}

    assert ran
    assert ran <= {name for name, _, made in stages.launched if made}
