"""The files of a release say what the package says."""

import re
import runpy
import tomllib

import pytest

import flatweave as fw
from tests.shape.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "release" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
CHANGELOG = runpy.run_path(str(ROOT / "release" / "changelog.py"))
LICENCES = runpy.run_path(str(ROOT / "release" / "licences.py"))


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


def test_the_page_of_licences_has_every_package():
    """Those that each extra installs, too; what is installed here states the same licence."""
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    lines = dict(re.findall(r"^\| (\S+) \| (.*) \| .* \|$", page, re.MULTILINE))
    del lines["package"]

    assert {name: ", ".join(users) for name, users in LICENCES["needed"]().items()} == lines


def test_every_change_has_a_kind():
    """And one line or more of text, without a heading."""
    for file in CHANGELOG["change_files"](ROOT / "changes"):
        text = file.read_text(encoding="utf-8").strip()

        assert CHANGELOG["kind_of"](file) in CHANGELOG["KINDS"]
        assert text and not text.startswith("#")


def test_changes_become_a_versions_part(tmp_path):
    """Above the version before; kinds in their order, files in that of their names."""
    for name, text in {
        "b.fix.md": "Sums of nothing are 0.\n",
        "a.fix.md": "Rows end\nwhere they end.",
        "z.feature.md": "`fw.new`:\n\n    example\n",
    }.items():
        (tmp_path / name).write_text(text)
    files = CHANGELOG["change_files"](tmp_path)
    made = CHANGELOG["with_version"]("# Changelog\n\n## 0.1.0\nFirst.\n", "0.2.0", "today", files)

    assert made == (
        "# Changelog\n\n## 0.2.0, today\n"
        "\n### New\n- `fw.new`:\n\n      example\n"
        "\n### Fixed\n- Rows end\n  where they end.\n- Sums of nothing are 0.\n"
        "\n## 0.1.0\nFirst.\n"
    )


def test_a_version_is_released_once():
    """A second time its heading is there."""
    with pytest.raises(SystemExit, match=r"heading for 0\.1\.0 already"):
        CHANGELOG["with_version"]("# Changelog\n\n## 0.1.0\nFirst.\n", "0.1.0", "today", [])


def test_a_change_of_no_kind_is_refused(tmp_path):
    """The message has the existing kinds."""
    with pytest.raises(SystemExit, match="one of feature, change, faster, fix"):
        CHANGELOG["kind_of"](tmp_path / "what.new.md")
