"""One kernel under construction: what it captures from the host, and element functions in it."""
