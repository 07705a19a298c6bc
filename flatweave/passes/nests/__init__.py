"""Nested parallelism made flat: see `lift.py`."""
