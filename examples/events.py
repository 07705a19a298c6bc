"""Particles of collisions as ragged rows: the masses of pairs of muons, of which some were one.

    python examples/events.py                 collisions that are made up, with pairs of mass 91
    python examples/events.py FILE.parquet    those of a file, whose columns pt, eta, phi, charge
                                              are lists (needs pyarrow; nothing is copied)

A row is what one collision gave, any number of muons. Rows are filtered, sorted and indexed
like those of a matrix; where too few are left, the collision is left out.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw

COUNT, WIDTH, BINS = 200_000, 4.0, 40


class Muon(NamedTuple):
    """What is known of a muon; of an array of them, arrays."""

    pt: Any  # momentum across the beam, in GeV
    eta: Any  # along the beam
    phi: Any  # around it
    charge: Any


@fw.jit
def masses(muons: Any) -> Any:
    """The mass of the two fastest muons of each collision, if their charges are opposite."""
    good = muons[(muons["pt"] > 20) & (fw.abs(muons["eta"]) < 2.4)]
    ordered = fw.sort(good, key=lambda muon: -muon.pt, axis=1)
    pairs = ordered[ordered.lengths >= 2]
    a, b = pairs[:, 0], pairs[:, 1]
    mass = fw.sqrt(2 * a.pt * b.pt * (fw.cosh(a.eta - b.eta) - fw.cos(a.phi - b.phi)))
    return mass[a.charge != b.charge]


@fw.jit
def spectrum(muons: Any) -> Any:
    """How many pairs have a mass of 0 to 4 GeV, 4 to 8, and so on."""
    return fw.histogram(BINS, (masses(muons) / WIDTH).astype(fw.i64))


def of_columns(table: Any) -> fw.Ragged:
    """The muons of a table with a column of lists for each field, such as Arrow's."""
    columns = [fw.ragged(table[name]) for name in Muon._fields]
    return fw.ragged(Muon(*(x.values for x in columns)), offsets=columns[0].offsets)


def made_up(count: int, seed: int = 1) -> fw.Ragged:
    """Collisions with some muons at random; every second one has a pair from a decay as well."""
    rng = np.random.default_rng(seed)
    others, decayed = rng.poisson(1.5, count), np.arange(count) % 2
    total = int(others.sum())
    row = np.concatenate([np.repeat(np.arange(count), n) for n in (others, decayed, decayed)])
    half, phi = rng.normal(91.2, 2.5, count // 2) / 2, rng.uniform(-np.pi, np.pi, count // 2)
    eta = rng.normal(0, 1, count // 2)
    order = np.argsort(row, kind="stable")
    muons = Muon(
        np.concatenate([rng.exponential(15, total), half, half]),
        np.concatenate([rng.normal(0, 1.5, total), eta, eta]),
        np.concatenate([rng.uniform(-np.pi, np.pi, total), phi, phi + np.pi]),
        np.concatenate([rng.choice([-1, 1], total), half > 0, -(half > 0).astype(int)]),
    )
    return fw.ragged(Muon(*(x[order] for x in muons)), lengths=others + 2 * decayed)


def main(arguments: list[str]) -> None:
    """Print the spectrum of a file, or of what is made up."""
    if arguments:
        from pyarrow import parquet

        muons = of_columns(parquet.read_table(arguments[0]))
    else:
        muons = made_up(COUNT)
    counts = np.asarray(spectrum(muons))
    print(f"{len(muons)} collisions, {muons.size} muons, {counts.sum()} pairs of opposite charge")
    for number, count in enumerate(counts.tolist()):
        print(f"{number * WIDTH:5.0f} GeV {count:7} {'#' * (50 * count // max(counts.max(), 1))}")


if __name__ == "__main__":
    main(sys.argv[1:])
