"""Structure tests look into the examples, too."""

from tests.examples.conftest import example

__all__ = ["example"]
