"""The programs of tests/language, made once more in chunks, are those of one machine."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["1", "7", "1000"])
@pytest.mark.parametrize("name", ["nests", "segments", "contractions"])
def test_what_has_a_rule_gives_the_same(name, rows):
    """Nothing differs, and nothing goes wrong; most calls have a rule."""
    path = f"tests/language/test_{name}.py"
    command = [sys.executable, "-m", "tests.cluster.language", path, "--rows", rows]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split(" ", 2) for line in said.stdout.splitlines() if " calls " in line]
    calls = {what: int(count) for count, _, what in lines}

    assert said.returncode == 0, said.stdout
    assert calls["equal"] > 5 * (sum(calls.values()) - calls["equal"])
