"""The table of first calls: the least of the rounds, the slowest function first."""

from bench.example_calls import least, page


def test_the_least_of_the_rounds_counts():
    """A function that one round did not reach has the other's time."""
    assert least([{"f": 2.0, "g": 1.0}, {"f": 1.5}]) == {"f": 1.5, "g": 1.0}


def test_the_slowest_function_is_first_with_its_time_before():
    """A function that is new has no time before."""
    text = page({"f": 0.25, "g": 1.0}, {"f": 0.5})

    assert text.splitlines()[-2:] == ["| g |  | 1.00 |", "| f | 0.50 | 0.25 |"]
    assert "Geometric mean of after over before: 0.50." in text
