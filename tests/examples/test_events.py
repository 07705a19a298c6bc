"""examples/events.py finds the pairs that plain Python finds, also in columns of Arrow."""

import math

import numpy as np
import pytest

import flatweave as fw


def plain_masses(rows):
    """The same, one collision after the other."""
    found = []
    for row in rows:
        good = [m for m in row if m.pt > 20 and abs(m.eta) < 2.4]
        if len(good) < 2:
            continue
        a, b = sorted(good, key=lambda m: -m.pt)[:2]
        if a.charge != b.charge:
            angle = math.cosh(a.eta - b.eta) - math.cos(a.phi - b.phi)
            found.append(math.sqrt(2 * a.pt * b.pt * angle))
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_masses_are_those_of_plain_python(example, target, count):
    """Of no collisions, of some without muons, of many."""
    events = example("events")
    muons = events.made_up(count)

    found = np.asarray(events.masses(muons))
    np.testing.assert_allclose(found, plain_masses(muons.tolist()), rtol=1e-12)
    if count == 500:
        assert np.argmax(events.spectrum(muons)) == 91 // events.WIDTH


def test_columns_of_arrow(example):
    """A table's columns of lists are the same rows."""
    pa = pytest.importorskip("pyarrow")
    events = example("events")
    muons = events.made_up(100)
    table = pa.table({name: muons[name].to_arrow() for name in events.Muon._fields})

    found = events.of_columns(table)
    assert found.tolist() == muons.tolist()
    assert np.shares_memory(np.asarray(found.values.pt), np.asarray(muons.values.pt))


def test_records_of_awkward(example):
    """An array of records is taken as it is."""
    ak = pytest.importorskip("awkward")
    events = example("events")
    muons = events.made_up(100)

    there = muons.to_awkward()
    assert ak.fields(there) == list(events.Muon._fields)
    again = fw.ragged(there)
    assert fw.ragged(events.Muon(**again.values), offsets=again.offsets).tolist() == muons.tolist()
