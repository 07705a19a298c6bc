"""Kernel IR becomes text for a machine."""
