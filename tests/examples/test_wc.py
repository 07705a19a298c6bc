"""examples/wc.py counts as wc does, whatever the text and wherever it is cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw

TEXT = st.text("ab .\t\n\r\f\v\0", max_size=60).map(str.encode)


def numbers(results):
    """Results as Python's numbers."""
    return tuple(np.asarray(result).item() for result in results)


def counted(text):
    """What wc counts, one byte after the other."""
    lines = words = column = longest = 0
    inside = False
    for byte in text.decode():
        lines += byte == "\n"
        space = byte in " \t\n\r\f\v"
        words += not space and not inside
        inside = not space
        if byte == "\t":
            column += 8 - column % 8
        column = 0 if byte in "\n\r\f" else column + (" " <= byte <= "~")
        longest = max(longest, column)
    return lines, words, len(text), longest


def test_it_counts_what_wc_counts(example, target):
    """Tabs, line ends without a line feed, words across everything: equal for random text."""
    wc = example("wc")

    @given(TEXT)
    def check(text):
        assert numbers(wc.count(np.frombuffer(text, np.uint8))) == counted(text)

    check()


def test_no_text_counts_nothing(example, target):
    """The neutral element is no lines, no words, no columns."""
    assert numbers(example("wc").count(np.empty(0, np.uint8))) == (0, 0, 0, 0)


def test_pieces_may_be_joined_in_any_order(example, target):
    """The operator is associative, and `NOTHING` leaves every piece as it is."""
    wc = example("wc")

    @fw.jit
    def both_ways(a, b, c):
        x, y, z = (fw.reduce(wc.join, wc.NOTHING, fw.map(wc.piece_of, text)) for text in (a, b, c))
        nothing = fw.reduce(wc.join, wc.NOTHING, fw.map(wc.piece_of, a[:0]))
        left, right = wc.join(wc.join(x, y), z), wc.join(x, wc.join(y, z))
        return left, right, (y, wc.join(nothing, y), wc.join(y, nothing))

    @given(st.tuples(TEXT, TEXT, TEXT))
    def check(texts):
        left, right, same = both_ways(*(np.frombuffer(text, np.uint8) for text in texts))
        assert numbers(left) == numbers(right)
        assert len({numbers(piece) for piece in same}) == 1

    check()


def test_long_text_gives_the_same_for_every_number_of_threads(example, threads):
    """A megabyte is cut into many blocks, in the middle of words and lines."""
    wc = example("wc")
    letters = np.frombuffer(b"abcd  \t\n", np.uint8)
    text = np.random.default_rng(5).choice(letters, 1 << 20)

    assert numbers(wc.count(text)) == counted(text.tobytes())


def test_the_program_agrees_with_wc(example, tmp_path, capsys):
    """`python examples/wc.py FILE` ends with 0 where this machine's wc says the same."""
    file = tmp_path / "some.txt"
    file.write_bytes(b"one two\n\tthree\r\nfour" * 1000)

    assert example("wc").main([str(file)]) == 0
    assert "flatweave: (2000, 3001, 20000," in capsys.readouterr().out


def test_an_empty_file_is_text(example, tmp_path):
    """There is nothing to map into memory, and nothing to count."""
    file = tmp_path / "empty.txt"
    file.touch()

    assert example("wc").main([str(file)]) == 0


def test_one_kernel_counts(example):
    """The ten parts of each byte are never stored."""
    assert example("wc").count.stages(np.zeros(1, np.uint8)).kernels == 1
