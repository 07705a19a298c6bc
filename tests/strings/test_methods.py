"""Methods of Strings next to those of `str`, for random text."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flatweave as fw

SPACE = string.whitespace
ALPHABETS = ["ab", "ab ,\t", "aé日\U0001f600", "ab\0\x1f ", "aA zZ[`{@é"]
TEXTS = st.sampled_from(ALPHABETS).flatmap(
    lambda letters: st.tuples(
        st.lists(st.text(letters, max_size=12), max_size=6), st.text(letters, max_size=3)
    )
)
FEW = settings(max_examples=15, deadline=None, derandomize=True)


def in_ascii(change, text):
    """A text whose letters of ASCII are changed."""
    return "".join(change(letter) if letter.isascii() else letter for letter in text)


@FEW
@given(TEXTS)
def test_patterns_are_found_as_python_finds_them(drawn):
    """Also empty ones, ones that overlap themselves, and of several bytes."""
    texts, pattern = drawn
    strings = fw.Strings(texts)

    assert strings.tolist() == texts
    assert strings.find(pattern).tolist() == [text.find(pattern) for text in texts]
    assert strings.count(pattern).tolist() == [text.count(pattern) for text in texts]
    assert strings.contains(pattern).tolist() == [pattern in text for text in texts]
    assert strings.startswith(pattern).tolist() == [text.startswith(pattern) for text in texts]
    assert strings.endswith(pattern).tolist() == [text.endswith(pattern) for text in texts]
    if pattern:
        assert strings.split(pattern).tolist() == [text.split(pattern) for text in texts]


@FEW
@given(TEXTS, st.none() | st.integers(-6, 6), st.none() | st.integers(-6, 6))
def test_parts_are_those_of_python(drawn, start, stop):
    """Positions count code points; white space and letters are those of ASCII."""
    texts, _ = drawn
    strings = fw.Strings(texts)

    assert strings.len().tolist() == [len(text) for text in texts]
    assert strings.slice(start, stop).tolist() == [text[start:stop] for text in texts]
    assert strings.strip().tolist() == [text.strip(SPACE) for text in texts]
    assert strings.lower().tolist() == [in_ascii(str.lower, text) for text in texts]
    assert strings.upper().tolist() == [in_ascii(str.upper, text) for text in texts]


@FEW
@given(TEXTS)
def test_strings_are_ordered_as_python_orders_them(drawn):
    """By code points, which is by bytes; strings are compared with strings and with a `str`."""
    texts, other = drawn
    strings = fw.Strings(texts)
    turned = texts[::-1]

    assert fw.sort(strings).tolist() == sorted(texts)
    assert fw.argsort(strings).tolist() == sorted(range(len(texts)), key=texts.__getitem__)
    assert fw.unique(strings).tolist() == sorted(set(texts))
    assert (strings == strings[::-1]).tolist() == [a == b for a, b in zip(texts, turned)]
    assert (strings < strings[::-1]).tolist() == [a < b for a, b in zip(texts, turned)]
    assert (strings >= other).tolist() == [text >= other for text in texts]
    assert (other == strings).tolist() == [text == other for text in texts]
    assert len(set(strings.hash().tolist())) == len(set(texts))


def test_long_patterns_are_compared_to_their_end():
    """The first bytes are compared everywhere, the others only where these are."""
    texts = ["abcdefgh", "abcdefghi", "xabcdefghijk", "abcdefgXabcdefghij", ""]
    strings = fw.Strings(texts)

    for pattern in ("abcdefgh", "abcdefghij", "aaaaaaaaaaaa"):
        assert strings.find(pattern).tolist() == [text.find(pattern) for text in texts]
    assert fw.Strings(["a" * 30, "a" * 12]).count("a" * 12).tolist() == [2, 1]
    assert fw.Strings(["a" * 30]).split("a" * 12).tolist() == [["", "", "a" * 6]]


def test_bytes_of_a_pattern_are_read_before_the_bytes_of_text():
    """Loops over bytes have no checks, and compare vectors."""
    contains = fw.jit(lambda s: s.contains("ab"), target="cpu")
    assert "report" not in contains.stages(fw.Strings(["ab", "b"])).text["kernel"]


def test_matches_stay_in_their_rows():
    """A pattern that begins in one string and ends in the next is in neither."""
    strings = fw.Strings(["xa", "b", "ab", "a", "", "b"])

    assert strings.find("ab").tolist() == [-1, -1, 0, -1, -1, -1]
    assert strings.count("ab").tolist() == [0, 0, 1, 0, 0, 0]
    assert strings.split("ab").tolist() == [["xa"], ["b"], ["", ""], ["a"], [""], ["b"]]


def test_parts_of_strings_are_rows_of_strings():
    """With offsets, lengths, rows and slices of rows."""
    rows = fw.Strings(["a,bc", "", "d,,"]).split(",")

    assert rows.values.tolist() == ["a", "bc", "", "d", "", ""]
    assert rows.lengths.tolist() == [2, 1, 3]
    assert rows[0].tolist() == ["a", "bc"]
    assert rows[1:].tolist() == [[""], ["d", "", ""]]
    assert rows[fw.asarray([False, False, True])].tolist() == [["d", "", ""]]
    assert rows[[2, 0]].tolist() == [["d", "", ""], ["a", "bc"]]
    assert rows.values.len().tolist() == [1, 2, 0, 1, 0, 0]
    assert rows.num().tolist() == [2, 1, 3]
    assert rows.firsts().tolist() == ["a", "", "d"]
    assert rows.pad_none(2, clip=True).tolist() == [["a", "bc"], ["", None], ["d", ""]]
    with pytest.raises(fw.Unsupported, match="rows of strings"):
        rows.softmax()


def test_bounds_may_be_of_each_string():
    """Negative ones count from the end of each."""
    assert fw.Strings(["abc", "déf", "g"]).slice([0, 1, -1], [1, 3, 5]).tolist() == ["a", "éf", "g"]


def test_bad_arguments_are_refused():
    """With the method's name and what to write."""
    strings = fw.Strings(["a"])

    with pytest.raises(fw.ArgumentError, match="empty separator"):
        strings.split("")
    with pytest.raises(fw.ArgumentError, match="find got int"):
        strings.find(3)
    with pytest.raises(fw.ArgumentError, match="slice got"):
        strings.slice("a")
    with pytest.raises(fw.ShapeError, match="1 strings are compared with 2"):
        strings == fw.Strings(["a", "b"])  # noqa: B015


