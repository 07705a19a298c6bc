"""Pictures of pages: a ragged program, a nested one and a kernel, as chromium shows them.

    python docs/pictures/pages.py        writes page_ragged.png, page_nested.png, page_kernel.png

Times on them are those of the machine that drew them: no test compares the pictures.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import flatweave as fw
from flatweave import kernel as fk

HERE = Path(__file__).resolve().parent
COLOURS = 64
LIT = "<script>document.querySelector('{}').dispatchEvent(new Event('click', {{bubbles: true}}))"


@fw.jit(target="cpu")
def squares_about_mean(xss: Any) -> Any:
    means = fw.map(lambda row: fw.sum(row) / row.shape[0], xss)
    centred = fw.map(lambda row, m: fw.map(lambda v: (v - m) ** 2, row), xss, means)
    return fw.map(fw.sum, centred)


@fw.jit(target="cpu")
def smoothed(xs: Any, sizes: Any) -> Any:
    def mean(n: Any) -> Any:
        steps = fw.iota(n)
        weights = fw.map(lambda k: fw.exp(-0.1 * k), steps)
        return fw.sum(fw.map(lambda k, w: w * xs[k], steps, weights)) / fw.sum(weights)

    return fw.sort(fw.map(mean, sizes))


@fk.kernel(target="cpu")
def sums_of_blocks(xs: Any) -> Any:
    def block(part: Any) -> Any:
        while part.length > 1:
            a, b = fk.halve(part)
            part = fk.force(fk.zip_with(lambda x, y: x + y, a, b))
        return part

    return fk.pconcat_map(block, fk.split_up(64, xs))


def picture(stages: fw.Stages, name: str, size: tuple[int, int], chosen: str) -> None:
    """A page with something chosen on it, as a PNG of few colours."""
    with tempfile.TemporaryDirectory() as folder:
        page = stages.page(Path(folder) / f"{name}.html")
        text = page.read_text(encoding="utf-8")
        lit = LIT.format(chosen) + "</script></body>"
        page.write_text(text.replace("</body>", lit), encoding="utf-8")
        shot = Path(folder) / "shot.png"
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={folder}/profile", f"--window-size={size[0]},{size[1]}",
             f"--screenshot={shot}", page.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        few = Image.open(shot).convert("RGB").quantize(COLOURS)
        few.save(HERE / f"page_{name}.png", optimize=True)


def main() -> None:
    """All three."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 60, 20_000)
    xss = fw.ragged(rng.random(int(lengths.sum())), lengths=lengths)
    picture(squares_about_mean.stages(xss), "ragged", (1400, 1160), ".line:last-child")
    sizes = rng.integers(1, 200, 10_000)
    picture(smoothed.stages(rng.random(200), sizes), "nested", (1400, 1160), "#fused .hue0")
    xs = np.arange(256, dtype=np.float32)
    picture(sums_of_blocks.stages(xs), "kernel", (1300, 900), ".line")


if __name__ == "__main__":
    main()
