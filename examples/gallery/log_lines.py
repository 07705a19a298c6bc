"""Log lines: the second of the day, the status and the size of each request to a web server.

    python examples/gallery/log_lines.py

Line ends are found all at once; then each line is read from its start, as a loop would read it.

Before: a regular expression in Python.
"""

import re

import numpy as np

import flatweave as fw

PEER = "Python"

LINE = re.compile(rb'\S+ \S+ \S+ \[[^:]*:(\d\d):(\d\d):(\d\d)[^\]]*\] "[^"]*" (\d+) (\d+|-)\n')


@fw.jit
def program(text):
    """A table of three columns; "-" for a size is 0."""
    ends = fw.flatnonzero(text == ord("\n"))
    starts = fw.concat([fw.zeros(1, fw.i64), ends + 1])[:-1]

    def after(start, byte):
        return fw.while_loop(lambda i: text[i] != ord(byte), lambda i: i + 1, start) + 1

    def number(start, end):
        def digit(i, value):
            return value * 10 + text[i].astype(fw.i64) - ord("0")

        return fw.fori_loop(start, end, digit, fw.i64(0))

    def line(start, end):
        clock = after(after(start, "["), ":")
        status = after(after(clock, '"'), '"') + 1
        size = after(status, " ")
        hour, minute, second = (number(clock + k, clock + k + 2) for k in (0, 3, 6))
        digits = fw.where(text[size] == ord("-"), end, size)
        return hour * 3600 + minute * 60 + second, number(status, size - 1), number(digits, end)

    return fw.map(line, starts, ends)


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
