"""Variables, lets, lambdas and control: what both IRs are made of.

Here is whatever holds for terms of either IR: how they are built, printed, parsed, walked and
verified, and what is known of integers by how they are computed.

    syntax.py, control.py     terms; traverse.py walks and verifies them, batch.py evaluates many
    build.py                  the Builder, with body_facts.py
    bounds.py                 the least and greatest value; inequalities.py: whether a >= b
    operators.py              functions as operators: alike, by components, undone
    print.py, parse.py        their text
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "batch")
