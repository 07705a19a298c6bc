"""target="auto" and devices=[..]: where a call is done first, and how several devices share one.

Here is what chooses among targets by what a call asks and how fast each is; the targets themselves
are in `targets.py` and `runtime/devices`.
"""
