"""Strings as columns: what functions of fw do with them, keys, elements of maps, programs."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.strings.functions import digest

TEXTS = ["b", "a", "é", "b", "", "a long one", "a long one!"]
S = fw.Strings(TEXTS)
N = fw.Strings(["b", None, "b", "", "a"])


def test_moves_and_masks():
    """Of whole strings."""
    assert S[1] == "a"
    assert S[-1] == "a long one!"
    assert S[1:3].tolist() == ["a", "é"]
    assert S[np.arange(7) % 2 == 0].tolist() == TEXTS[::2]
    assert S[[2, 0]].tolist() == ["é", "b"]
    assert fw.take(S, [0, 0]).tolist() == ["b", "b"]
    assert fw.flip(S).tolist() == TEXTS[::-1]
    assert fw.concat([S[:2], S[4:5], ["x"]]).tolist() == ["b", "a", "", "x"]
    assert fw.where(np.arange(7) < 2, S, "-").tolist() == ["b", "a", *"-----"]
    assert fw.filter(lambda e: e.len() > 1, S).tolist() == TEXTS[-2:]


def test_sets_and_counts():
    """By the order of the strings."""
    ascending = sorted(set(TEXTS))

    few = ["a", "z", "a long one"]
    assert fw.isin(S, few).tolist() == [text in few for text in TEXTS]
    values, counts = fw.value_counts(S)
    assert (values.tolist(), counts.tolist()) == (ascending, [TEXTS.count(t) for t in ascending])
    values, inverse = fw.unique_inverse(S)
    assert values[inverse].tolist() == TEXTS
    assert fw.unique(S, return_counts=True)[1].tolist() == [TEXTS.count(t) for t in ascending]
    assert int(fw.n_unique(S)) == 6
    assert fw.run_lengths(fw.Strings(["a", "a", "b"]))[0].tolist() == ["a", "b"]
    assert fw.searchsorted(fw.sort(S), ["b"]).tolist() == [sorted(TEXTS).index("b")]
    assert (fw.min(S), fw.max(S)) == ("", "é")
    assert fw.sort(S, descending=True).tolist() == sorted(TEXTS, reverse=True)


def test_strings_are_keys_of_groups():
    """With missing ones, next to other columns, in order of appearance."""
    groups = fw.group_by(S, np.arange(7))
    assert groups.keys.tolist() == sorted(set(TEXTS))
    assert groups.rows.tolist() == [[4], [1], [5], [6], [0, 3], [2]]
    assert groups.agg(total="sum")["total"].tolist() == [4, 1, 5, 6, 3, 2]
    assert fw.group_by(S, sort=False).keys.tolist() == list(dict.fromkeys(TEXTS))

    assert fw.group_by(N).keys.tolist() == ["", "a", "b", None]
    assert fw.group_by(N, dropna=True).index.tolist() == [2, -1, 2, 0, 1]
    names, numbers = fw.group_by((N, [1, 1, 1, 2, 2])).keys
    assert (names.tolist(), numbers.tolist()) == (["", "a", "b", None], [2, 2, 1, 1])
    assert fw.group_by(fw.Strings([]), np.zeros(0)).keys.tolist() == []


def test_strings_are_keys_of_joins():
    """Missing ones match nothing; a list of texts may be the other side."""
    found = fw.join(N, ["a", None, "b", "b"], how="full")

    assert found.left.tolist() == [0, 0, 1, 2, 2, 3, 4, -1]
    assert found.right.tolist() == [2, 3, -1, 2, 3, -1, 0, 1]
    with pytest.raises(fw.DTypeError, match="str on the left and of int64"):
        fw.join(S, np.arange(7))


def test_both_sides_of_a_join_are_numbered_at_once():
    """One loop halves the blocks of all strings: the only one that gives an array."""
    f = fw.jit(lambda a, b: fw.join(a, b).left, target="cpu")
    assert f.stages(S, S).text["fused"].count("] = while") == 1


def test_missing_strings():
    """Comparisons, selection, sorts, filling."""
    assert (N == "b").tolist() == [True, None, True, False, False]
    assert N[1:3].tolist() == [None, "b"]
    assert N.fill_none("?").tolist() == ["b", "?", "b", "", "a"]
    assert N.drop_none().tolist() == ["b", "b", "", "a"]
    assert fw.sort(N).tolist() == ["", "a", "b", "b", None]
    assert fw.argsort(N).tolist() == [3, 4, 0, 2, 1]
    assert fw.min(N).tolist() == ""
    assert fw.concat([N, S[:1]]).tolist() == ["b", None, "b", "", "a", "b"]
    assert fw.where(N == "b", N, "x").tolist() == ["b", "x", "b", "x", "x"]


def test_elements_of_maps_are_strings():
    """With the methods of all of them."""
    assert fw.map(lambda e: e.find("a"), S).tolist() == [t.find("a") for t in TEXTS]
    assert fw.map(lambda e: (e == "b") | e.endswith("!"), S).tolist() == [
        t == "b" or t.endswith("!") for t in TEXTS
    ]
    assert fw.map(lambda e: e.slice(0, 1), S).tolist() == [t[:1] for t in TEXTS]
    assert fw.map(lambda e: e.to_numbers(fw.i64) + 1, fw.Strings(["1", "-5"])).tolist() == [2, -4]


def program(lines, limit):
    """What a small report does with text."""
    parts = lines.split(",")
    names, amounts = parts.firsts(), parts.values[parts.offsets[:-1] + 1].to_numbers(fw.i64)
    return names.values[amounts > limit].upper(), fw.strings_of(amounts), parts


@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_programs_take_and_give_strings(target):
    """One program for every number and length of strings."""
    report = fw.jit(program, target=target)
    for lines in (["ann,10", "bob,-5", "ann,190", "zoë,7"], []):
        names, amounts, parts = report(fw.Strings(lines), 5)

        assert names.tolist() == ["ANN", "ANN", "ZOë"][: len(lines)]
        assert amounts.tolist() == [line.split(",")[1] for line in lines]
        assert parts.tolist() == [line.split(",") for line in lines]


def test_rows_are_compared_with_a_text():
    """Rows of strings string by string; rows of numbers are refused, for they are no texts."""
    parts = fw.Strings(["a b", "", "b b"]).split(" ")

    assert (parts == "b").tolist() == [[False, True], [False], [True, True]]
    assert (parts != "b").tolist() == [[True, False], [True], [False, False]]
    for rows in (fw.ragged([b"x", b"yy"]), fw.ragged([[1.5]]), parts.values.bytes):
        with pytest.raises(fw.ArgumentError, match=r"(?s)with a text.*fw\.Strings\(rows\)"):
            rows == "x"  # noqa: B015


@pytest.mark.parametrize(("program", "sorts"), [
    (lambda s: fw.group_by(s).index, 5), (lambda s: fw.unique_inverse(s).inverse_indices, 4),
])  # fmt: skip
def test_texts_are_numbered_once(program, sorts):
    """One numbering has four sorts, of which one runs; numbers up to the last are no new keys."""
    text = fw.jit(program).stages(fw.Strings(["b", "a", "b"])).text["array"]

    assert text.count("= sort ") == sorts


def alike():
    """Two strings of two blocks each, of one hash: the second blocks differ by as much as what the
    first ones are mixed to, so that the sums are equal."""
    u8, u64 = np.uint8, np.uint64
    heads = np.random.default_rng(0).integers(97, 123, (300_000, 7)).astype(u8)
    words = heads.astype(u64) @ (u64(1) << np.arange(56, 0, -8, dtype=u64)) + u64(7)
    mixed = (words ^ words >> u64(32)) * u64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> u64(29)
    apart = (mixed - mixed[0]).view(np.int64)
    rest, digits = apart >> 8, np.zeros((len(heads), 7), np.int64)
    for k in range(7):
        digits[:, 6 - k] = (rest + 128) % 256 - 128
        rest = (rest - digits[:, 6 - k]) // 256
    fits = (apart % 256 == 0) & (rest == 0) & (abs(digits) < 64).all(1)
    k = np.flatnonzero(fits)[1]  # the first one is heads[0] itself
    first = heads[0].tobytes() + (64 + digits[k]).astype(u8).tobytes()
    return first.decode(), (heads[k].tobytes() + b"@" * 7).decode()


def test_strings_of_one_hash_are_told_apart():
    """On one side, or one on each; then all are numbered."""
    a, b = alike()
    hashes = np.asarray(digest(fw.Strings([a, b, "short"]).bytes))
    assert a != b and hashes[0] == hashes[1] != hashes[2]

    assert fw.join([a, b, "c", a], [b]).rows.tolist() == [[], [0], [], []]
    assert fw.join([b], [a, "c", b, a]).rows.tolist() == [[2]]
    assert fw.join([b, a], [a, b, a, b], "full").rows.tolist() == [[1, 3], [0, 2]]
    missing = fw.join([a, None, b], [None, b, a, None])
    assert missing.rows.tolist() == [[2], [], [1]]
