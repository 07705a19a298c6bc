"""Fusion: what is computed where it is read, and which sweeps become one."""
