"""The pictures of README.md, docs/start and docs/tutorial:

    python -m docs.pictures.start        writes them anew
"""

from __future__ import annotations

from docs.pictures.draw import CELL, COLOURS, GREY, HERE, INK, Picture

LEFT = 190
Values = list[tuple[str, int]]


class Steps(Picture):
    """Arrays from top to bottom, what makes one of another between them."""

    def brace(self, x: float, y: float, width: float, text: str) -> None:
        """A line below some cells, with a word."""
        self.parts.append(
            f'<path d="M{x:g} {y:g}v5h{width:g}v-5" stroke="{INK}" fill="none"/>'
        )
        self.word(x + width / 2, y + 20, text, "middle")

    def row(self, y: float, x: float, values: Values) -> None:
        """Cells from a position on."""
        for k, (text, colour) in enumerate(values):
            self.box(x + k * CELL, y, CELL, COLOURS[colour] if colour >= 0 else GREY, text)


def ragged() -> str:
    """Rows one by one, as the program says it; and the one loop that it becomes."""
    p = Steps(700, 392)
    p.word(12, 24, "fw.map(lambda row: fw.sum(fw.filter(lambda x: x > 1, row)), rows)")
    p.word(12, 58, "As written: each row separately")
    places = (LEFT, LEFT + 190, LEFT + 260)
    rows: list[Values] = [[("3", 0), ("1", 0), ("2", 0), ("4", 0)], [], [("5", 2), ("6", 2)]]
    kept: list[Values] = [[("3", 0), ("2", 0), ("4", 0)], [], [("5", 2), ("6", 2)]]
    sums: list[Values] = [[("9", 0)], [("0", 1)], [("11", 2)]]
    for y, name, arrays in ((72, "rows", rows), (112, "filter", kept), (152, "sum", sums)):
        p.word(12, y + 17, name)
        for x, array in zip(places, arrays, strict=True):
            if not array:
                p.word(x + CELL / 2, y + 17, "empty", "middle")
            p.row(y, x, array)
            if y < 150:
                p.arrow(x + CELL / 2, y + 26, x + CELL / 2, y + 38)
    p.word(LEFT + 365, 129, "an array for each row")
    p.word(12, 214, "As it runs: one loop over the values of all rows, in equal parts on all cores")
    p.word(12, 245, "values")
    p.row(228, LEFT, [value for row in rows for value in row])
    p.brace(LEFT, 256, 3 * CELL - 3, "core 1")
    p.brace(LEFT + 3 * CELL + 3, 256, 3 * CELL - 3, "core 2")
    p.word(12, 309, "kept, added up")
    added = [("3", 0), ("+0", 0), ("+2", 0), ("+4", 0), ("5", 2), ("+6", 2)]
    p.row(292, LEFT, added)
    p.word(LEFT + 6 * CELL + 20, 309, "in registers: none of it is stored")
    for k, place in ((0, 3.5), (2, 5.5)):
        p.arrow(LEFT + place * CELL, 318, LEFT + (k + 0.5) * CELL, 346)
    p.word(12, 363, "result")
    p.row(346, LEFT, [("9", 0), ("0", 1), ("11", 2)])
    p.word(LEFT + 6 * CELL + 20, 363, "written where a row ends")
    return p.text()


