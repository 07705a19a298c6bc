"""The small pictures of the gallery, one for each program of examples, from what it computes:

    python -m docs.pictures.thumbnails [NAME ..]      writes docs/pictures/gallery/*.png

    picture()             numbers of the program's own choice, a pixel each
    draw(folder)          the picture that the program draws
    cases(quick)          otherwise the result of the first case on its small input,
    program, inputs       or that of the program on a small input:
                          a matrix is shown as pixels, rows of numbers as lines, numbers as text
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import flatweave as fw
from docs.making.gallery import name_of
from flatweave.notebook import levels, palette

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
SIZE, COLOURS, HEIGHT = 360, 48, 90
MANY = 3  # lines in a picture
# programs whose pictures take arguments before the folder, and the name of the picture
DRAWN = {
    "kernels/mandelbrot": ([], "mandel1"),
    "kmeans": (["data/astronaut.png"], "kmeans"),
    "landscape": ([], "landscape"),
    "mandelbrot": ([], "mandelbrot"),
    "quickhull": (["5000"], "quickhull"),
    "render": (["data/teapot.npz"], "teapot"),
    "rmat": (["14"], "rmat"),
    "shapes": ([], "triangles"),
    "sieve": (["1000000"], "primes"),
    "sobel": (["data/astronaut.png"], "sobel"),
}
SIZES = {
    "alignment": 40, "box_filter": 180, "minhash": 40, "option": 2000, "queens": 7, "top_k": 120,
}  # fmt: skip
SMALL = {"megabytes": 1, "number": 2000, "scale": 8, "limit": 2000, "n": 60}  # of cases(..)

# programs with neither: what they compute, on an input of the picture's own
COMPUTED = {
    "complex_steps": lambda m: m.by_complex_steps(np.sin, np.linspace(0, 6, 60))[1][0],
    "events": lambda m: m.spectrum(m.made_up(2000)),
    "mesh": lambda m: m.read(EXAMPLES / "data" / "teapot.npz").normals,
    "quicksort": lambda m: m.quicksort(np.random.default_rng(1).random(200))[0],
    "scipy_fit": lambda m: m.fitted()[1],
    "torch_layer": lambda m: m.pooled(*m.documents(40)[:2], np.array([1.0, 0, 0, 0])).T,
    "total": lambda m: m.total(np.arange(1000, dtype=np.float32)),
}  # fmt: skip


def main(names: list[str]) -> None:
    """All of them, or those that are named."""
    (HERE / "gallery").mkdir(exist_ok=True)
    sys.path.insert(0, str(EXAMPLES))
    for path in sorted(EXAMPLES.rglob("*.py")):
        name = name_of(path)
        if name is not None and (not names or name in names):
            small = drawn(name).convert("RGB")
            small.thumbnail((SIZE, SIZE))
            target = HERE / "gallery" / f"{name.replace('/', '_')}.png"
            small.quantize(COLOURS).save(target, optimize=True)


def drawn(name: str) -> Image.Image:
    """The picture of a program."""
    with tempfile.TemporaryDirectory() as folder:
        if name in DRAWN:
            arguments, picture = DRAWN[name]
            command = [sys.executable, f"{name}.py", *arguments, folder]
            subprocess.run(command, cwd=EXAMPLES, check=True, capture_output=True)
            return Image.open(Path(folder) / f"{picture}.png").copy()
        module = loaded(name)
        if hasattr(module, "draw"):
            return Image.open(module.draw(Path(folder))).copy()
        if hasattr(module, "picture") and not inspect.signature(module.picture).parameters:
            return shown(module.picture())
        return shown(computed(module, name, Path(folder)))


def loaded(name: str) -> Any:
    """A program as a module; without PyTorch, that of its layer has NumPy's arrays."""
    stands_in = name == "torch_layer" and importlib.util.find_spec("torch") is None
    if stands_in:
        sys.modules["torch"] = types.SimpleNamespace(tensor=np.asarray)  # type: ignore[assignment]
    module = importlib.import_module(name.replace("/", "."))
    if stands_in:
        del sys.modules["torch"]
    return module


def computed(module: Any, name: str, folder: Path) -> Any:
    """What a program gives for a small input; chunks as one array."""
    if name in COMPUTED:
        return COMPUTED[name](module)
    if not hasattr(module, "cases"):
        return module.program(*module.inputs(SIZES.get(name.rpartition("/")[2], 1000)))
    values = {"folder": folder, "quick": True} | SMALL
    wanted = inspect.signature(module.cases).parameters
    case = next(iter(module.cases(**{each: values[each] for each in wanted if each in values})))
    return case[3 if "folder" in wanted else 2]()


def arrays(value: Any) -> Iterator[np.ndarray]:
    """The numbers in a result."""
    if isinstance(value, fw.Ragged):
        value = value.values
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list) and not all(isinstance(x, int | float) for x in value):
        for part in value:
            yield from arrays(part)
        return
    found = np.asarray(value)
    if found.dtype.kind in "biufc":
        yield found


def shown(value: Any) -> Image.Image:
    """Pixels of a matrix, else lines of rows of numbers, else numbers as text."""
    found = sorted(arrays(value), key=lambda each: -each.size)
    large = [each for each in found if each.size > MANY]
    if not large:
        return text("   ".join(f"{x:.6g}" for each in found for x in each.ravel()))
    first = large[0]
    if first.ndim >= 2 and min(first.shape[-2:]) > MANY:
        matrix = first.reshape(-1, first.shape[-1])
        height, width = matrix.shape
        return pixels(matrix[: 2 * width, : 2 * height])  # the first rows of a tall one
    rows = [row for each in large for row in lines_of(each)]
    return lines(rows[:MANY])


def lines_of(array: np.ndarray) -> Iterator[np.ndarray]:
    """The columns of a tall matrix, the rows of a wide one."""
    matrix = np.abs(array) if array.dtype.kind == "c" else array
    matrix = matrix.reshape(-1, matrix.shape[-1]).astype(np.float64)
    yield from matrix.T if matrix.shape[1] <= MANY else matrix


def pixels(numbers: np.ndarray) -> Image.Image:
    """Small numbers dark, large ones light, as in notebooks; few of them as squares."""
    image = Image.fromarray(levels(numbers)[0], "P")
    image.putpalette(palette())
    times = max(1, SIZE // max(image.size))
    return image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)


def lines(rows: list[np.ndarray]) -> Image.Image:
    """A line for each row of numbers, one below the other."""
    image = Image.new("RGB", (SIZE, HEIGHT * len(rows)), "white")
    pen = ImageDraw.Draw(image)
    for k, row in enumerate(rows):
        finite = row[np.isfinite(row)]
        least, most = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
        across = np.linspace(4, SIZE - 5, row.size)
        down = (k + 1) * HEIGHT - 6 - (row - least) / ((most - least) or 1) * (HEIGHT - 12)
        points = [(x, y) for x, y in zip(across, down, strict=True) if np.isfinite(y)]
        if len(points) < SIZE // 4:
            for x, y in points:
                pen.ellipse((x - 2, y - 2, x + 2, y + 2), "#446cb3")
        pen.line(points, "#446cb3", 1)
    return image


def text(numbers: str) -> Image.Image:
    """Numbers, where there is nothing else to see."""
    image = Image.new("RGB", (SIZE, HEIGHT), "white")
    pen = ImageDraw.Draw(image)
    pen.text((SIZE / 2, HEIGHT / 2), numbers, "#446cb3", ImageFont.load_default(28), "mm")
    return image


if __name__ == "__main__":
    main(sys.argv[1:])
