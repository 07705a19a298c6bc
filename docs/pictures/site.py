"""The picture of the site's front page, as chromium shows it:

    make docs && python -m docs.pictures.site        writes docs/pictures/site.png
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "build" / "site" / "index.html"
COLOURS = 64


def main() -> None:
    """At 1,400 pixels, light."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={folder}/profile", "--window-size=1400,1400",
             f"--screenshot={shot}", PAGE.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        Image.open(shot).convert("RGB").quantize(COLOURS).save(HERE / "site.png", optimize=True)


if __name__ == "__main__":
    main()
