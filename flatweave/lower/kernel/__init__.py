"""One kernel under construction: its captured host values, and element functions in it."""
