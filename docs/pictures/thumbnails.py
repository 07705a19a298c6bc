"""The small pictures of the gallery, which the examples draw:

    python -m docs.pictures.thumbnails      writes docs/pictures/gallery/*.png
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
SIZE, COLOURS = 360, 48
# which program draws the picture of a page, with which arguments before the folder, and its name
DRAWN = {
    "kernels_mandelbrot": ("kernels/mandelbrot.py", [], "mandel1"),
    "kmeans": ("kmeans.py", ["data/astronaut.png"], "kmeans"),
    "landscape": ("landscape.py", [], "landscape"),
    "mandelbrot": ("mandelbrot.py", [], "mandelbrot"),
    "quickhull": ("quickhull.py", ["5000"], "quickhull"),
    "render": ("render.py", ["data/teapot.npz"], "teapot"),
    "rmat": ("rmat.py", ["14"], "rmat"),
    "shapes": ("shapes.py", [], "triangles"),
    "sieve": ("sieve.py", ["1000000"], "primes"),
    "sobel": ("sobel.py", ["data/astronaut.png"], "sobel"),
}


def main() -> None:
    """All of them."""
    (HERE / "gallery").mkdir(exist_ok=True)
    for name, (program, arguments, picture) in DRAWN.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, program, *arguments, folder]
            subprocess.run(command, cwd=EXAMPLES, check=True, capture_output=True)
            small = Image.open(Path(folder) / f"{picture}.png").convert("RGB")
            small.thumbnail((SIZE, SIZE))
            few = small.quantize(COLOURS)
            few.save(HERE / "gallery" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
