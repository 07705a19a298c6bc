"""The pictures of docs/nested.md:  python docs/pictures/draw.py  writes them anew."""

from pathlib import Path

HERE = Path(__file__).parent
CELL = 34
COLOURS = ("#bcd7f2", "#f6d5a8", "#c9e6bf", "#e3c8ec")
GREY, INK = "#e8e8e8", "#202020"


class Picture:
    """Rectangles, lines and words on white, as SVG."""

    def __init__(self, width: int, height: int) -> None:
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
        )
        self.parts = [f'<rect width="{width}" height="{height}" fill="white"/>']

    def word(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{INK}">{escaped}</text>'
        )

    def box(self, x: float, y: float, width: float, colour: str, text: str = "") -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="24" fill="{colour}"'
            f' stroke="{INK}" stroke-width="0.7"/>'
        )
        self.word(x + width / 2, y + 17, text, "middle")

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        self.parts.append(
            f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{INK}" fill="none"/>'
            f'<circle cx="{to_x:g}" cy="{to_y:g}" r="2.5" fill="{INK}"/>'
        )

    def cells(self, y: float, name: str, values: list[tuple[str, int]]) -> None:
        """An array; each value has the colour of its row, -1 for none."""
        self.word(12, y + 17, name)
        for k, (text, row) in enumerate(values):
            self.box(190 + k * CELL, y, CELL, COLOURS[row] if row >= 0 else GREY, text)

    def text(self) -> str:
        return "\n".join([self.head, *self.parts, "</svg>"]) + "\n"


def descriptors() -> str:
    """A nest made flat: the values of all rows, and offsets that say where rows begin."""
    p = Picture(700, 290)
    p.word(12, 24, "map (row => cumsum (filter (x => x > 1) row))   of rows  [3 1 2]  []  [5 4]")
    plain = [("0", -1), ("3", -1), ("3", -1), ("5", -1)]
    p.cells(44, "offsets", plain)
    p.cells(74, "values", [("3", 0), ("1", 0), ("2", 0), ("5", 2), ("4", 2)])
    p.cells(124, "flags, of all values", [("T", 0), ("F", 0), ("T", 0), ("T", 2), ("T", 2)])
    p.cells(164, "filter, once", [("3", 0), ("2", 0), ("5", 2), ("4", 2)])
    p.cells(194, "new offsets", [("0", -1), ("2", -1), ("2", -1), ("4", -1)])
    p.cells(244, "scan, begun anew in rows", [("3", 0), ("5", 0), ("5", 2), ("9", 2)])
    for y, to_y in ((98, 124), (148, 164), (218, 244)):
        p.arrow(190 + CELL / 2, y, 190 + CELL / 2, to_y)
    p.word(400, 61, "a row begins at its offset, ends at the next")
    p.word(400, 181, "counts of flags in each row,")
    p.word(400, 199, "added up, are the new offsets")
    p.word(400, 261, "the colour is the row")
    return p.text()


def versions() -> str:
    """The same work in time: each step for all rows, or each row with all steps."""
    p = Picture(640, 250)
    steps = ("sort", "filter", "scan")
    p.word(12, 22, "flat: every step is done for all rows, by every core")
    for core in range(2):
        p.word(12, 53 + 28 * core, f"core {core + 1}")
        x = 70.0
        for step, width in zip(steps, (240, 160, 140), strict=True):
            for row in range(4):
                p.box(x, 36 + 28 * core, width / 4, COLOURS[row], step if row == 0 else "")
                x += width / 4
            x += 6
    p.word(12, 116, "by row: a core takes a row from its first step to its last, then the next row")
    for core, rows in enumerate(((0, 2), (1, 3))):
        p.word(12, 147 + 28 * core, f"core {core + 1}")
        x = 70.0
        for row in rows:
            for step, width in zip(steps, (84, 46, 40), strict=True):
                p.box(x, 130 + 28 * core, width, COLOURS[row], step)
                x += width
            x += 6
    p.word(12, 208, "The colour is the row. Flat, arrays of all rows go through memory;")
    p.word(12, 226, "all cores share a long row. By row, a row's arrays stay in a core's cache.")
    return p.text()


def choice() -> str:
    """The questions that choose a version."""
    p = Picture(640, 316)
    p.word(12, 24, "Is a version wished for?  fw.schedule(version=..), FLATWEAVE_SCHEDULE")
    questions = (
        "Was the program tuned here (fw.tune)?  Then these are its own thresholds:",
        "Are there 64 rows or more?",
        "Has the longest at most 65,536 values?",
        "Has it at most 1/16 of all values?",
        "Is there a loop over arrays, or a sort of rows of 6 values or more?",
    )
    p.arrow(470, 20, 560, 20)
    p.word(570, 24, "that one")
    for k, question in enumerate(questions):
        y = 62 + 44 * k
        p.arrow(24, y - 32, 24, y - 16)
        p.word(12, y, question)
        if k:
            p.arrow(470, y - 4, 560, y - 4)
            p.word(500, y - 10, "no")
            p.word(570, y, "flat")
            p.word(34, y + 22, "yes")
        else:
            p.word(34, y - 20, "no")
    p.arrow(24, 62 + 44 * 4 + 12, 24, 62 + 44 * 4 + 30)
    p.word(12, 62 + 44 * 5 + 6, "by row")
    return p.text()


PICTURES = {"descriptors.svg": descriptors, "versions.svg": versions, "choice.svg": choice}

if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (HERE / name).write_text(drawn(), encoding="utf-8")
