"""The class of arrays, by the name of its module in array-api-strict."""

from flatweave import Array

__all__ = ["Array"]
