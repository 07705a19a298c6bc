"""Derivatives: a traced program becomes another traced program, before any pass runs.

    modes.py      forward: each operation is followed by its tangent; in reverse, after the
                  operations, from the last to the first, what each adds to cotangents; which
                  variables have any
    derive.py     both modes on a lambda; the rule of each operation, or why it has none

Each family of operations has a file with its rules. The front end traces a function, has it
transformed and emits the result into the trace in progress, so derivatives nest.
"""
