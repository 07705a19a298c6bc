"""Pictures of pages: a ragged program, a nested one and a kernel, as chromium shows them, and of
what a notebook shows, in light and in dark.

    python docs/pictures/pages.py        writes page_ragged.png, page_nested.png, page_kernel.png,
                                         notebook.png

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
ZIPF = 1 / np.arange(1, 2001) / np.sum(1 / np.arange(1, 2001))
LIT = "<script>document.querySelector('{}').dispatchEvent(new Event('click', {{bubbles: true}}))"

NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>body {{ {colours}; margin: 12px }}
div > div {{ margin-bottom: 14px }}</style><body>{cells}</body>"""


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
        keep(shown(text.replace("</body>", lit), size), f"page_{name}")


def shown(text: str, size: tuple[int, int], is_dark: bool = False) -> Image.Image:
    """What chromium shows of a page."""
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "page.html", Path(folder) / "shot.png"
        page.write_text(text, encoding="utf-8")
        dark = ["--blink-settings=preferredColorScheme=0"] if is_dark else []
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *dark,
             f"--user-data-dir={folder}/profile", f"--window-size={size[0]},{size[1]}",
             f"--screenshot={shot}", page.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        return Image.open(shot).convert("RGB")


def keep(image: Image.Image, name: str) -> None:
    """Write a picture next to this file, with few colours."""
    image.quantize(COLOURS).save(HERE / f"{name}.png", optimize=True)


def notebook(values: list[Any], size: tuple[int, int]) -> None:
    """What a notebook shows of values, in light and in dark, side by side."""
    cells = "".join(f"<div>{value._repr_html_()}</div>" for value in values)
    both = Image.new("RGB", (2 * size[0], size[1]))
    for k, colours in enumerate(("background:#fff;color:#1b1f24", "background:#111418;color:#ddd")):
        text = NOTEBOOK.format(colours=colours, cells=cells)
        both.paste(shown(text, size, is_dark=bool(k)), (k * size[0], 0))
    keep(both, "notebook")


def main() -> None:
    """All of them."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 60, 20_000)
    xss = fw.ragged(rng.random(int(lengths.sum())), lengths=lengths)
    picture(squares_about_mean.stages(xss), "ragged", (1400, 1160), ".line:last-child")
    sizes = rng.integers(1, 200, 10_000)
    picture(smoothed.stages(rng.random(200), sizes), "nested", (1400, 1160), "#fused .hue0")
    xs = np.arange(256, dtype=np.float32)
    picture(sums_of_blocks.stages(xs), "kernel", (1300, 900), ".line")
    y, x = np.mgrid[0:300, 0:400] / 30
    waves = fw.asarray(np.where(x + y > 20, np.nan, np.sin(x) * np.cos(y)))
    zipf = fw.ragged(np.zeros(50_000, np.float32), lengths=rng.multinomial(50_000, ZIPF))
    notebook([waves, zipf, fw.iota(6), squares_about_mean.stages(xss)], (660, 880))


if __name__ == "__main__":
    main()
