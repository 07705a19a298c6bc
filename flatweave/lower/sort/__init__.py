"""Sorts by radix, in passes of blocks or lanes over digits; of a row, by a network."""
