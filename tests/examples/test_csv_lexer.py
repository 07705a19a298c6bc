"""examples/csv_lexer.py reads tables as Python's csv module does."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

CELLS = st.text("ab ,\"\n\r'é", max_size=8)
TABLES = st.lists(st.lists(CELLS, max_size=4), max_size=6)


def written(table, line_end, quoting=csv.QUOTE_MINIMAL):
    """A table as the csv module writes it."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=line_end, quoting=quoting).writerows(table)
    return file.getvalue().encode()


def test_what_the_csv_module_writes_is_read(example, target):
    """Quotes in quotes, commas and line ends inside of fields, rows of nothing."""
    lexer = example("csv_lexer")

    @given(TABLES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
    def check(table, line_end, quote_all):
        data = written(table, line_end, csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL)
        assert lexer.rows(data) == lexer.python_rows(data)
        if quote_all:
            assert lexer.rows(data) == table

    check()


def test_odd_quotes_mean_what_they_mean_to_the_csv_module(example, target):
    """Text that no program would write: quotes within plain fields, letters after a quote."""
    lexer = example("csv_lexer")

    @given(st.text('ab,"\n\r', max_size=30))
    def check(text):
        data = text.encode()
        try:
            table = lexer.rows(data)
        except ValueError:  # not closed: the csv module takes all the rest as one field
            table = lexer.rows(data + b'"')
            data += b'"'
        assert table == lexer.python_rows(data)

    check()


@pytest.mark.parametrize("data", [b'"', b'a,"b', b'a\n"b,c\n', b'"a""\n'])
def test_a_field_that_is_not_closed_is_refused(example, target, data):
    """It would swallow the rest of the file."""
    with pytest.raises(ValueError, match="not closed"):
        example("csv_lexer").rows(data)


@pytest.mark.parametrize(
    "data, table",
    [
        (b"", []),
        (b"\n", [[]]),
        (b"a", [["a"]]),
        (b"a,\r\n,b", [["a", ""], ["", "b"]]),
        (b'""\n\n"x""y"\r\r', [[""], [], ['x"y'], []]),
    ],
)
def test_small_tables(example, target, data, table):
    """Empty fields, empty rows, a last row that is not ended."""
    assert example("csv_lexer").rows(data) == table


def test_a_long_table_is_read_by_many_threads(example, threads):
    """Blocks begin inside of quotes and know it."""
    lexer = example("csv_lexer")
    table = [[str(i), 'said "no",\nand left' * (i % 7), "x" * (i % 50)] for i in range(4000)]

    assert lexer.rows(written(table, "\r\n")) == table


def test_the_states_compose(example, target):
    """Composition is associative for the functions that text makes, and `SAME` changes nothing."""
    lexer = example("csv_lexer")
    steps = [lexer.COMMA, lexer.NEWLINE, lexer.CARRIAGE, lexer.QUOTE, lexer.OTHER]
    f, g, h = (np.array(part, np.uint32).ravel() for part in np.meshgrid(steps, steps, steps))

    left = lexer.then(lexer.then(f, g), h)
    right = lexer.then(f, lexer.then(g, h))

    assert np.array_equal(left, right)
    assert np.array_equal(lexer.then(f, np.uint32(lexer.SAME)), f)


def test_the_program_agrees_with_the_csv_module(example, tmp_path, capsys):
    """`python examples/csv_lexer.py FILE` ends with 0."""
    file = tmp_path / "table.csv"
    file.write_bytes(b'name,said\n"Ada","a ""quote"", and\nmore"\n')

    assert example("csv_lexer").main([str(file)]) == 0
    assert "2 rows, 4 fields" in capsys.readouterr().out
