"""Kernels as programs: traced, built, simulated, called, tuned."""
