"""Plain text: lists, tables, sizes and times as people write them."""

from flatweave.base.pretty import counted, duration, indent, lines, listed, nearest, size, table


def test_a_list_reads_as_a_sentence():
    """Commas between, and a word before the last."""
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed([1, 2, 3], last="or") == "1, 2 or 3"


def test_the_nearest_word_is_one_with_a_few_other_letters():
    """None where half of the letters would have to change."""
    known = ("by-row", "flat")

    assert [nearest(word, known) for word in ("by_row", "byrow", "Flat", "flatt")] == [
        "by-row", "by-row", "flat", "flat",
    ]  # fmt: skip
    assert [nearest(word, known) for word in ("", "rows", "f", "xxxx")] == ["", "", "", ""]
    assert nearest("flat", ()) == ""


def test_a_table_is_aligned():
    """Names start together, numbers end together, and no line has trailing blanks."""
    text = table(["stage", "seconds"], [["fuse", 0.25], ["codegen", 1.5]], right={1})

    assert text == "stage    seconds\nfuse        0.25\ncodegen      1.5"
    assert table([], []) == ""


def test_counts_sizes_and_times_have_units():
    """Three digits are enough to compare by."""
    assert (counted(1, "launch"), counted(2, "launch", "launches")) == ("1 launch", "2 launches")
    assert [size(n) for n in (512, 1536, 40 << 20)] == ["512 B", "1.5 KiB", "40.0 MiB"]
    assert [duration(t) for t in (8.5e-7, 1.23e-5, 4.56e-3, 7.891)] == [
        "850 ns",
        "12.3 us",
        "4.56 ms",
        "7.89 s",
    ]


def test_indenting_leaves_empty_lines_empty():
    """Dumps have no trailing blanks."""
    assert indent("a\n\n b") == "  a\n\n   b"
    assert lines("a", "", "b") == "a\nb"
