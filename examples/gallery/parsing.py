"""Parsing numbers: lines of text such as -12.75 become an array of floats.

    python examples/gallery/parsing.py

A piece of a number is (digits, 10 to how many, a point in it, 10 to how many after the point);
two pieces side by side are one again, so all bytes are read at once.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


def join(a, b):
    """Two successive pieces of a number."""
    behind = fw.where(b[2], b[3], fw.where(a[2], a[3] * b[1], 1))
    return a[0] * b[1] + b[0], a[1] * b[1], a[2] | b[2], behind


def piece(byte):
    """One byte of a number."""
    is_digit = (byte >= ord("0")) & (byte <= ord("9"))
    digit = fw.where(is_digit, byte.astype(fw.i64) - ord("0"), 0)
    return digit, fw.where(is_digit, 10, 1), byte == ord("."), 1


@fw.jit
def program(text):
    """The number on each line; every line ends with a line end."""
    starts = fw.concat([fw.full(fw.minimum(text.shape[0], 1), True), text[:-1] == ord("\n")])
    pieces = fw.map(piece, text)
    digits, _, _, behind = fw.segmented_reduce(join, (0, 1, False, 1), starts, pieces)
    negative, _ = fw.filter(lambda pair: pair[1], (text == ord("-"), starts))
    return fw.where(negative, -1.0, 1.0) * digits / behind


def before(text):
    """Lines as Python's strings."""
    return np.array(text.tobytes().split(), np.float64)


def inputs(size=200_000):
    """Numbers with two digits after the point."""
    numbers = np.random.default_rng(11).uniform(-1000, 1000, size)
    return (np.frombuffer("".join(f"{x:.2f}\n" for x in numbers).encode(), np.uint8),)


def main():
    """Three lines."""
    print(program(np.frombuffer(b"3.25\n-17\n0.001\n", np.uint8)).tolist())


if __name__ == "__main__":
    main()
