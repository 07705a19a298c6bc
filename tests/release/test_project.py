"""The files that a forge reads, and the pages for those who join."""

import re

import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.shape.tree import ROOT

yaml = pytest.importorskip("yaml")
FORGE = sorted((ROOT / ".github").rglob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(set((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")))
OTHERS = [ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def read(path):
    """A file's value; a key that a mapping has twice is an error."""
    class Strict(yaml.SafeLoader):
        pass

    def mapping(loader, node):
        keys = [loader.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"{path}: {keys}"
        return loader.construct_mapping(node, deep=True)

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return yaml.load(path.read_text(encoding="utf-8"), Strict)


@pytest.mark.parametrize("path", [*FORGE, *OTHERS], ids=lambda path: path.name)
def test_a_file_is_yaml(path):
    """Without tabs, without lines of more than 100 characters."""
    assert isinstance(read(path), dict)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert all("\t" not in line and line == line.rstrip() for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_what_a_forge_needs(path):
    """Systems, limits of time, steps; actions by version, targets of the Makefile by name."""
    workflow = read(path)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    makes = [word for step in steps for word in re.findall(r"make (\S+)", step.get("run", ""))]

    assert True in workflow and workflow["permissions"] == {"contents": "read"}  # YAML's `on`
    assert "has not been run" in path.read_text(encoding="utf-8")
    assert all({"runs-on", "timeout-minutes"} <= job.keys() for job in workflow["jobs"].values())
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(re.fullmatch(r"[\w/-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    assert makes and set(makes) <= TARGETS


def test_each_system_is_tested():
    """On x86-64 and arm64, on macOS and Windows."""
    jobs = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"]
    systems = " ".join(name for job in jobs.values() if "strategy" in job
                       for name in job["strategy"]["matrix"]["system"])  # fmt: skip

    assert all(name in systems for name in ("ubuntu-24.04 ", "-arm", "macos", "windows"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_asks_something(path):
    """Each field has a unique name and a label."""
    form = read(path)
    if path.name == "config.yml":
        assert form["blank_issues_enabled"] in (True, False)
        return
    fields = form["body"]

    assert form["name"] and form["description"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_hooks_run_what_make_runs():
    """Each command before a commit is one of the Makefile."""
    hooks = [hook for repo in read(OTHERS[0])["repos"] for hook in repo["hooks"]]
    commands = (ROOT / "Makefile").read_text("utf-8").replace("$(BIN)", ".venv/bin")

    assert {hook["id"] for hook in hooks} == {"ruff", "mypy", "codespell"}
    assert all(hook["entry"] in commands for hook in hooks)


def test_what_contributing_names_is_there():
    """Folders of the tree, and targets of the Makefile."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = text.partition("## The tree")[2].partition("\n## ")[0]
    folders = [name for row in re.findall(r"^\| (`.*?) \|", tree, re.MULTILINE)
               for name in re.findall(r"`([^`]+)`", row)]  # fmt: skip

    assert len(folders) > 20
    assert [name for name in folders if not (ROOT / name).is_dir()] == []
    assert set(re.findall(r"`make ([\w-]+)`", text)) <= TARGETS
    assert {path.parent.name for path in (ROOT / "flatweave").glob("*/__init__.py")} >= {
        name.partition("/")[2] for name in folders if name.startswith("flatweave/")
    }


def test_experimental_names_are_public():
    """What the page of tiers lists is in the package."""
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    table = page.partition("## Experimental")[2].partition("\n## ")[0]
    names = re.findall(r"`(?:fw|fk)\.(\w+)`", table)

    assert len(names) > 10 and fk.__all__
    assert [name for name in names if name not in fw.__all__] == []


def test_each_measurement_is_listed_once():
    """The latest of a topic on a machine, and no other."""
    folder = ROOT / "bench" / "results"
    pages = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))

    assert sorted(listed) == pages
    topics = [page[len("2026-11-26-"):] for page in pages]
    assert sorted(set(topics)) == sorted(topics)
