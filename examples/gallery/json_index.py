"""JSON index: the positions of all braces, brackets, colons and commas outside strings.

    python examples/gallery/json_index.py

A byte is escaped after an odd number of backslashes: a scan on pairs counts those before each byte,
modulo 256. A second scan, by exclusive or, says which bytes are between quotes.

Before: a loop in Python, compiled by Numba.
"""

import json

import numpy as np

import flatweave as fw

PEER = "Numba"

OPEN, CLOSE, BETWEEN = b"{[", b"}]", b":,"


def is_one(byte, of):
    """Whether a byte is one of these."""
    return (byte == of[0]) | (byte == of[1])


@fw.jit
def program(text):
    """The positions of structure, and the nesting depth of each."""

    def joined(f, g):  # the backslashes at the end of a part, and whether it has nothing else
        return fw.where(g[1], f[0] + g[0], g[0]), f[1] & g[1]

    backslash = text == ord("\\")
    ones = fw.map(lambda b: (b.astype(fw.u8), b), backslash)
    before, _ = fw.scan(joined, (fw.u8(0), True), ones, exclusive=True)
    quotes = (text == ord('"')) & (before % 2 == 0)
    inside = fw.scan(fw.bitwise_xor, fw.u8(0), quotes.astype(fw.u8))
    structure = is_one(text, OPEN) | is_one(text, CLOSE) | is_one(text, BETWEEN)
    shown = structure & (inside == 0)
    places = fw.filter(lambda i: shown[i], fw.iota(text.shape[0]))
    opens, closes = is_one(text[places], OPEN), is_one(text[places], CLOSE)
    return places, fw.cumsum(opens.astype(fw.i64) - closes.astype(fw.i64)) + closes


def before(text):
    """Byte after byte."""
    places, depths = np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    found, depth, quoted, escaped = 0, 0, False, False
    for i, byte in enumerate(text):
        is_open, is_close = byte in (123, 91), byte in (125, 93)
        if byte == 34 and not escaped:
            quoted = not quoted
        if not quoted and (is_open or is_close or byte in (58, 44)):
            depth += is_open
            places[found], depths[found] = i, depth
            depth -= is_close
            found += 1
        escaped = byte == 92 and not escaped
    return places[:found], depths[:found]


def inputs(size=50_000):
    """A list of records."""
    draw = np.random.default_rng(13)
    records = [{"id": k, "of": ["a\\", 'b"{'], "at": draw.random()} for k in range(size)]
    return (np.frombuffer(json.dumps(records).encode(), np.uint8),)


def main():
    """A record with a brace in a string."""
    places, depths = program(np.frombuffer(b'{"a": [1, "}"]}', np.uint8))
    print(places.tolist(), depths.tolist())


if __name__ == "__main__":
    main()
