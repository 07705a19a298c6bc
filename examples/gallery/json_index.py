"""JSON index: the places of all braces, brackets, colons and commas outside strings.

    python examples/gallery/json_index.py

Whether a byte is escaped depends on the byte before it: each byte is a function from one answer
to the next, and functions are composed by a scan. Quotes left over are summed by a second scan.

Before: a loop in Python, compiled by Numba; at size 50,000
2.59 ms, here 12.06 ms (two cores of a Zen 5 with AVX-512).
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
    """The places of structure, and how deep each is nested."""
    backslash = text == ord("\\")
    step = fw.map(lambda b: (b, False), backslash)  # next is escaped: if this is not, if it is

    def then(f, g):
        return fw.where(f[0], g[1], g[0]), fw.where(f[1], g[1], g[0])

    escaped, _ = fw.scan(then, (False, True), step, exclusive=True)
    quotes = fw.cumsum(((text == ord('"')) & ~escaped).astype(fw.i64))
    outside = quotes % 2 == 0
    opens = (outside & is_one(text, OPEN)).astype(fw.i64)
    closes = (outside & is_one(text, CLOSE)).astype(fw.i64)
    depth = fw.cumsum(opens - closes) + closes
    shown = (opens + closes > 0) | (outside & is_one(text, BETWEEN))
    places = fw.filter(lambda i: shown[i], fw.iota(text.shape[0]))
    return places, depth[places]


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
