"""The programs of tests/language, made once more in chunks, are those of one machine."""

import subprocess
import sys
from collections import Counter

import pytest

NAMES = ("nests", "segments")


def calls_of(name, *options):
    """How many calls of a file's tests are equal in chunks, have no rule, and are left out, by
    the first word; all of them must be as on one machine."""
    path = f"tests/language/test_{name}.py"
    command = [sys.executable, "-m", "tests.cluster.language", path, *options]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr

    found = Counter()
    for line in said.stdout.splitlines():
        if " calls " in line:
            count, _, what = line.split(" ", 2)
            found[what.split()[0]] += int(count)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["1", "7", "1000"])
@pytest.mark.parametrize("name", NAMES)
def test_what_has_a_rule_gives_the_same(name, rows):
    """Nothing differs, and nothing goes wrong; most calls have a rule."""
    calls = calls_of(name, "--rows", rows)

    assert calls["equal"] > 5 * calls["without"]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["1", "7", "1000"])
def test_it_does_so_on_processes(rows):
    """Workers of a cluster compute the chunks, where nothing differs either."""
    pytest.importorskip("distributed")
    calls = calls_of("nests", "--rows", rows, "--workers", "2", "-k", "not interp")

    assert calls["equal"] > 5 * calls["without"]
