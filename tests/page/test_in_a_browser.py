"""The page in a browser: what is chosen lights up what belongs to it, by mouse and by keyboard."""

import html
import json
import re
import subprocess

import numpy as np
import pytest

import flatweave as fw
from flatweave.page import write

pytestmark = pytest.mark.needs_browser
XS = np.arange(1000.0)
SCRIPT = """
<script>
const q = s => document.querySelector(s), n = s => document.querySelectorAll(s).length;
const key = (e, k) => e.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true}));
const seen = {};
%s
const out = document.createElement("pre");
out.id = "seen"; out.textContent = "seen:" + JSON.stringify(seen) + ":seen";
document.body.append(out);
</script>
</body>"""


@fw.jit(target="cpu")
def two(xs):
    total = fw.sum(xs)
    return xs / total


def opened(text, script, folder):
    """What a script finds on a page in the browser."""
    path = folder / "page.html"
    path.write_text(text.replace("</body>", SCRIPT % script), encoding="utf-8")
    found = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         "--window-size=2200,900", f"--user-data-dir={folder / 'profile'}", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return json.loads(re.findall("seen:(\\{.*?\\}):seen", found.stdout)[-1])


@pytest.fixture(scope="module")
def text():
    """A page of two passes."""
    return write.page(two.stages(XS))


def test_clicks_and_keys(text, tmp_path):
    """A line, a box and a pass light up what belongs to them; search, arrows and Esc work."""
    seen = opened(text, """
    const lines = [...document.querySelectorAll(".line")];
    lines[0].click();
    seen.line = [n(".line.lit"), n("#written .lit"), n("#fused .lit"), n(".pass.lit")];
    q(".pass:last-child").click();
    seen.pass = [q(".pass:last-child").classList.contains("lit"), n(".pass.lit"),
                 n("#fused .lit"), n(".line.lit")];
    const box = q("#fused .node.hue0");
    key(box, "Enter");
    seen.enter = [n(".chosen-now"), q("#detail").textContent.includes("sweep")];
    key(box, "ArrowDown");
    seen.arrow = document.activeElement !== box && n(".chosen-now") === 1;
    key(document.body, "/");
    seen.slash = document.activeElement.id;
    q("#search").value = "reduce"; q("#search").dispatchEvent(new Event("input"));
    seen.search = [n(".hit") > 0, q("#found").textContent];
    key(q("#search"), "Enter");
    seen.next = q("#found").textContent;
    key(q("#search"), "Escape");
    seen.escape = [n(".lit"), n(".hit")];
    """, tmp_path)  # fmt: skip

    assert seen["line"] == [1, 1, 1, 1]
    assert seen["pass"] == [True, 1, 1, 1]
    assert seen["enter"] == [1, True]
    assert seen["arrow"] and seen["slash"] == "search"
    assert seen["search"] == [True, "1 found"]
    assert seen["next"] == "1 of 1"
    assert seen["escape"] == [0, 0]


def many(xs):
    for k in range(2000):
        xs = fw.cumsum(xs) if k % 50 == 0 else xs * 1.5
    return xs


def test_a_large_program_is_searched(tmp_path):
    """Of 2,000 operations the 40 scans are found, in order."""
    text = write.page(fw.jit(many, target="interp").stages(XS), run=False)
    seen = opened(text, """
    q("#search").value = "scan"; q("#search").dispatchEvent(new Event("input"));
    seen.found = [n(".hit"), q("#found").textContent];
    key(q("#search"), "Enter"); key(q("#search"), "Enter");
    seen.next = [q("#found").textContent, q("#written .picture").scrollTop > 0];
    seen.ms = performance.now();
    """, tmp_path)  # fmt: skip
    print(f"open, searched and chosen after {seen['ms']:.0f} ms")

    assert seen["found"] == [40, "40 found"]
    assert seen["next"] == ["2 of 40", True]


def test_it_fits_the_window(text, tmp_path):
    """Nothing is wider than a window of 400 or 2,000 pixels: wide content scrolls separately."""
    frames = "".join(
        f'<iframe srcdoc="{html.escape(text)}" style="width:{width}px;border:0"></iframe>'
        for width in (400, 2000)
    )
    outside = f"<!doctype html><html><body>{frames}</body></html>"
    seen = opened(outside, """
    seen.widths = [];
    window.onload = () => {
        for (const frame of document.querySelectorAll("iframe")) {
            const page = frame.contentDocument.documentElement;
            const parts = [...page.querySelectorAll("header, section, .panel, article")];
            const ends = parts.map(e => e.getBoundingClientRect().right);
            seen.widths.push([frame.clientWidth, Math.max(page.scrollWidth, ...ends), ends.length]);
        }
        out.textContent = "seen:" + JSON.stringify(seen) + ":seen";
    };
    """, tmp_path)  # fmt: skip

    assert [width for width, _, _ in seen["widths"]] == [400, 2000]
    for width, end, parts in seen["widths"]:
        assert end <= width
        assert parts > 8
