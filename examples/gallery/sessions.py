"""Sessions: events of one user that follow each other closely, as start, duration and number.

    python examples/gallery/sessions.py

Events are sorted by user and time; a session starts with another user or after a long pause.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


@fw.jit
def program(users, times, pause):
    """Of each session its user, first time, duration and number of events."""
    users, times = fw.sort((users, times))

    def starts(i):
        last = fw.maximum(i - 1, 0)
        return (i == 0) | (users[i] != users[last]) | (times[i] - times[last] > pause)

    n = users.shape[0]
    first = fw.filter(starts, fw.iota(n))
    after = fw.concat([first[1:], fw.full(fw.minimum(n, 1), n)])
    return users[first], times[first], times[after - 1] - times[first], after - first


def before(users, times, pause):
    """The same, in NumPy."""
    order = np.lexsort((times, users))
    users, times = users[order], times[order]
    new = (np.diff(users) != 0) | (np.diff(times) > pause)
    first = np.flatnonzero(np.concatenate([[True][: len(users)], new]))
    after = np.append(first[1:], [len(users)][: len(users)]).astype(np.int64)
    return users[first], times[first], times[after - 1] - times[first], after - first


def inputs(size=500_000):
    """A day's events of users, in seconds, in any order, and half an hour."""
    draw = np.random.default_rng(19)
    return draw.integers(0, size // 50 + 1, size), draw.integers(0, 86_400, size), 1800


def main():
    """Two users."""
    found = program(np.array([7, 9, 7, 7]), np.array([100, 50, 5000, 160]), 600)
    print([tuple(session) for session in np.transpose(found).tolist()])


if __name__ == "__main__":
    main()
