"""The page in small, as a notebook shows it: the lines, both graphs, the passes.

It stands in a frame of its own, so that its style and its keys are not those of the notebook. The
program is not run for it, and no kernel is made: it has what is known already.
"""

from __future__ import annotations

from flatweave.base.html import tag
from flatweave.frontend.call.compiled import Stages
from flatweave.page.passes import is_large
from flatweave.page.write import page

HEIGHT = 460


def small(stages: Stages) -> str | None:
    """HTML of a call that has been compiled; None for a program that takes long to draw."""
    program = stages.executable.whole.traced
    if program is not None and is_large(program):
        return None
    frame = tag(
        "iframe", srcdoc=page(stages, run=False, is_small=True), title=f"stages of {stages.name}",
        style=f"width:100%;height:{HEIGHT}px;resize:vertical;overflow:auto;border:1px solid"
        " color-mix(in srgb,currentColor 25%,transparent)",
    )  # fmt: skip
    return frame
