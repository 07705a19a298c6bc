"""What messages call a function of the scalar table: by its operator where it has one.

    SYMBOLS["truediv"], SYMBOLS["left_shift"]       "/", "<<"
"""

from __future__ import annotations

SYMBOLS = {
    "sub": "-", "add": "+", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "neg": "-",
    "and": "&", "or": "|", "xor": "^", "not": "~", "shl": "<<", "shr": ">>", "pow": "**",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "equal": "==",
    "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "bitwise_not": "~",
    "left_shift": "<<", "right_shift": ">>", "power": "**", "positive": "+",
}  # fmt: skip
