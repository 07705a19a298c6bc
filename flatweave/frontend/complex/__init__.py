"""What functions mean for complex numbers: compositions of the same functions of floats.

A complex value is a pair of floats in a program. `RULES` says what each function makes of the
pairs; one that has no rule is refused.
"""

from flatweave.frontend.complex import arrays, elementary_functions

__all__ = ["arrays", "elementary_functions"]
