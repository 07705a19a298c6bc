"""Sweeps that write to computed indices, where blocks divide the destination or the elements."""
