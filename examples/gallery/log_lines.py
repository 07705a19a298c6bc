"""Log lines: the second of the day, the status and the size of each request to a web server.

    python examples/gallery/log_lines.py

A state machine of two bits says which spaces end a field: none between quotes or brackets. Every
byte is a function of its state, so a scan over composition gives all states at once.

Before: a regular expression in Python.
"""

import re

import numpy as np

import flatweave as fw

PEER = "Python"

FIELDS = 7  # host, identity, user, [time], "request", status, size
LINE = re.compile(rb'\S+ \S+ \S+ \[[^:]*:(\d\d):(\d\d):(\d\d)[^\]]*\] "[^"]*" (\d+) (\d+|-)\n')


@fw.jit
def program(text):
    """A table of three columns; "-" for a size is 0."""
    quoted = fw.scan(fw.bitwise_xor, False, text == ord('"'))
    opened, closed = text == ord("["), text == ord("]")
    turns = (opened | closed, opened)  # whether a byte says if the next ones are in brackets
    last = fw.scan(lambda f, g: (f[0] | g[0], fw.where(g[0], g[1], f[1])), (False, False), turns)
    space = (text == ord(" ")) & ~last[1]
    ends = ~quoted & (space | (text == ord("\n")))
    ends = fw.filter(lambda i: ends[i], fw.iota(text.shape[0])).reshape(-1, FIELDS)

    def number(start, end):
        def digit(i, value):
            return value * 10 + (text[i] - ord("0")).astype(fw.i64)

        return fw.fori_loop(start, end, digit, fw.i64(0))

    def line(end):
        clock = fw.while_loop(lambda i: text[i] != ord(":"), lambda i: i + 1, end[2]) + 1
        hour, minute, second = (number(clock + k, clock + k + 2) for k in (0, 3, 6))
        size = fw.where(text[end[5] + 1] == ord("-"), end[6], end[5] + 1)
        return hour * 3600 + minute * 60 + second, number(end[4] + 1, end[5]), number(size, end[6])

    return fw.map(line, ends)


def before(text):
    """One match after the other."""
    found = np.array(LINE.findall(text.tobytes().replace(b" -\n", b" 0\n")) or np.zeros((0, 5)))
    numbers = found.astype(np.int64)
    return numbers[:, :3] @ np.array([3600, 60, 1]), numbers[:, 3], numbers[:, 4]


def inputs(size=200_000):
    """Requests through the day, some of which have no size."""
    draw = np.random.default_rng(39)
    paths = ["/", "/index.html", "/a page with spaces", "/" + "long/" * 12]
    lines = [
        f"10.0.{k % 256}.{k % 199} - user{k % 31} [27/Nov/2026:{t // 3600:02}:{t // 60 % 60:02}:"
        f'{t % 60:02} +0000] "GET {paths[k % 4]} HTTP/1.1" {status} {n if k % 9 else "-"}\n'
        for k, (t, status, n) in enumerate(zip(
            np.sort(draw.integers(0, 86400, size)), draw.choice([200, 304, 404, 500], size),
            draw.integers(0, 10**7, size), strict=True,
        ))
    ]  # fmt: skip
    return (np.frombuffer("".join(lines).encode(), np.uint8),)


def main():
    """A line."""
    line = b'::1 - - [27/Nov/2026:01:00:05 +0000] "GET / HTTP/1.1" 200 512\n'
    print(*(column.tolist() for column in program(np.frombuffer(line, np.uint8))))


if __name__ == "__main__":
    main()
