"""The array language: programs of named whole-array operations."""