@pytest.mark.parametrize("name", ["sqrt", "sum", "median", "is_none", "zeros_like"])
def test_functions_of_numbers_say_what_strings_have(name):
    """At once and in jit, where no text is known yet."""
    function = getattr(fw, name)

    for call in (function, fw.jit(function)):
        with pytest.raises(fw.ArgumentError, match=r"is a Strings, where(?s:.*)s.to_numbers"):
            call(fw.Strings(["a", "b"]))


def test_numbers_are_no_text():
    """Whichever operand they are."""
    strings = fw.Strings(["a", "b"])

    for call in (
        lambda: strings == 3, lambda: fw.isin(3, strings), lambda: fw.where(strings, 1, 2),
    ):  # fmt: skip
        with pytest.raises(fw.DTypeError, match=r"numbers meet Strings(?s:.*)fw.strings_of"):
            call()


@pytest.mark.parametrize("call", [
    lambda s: s.upper(), lambda s: s.lower(), lambda s: s.strip(), lambda s: s.slice(1, 3),
    lambda s: s.len(), lambda s: s.find("1"), lambda s: s.count("1"), lambda s: s.contains("1"),
    lambda s: s.startswith("1"), lambda s: s.endswith("1"), lambda s: s.hash(),
    lambda s: s.split(","), lambda s: s.to_numbers(fw.i64), lambda s: s.to_numbers(),
])  # fmt: skip
def test_methods_of_texts_some_of_which_are_missing(call):
    """Missing in, missing out, at once and in jit, whatever the missing texts are."""
    texts = fw.Strings(["1", "x", " 21 "])
    some = fw.Nullable(texts, [True, False, True])
    first, last = call(fw.Strings(["1", " 21 "])).tolist()

    assert call(some).tolist() == fw.jit(call)(some).tolist() == [first, None, last]
    assert isinstance(call(some), fw.Nullable)


@pytest.mark.parametrize(("name", "advice"), [
    ("bytes", r"x\.drop_none\(\)\.bytes"), ("sort", r"fw\.sort\(x\)"),
    ("foo", r"help\(fw\.Nullable\)"),
])  # fmt: skip
def test_what_text_with_missing_rows_has_not(name, advice):
    """The error says where it is; it is an AttributeError, too."""
    with pytest.raises(fw.ArgumentError, match=rf"no attribute '{name}'(?s:.*){advice}"):
        getattr(fw.Strings(["a", None]), name)
    assert not hasattr(fw.Nullable([1, None]), "upper")
