"""The page of first calls: the least figures, and the import."""

from bench import first_calls


def test_the_page_has_cpu_time_and_time_by_the_clock():
    """Of each program without a cache and with one; of the import the least of all."""
    runs = {"nothing cached": [0.09, 0.2, 0.204, 0.84], "second process": [0.08, 0.3, 0.0049, 0.02]}
    text = first_calls.page({"date": "2026-01-01 00:00 UTC"}, {"sort": runs})

    assert "| sort | 204 / 840 | 4.9 / 20 |" in text
    assert "`import flatweave`, NumPy imported before: 80 / 200." in text


def test_the_least_of_each_figure(monkeypatch):
    """One process more fills the cache."""
    asked = []

    def fresh(program, folder, cached):
        asked.append(cached)
        return [float(len(asked)), 1.0, 2.0, 10.0 - len(asked)]

    monkeypatch.setattr(first_calls, "fresh", fresh)
    found = first_calls.measured("sort", "folder")

    assert asked == [True] + [False] * first_calls.TURNS + [True] * first_calls.TURNS
    assert found["nothing cached"] == [2.0, 1.0, 2.0, 5.0]
