"""CSV columns: numbers and texts of a table with quotes, as RFC 4180 has them.

    python examples/gallery/csv_columns.py

A byte is quoted where the number of quotes before it is odd: a scan by exclusive or. Commas and
line ends outside of quotes end fields. A quote is part of a text if it follows a closing quote.

Before: Python's csv module.
"""

import csv
import io

import numpy as np

import flatweave as fw

PEER = "Python"

COMMA, LINE, RETURN, QUOTE = b',\n\r"'
KINDS = (fw.i64, str, fw.f64, str)


@fw.jit
def fields(text):
    """The content of all fields in order, and the end of each field."""
    quotes = text == QUOTE
    inside = fw.scan(fw.bitwise_xor, False, quotes)
    ends = ~inside & ((text == COMMA) | (text == LINE))
    doubled = quotes & inside & fw.shift(quotes, -1, False)
    kept = ~ends & (~quotes | doubled) & (inside | (text != RETURN))
    content = fw.filter(lambda byte: byte[1], (text, kept))[0]
    return content, fw.filter(lambda end: end[1], (fw.cumsum(kept), ends))[0]


def program(text):
    """A column for each of KINDS; the first line has their names."""
    content, ends = fields(text)
    table = ends.reshape(-1, len(KINDS))
    starts = fw.concat([fw.zeros(1, fw.i64), ends])[:-1].reshape(-1, len(KINDS))
    columns = []
    for k, kind in enumerate(KINDS):
        column = fw.Strings(fw.slices(content, starts[1:, k], table[1:, k]))
        columns.append(column if kind is str else column.to_numbers(kind))
    return tuple(columns)


def before(text):
    """Row after row."""
    rows = csv.reader(io.StringIO(text.tobytes().decode(), newline=""))
    number, name, price, note = zip(*list(rows)[1:], strict=True) if text.size > 30 else [[]] * 4
    return list(map(int, number)), list(name), list(map(float, price)), list(note)


def agree(ours, theirs):
    """The same numbers, to the last bit, and the same texts."""
    return [column.tolist() for column in ours] == [list(column) for column in theirs]


def inputs(size=100_000):
    """Articles with notes, in some of which there are quotes, commas and line ends."""
    draw = np.random.default_rng(38)
    notes = ["", "none", 'of 5" steel', "red, small", "first\nsecond", 'say "no", "no"', "größer"]
    table = io.StringIO(newline="")
    written = csv.writer(table)
    written.writerow(["number", "name", "price", "note"])
    prices = draw.integers(1, 10**6, size) / 100
    for k, (price, note) in enumerate(zip(prices, draw.integers(0, len(notes), size), strict=True)):
        written.writerow([k, f"article {k % 997}", price, notes[note]])
    return (np.frombuffer(table.getvalue().encode(), np.uint8),)


def main():
    """A text with a comma, a quote and a line end."""
    text = b'number,name,price,note\r\n7,nail,0.25,"5"" long,\nsteel"\r\n'
    print(*(column.tolist() for column in program(np.frombuffer(text, np.uint8))))


if __name__ == "__main__":
    main()
