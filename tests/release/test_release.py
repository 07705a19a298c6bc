"""The files of a release say what the package says."""

import re
import runpy
import sys
import tomllib

import flatweave as fw
from tests.shape.tree import ROOT

RECIPE = (ROOT / "release" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
TOML = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = TOML["project"]
TOWNCRIER = TOML["tool"]["towncrier"]
REHEARSE = runpy.run_path(str(ROOT / "release" / "rehearse.py"))


def test_versions_agree():
    """The metadata read the package's; the recipe for conda and the citation repeat it."""
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    text = (ROOT / hatch["version"]["path"]).read_text(encoding="utf-8")

    assert PROJECT["dynamic"] == ["version"]
    assert re.search(hatch["version"]["pattern"], text)["version"] == fw.__version__
    assert f'version: "{fw.__version__}"' in RECIPE
    assert f"\nversion: {fw.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_recipe_asks_for_what_the_package_asks_for():
    """The same packages with the same bounds, and the same Python."""
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    asked = [line.strip(" -").replace(" ", "") for line in run.splitlines()]

    assert asked == [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]


def packages():
    """Those that the package and its extras require, by name."""
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    names = {re.split(r"[^\w.-]", each, maxsplit=1)[0].lower() for row in lists for each in row}
    return names - {"flatweave"}


def test_the_page_of_licences_has_every_package():
    """Those that each extra installs, too; `make licences` writes the table."""
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) +\| \S+ +\| (\S.*?) +\|$", page, re.MULTILINE)
    listed = {name.lower(): licence for name, licence in rows if name != "Name"}

    assert packages() == listed.keys()
    assert "UNKNOWN" not in listed.values()


def notes():
    """The notes of changes since the last release."""
    return [path for path in (ROOT / "changes").glob("*.md") if path.name != "README.md"]


def test_every_change_has_a_kind():
    """One that towncrier knows; and one line or more of text, without a heading."""
    kinds = [each["directory"] for each in TOWNCRIER["type"]]
    readme = (ROOT / "changes" / "README.md").read_text(encoding="utf-8")

    assert sorted(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)) == sorted(kinds)
    for note in notes():
        text = note.read_text(encoding="utf-8").strip()
        assert note.name.removesuffix(".md").rpartition(".")[2] in kinds, note
        assert text and not text.startswith("#"), note


def test_the_changelog_has_a_place_for_the_next_version():
    """Below the text that towncrier looks for; the part of 0.1.0 fits on a page."""
    text = (ROOT / TOWNCRIER["filename"]).read_text(encoding="utf-8")
    before, _, after = text.partition(TOWNCRIER["start_string"])

    assert before and after.lstrip().startswith("## ")
    assert (ROOT / TOWNCRIER["template"]).is_file()
    assert len(text[text.index("\n## 0.1.0") :].splitlines()) <= 40


def test_pythons_are_found_by_version():
    """The newest first, each version once, none that is too old."""
    versions = list(REHEARSE["pythons"](">=3.11"))

    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in versions or not versions
    assert versions == sorted(set(versions), key=REHEARSE["number"], reverse=True)
    assert REHEARSE["pythons"](">=4.0") == {}