def fusion() -> str:
    """The same program as passes over arrays, and as one loop."""
    p = Steps(700, 326)
    prices = [(text, 0) for text in ("100", "120", "90", "110", "60")]
    peaks = [(text, 1) for text in ("100", "120", "120", "120", "120")]
    falls = [(text, 2) for text in ("0", "0", "30", "10", "60")]
    shares = [(text, 3) for text in ("0", "0", ".25", ".08", ".5")]
    p.word(12, 24, "Operation by operation: four passes, and three arrays in memory")
    for y, name, array in (
        (40, "prices", prices), (76, "peaks: a scan", peaks), (112, "peaks - prices", falls),
        (148, ".. / peaks", shares),
    ):  # fmt: skip
        p.cells(y, name, array)
        p.arrow(LEFT + 5 * CELL + 18, y + 12, LEFT + 5 * CELL + 18, y + 34)
        p.word(LEFT + 5 * CELL + 30, y + 34, "read, written" if y < 148 else "read: max is .5")
    p.word(12, 228, "Fused: one loop, nothing in memory but prices")
    p.cells(246, "prices", prices)
    for k in range(5):
        p.arrow(LEFT + (k + 0.5) * CELL, 272, LEFT + (k + 0.5) * CELL, 284)
    p.cells(286, "in registers", [(text, 3) for text in (".5", "..", "..", "..", "..")][::-1])
    p.word(LEFT + 5 * CELL + 20, 303, "peak, fall, greatest fall so far")
    return p.text()


def operations() -> str:
    """Six operations on arrays of few elements."""
    p = Steps(700, 300)
    xs: Values = [("3", 0), ("1", 1), ("2", 2)]
    pictures: list[tuple[str, Values, Values]] = [
        ("map (x => 10 x)", xs, [("30", 0), ("10", 1), ("20", 2)]),
        ("reduce (+) 0", xs, [("6", -1)]),
        ("scan (+) 0", xs, [("3", -1), ("4", -1), ("6", -1)]),
        ("filter (x => x > 1)", xs, [("3", 0), ("2", 2)]),
        ("expand (size x) ((x, i) => i)", xs,
         [("0", 0), ("1", 0), ("2", 0), ("0", 1), ("0", 2), ("1", 2)]),
        ("permute (+) at 0, 1, 0", xs, [("5", -1), ("1", 1)]),
    ]  # fmt: skip
    for k, (name, before, after) in enumerate(pictures):
        y = 20 + 46 * k
        p.word(12, y + 17, name)
        p.row(y, 210, before)
        p.arrow(210 + 3 * CELL + 12, y + 12, 210 + 3 * CELL + 50, y + 12)
        p.row(y, 210 + 3 * CELL + 66, after)
    return p.text()


def stored() -> str:
    """Two programs that differ in what y is: one stores it."""
    p = Steps(700, 430)
    p.word(12, 24, "z[i] = y[i - 1] + y[i] + y[i + 1]: elements of y are read up to three times")
    xs = [(f"x{k}", 0) for k in range(6)]
    right = LEFT + 6 * CELL + 20
    p.word(12, 62, "y = 2 * x is cheap: it is computed where it is read")
    p.cells(76, "x", xs)
    _neighbours(p, 102)
    p.word(right, 93, "computed: 12 products")
    p.word(right, 111, "stored: nothing but z")
    p.word(12, 200, "y = sum of each row of x is not: it is computed once, and stored")
    p.word(12, 231, "x, a row in each column")
    for line in range(3):
        p.row(214 + 24 * line, LEFT, [("", 0)] * 6)
    for k in range(6):
        p.arrow(LEFT + (k + 0.5) * CELL, 288, LEFT + (k + 0.5) * CELL, 312)
    p.cells(314, "y, in memory", [(f"y{k}", 1) for k in range(6)])
    _neighbours(p, 340)
    p.word(right, 331, "computed: 6 sums, not 12")
    p.word(right, 349, "stored: y and z")
    p.word(12, 418, "y = fw.store(2 * x) is computed once, and stored, too")
    return p.text()


def _neighbours(p: Steps, y: float) -> None:
    """Arrows from three elements to each of z, below."""
    p.row(y + 24, LEFT + CELL, [(f"z{k}", 2) for k in range(1, 5)])
    p.word(12, y + 41, "z")
    for k in range(1, 5):
        for step in (-1, 0, 1):
            x = LEFT + (k + 0.5) * CELL
            p.arrow(x + step * CELL, y, x + 8 * step, y + 22)


PICTURES = {
    "ragged.svg": ragged, "fusion.svg": fusion, "operations.svg": operations,
    "stored.svg": stored,
}  # fmt: skip

if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (HERE / name).write_text(drawn(), encoding="utf-8")
