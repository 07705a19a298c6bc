"""Nests a row after the other: the program of one row, run by one thread."""
