"""How test files are divided among processes."""

import json

import pytest

from tests.side_by_side import FILES, TakesFiles, files_of


def test_a_file_is_taken_by_one_process(tmp_path):
    """Whoever comes first has it."""
    (tmp_path / FILES).write_text(json.dumps(["a", "b", "c", "d"]))
    one, other = TakesFiles(tmp_path).files(), TakesFiles(tmp_path).files()

    assert [next(one), next(other), next(other), next(one)] == ["a", "b", "c", "d"]
    assert [*one, *other] == []


def test_files_of_folders(tmp_path):
    """In order, each once; a file may be named itself."""
    for name in ("test_b.py", "test_a.py", "other.py"):
        (tmp_path / name).touch()
    a, b = str(tmp_path / "test_a.py"), str(tmp_path / "test_b.py")

    assert files_of([str(tmp_path)]) == [a, b]
    assert files_of([b, str(tmp_path)]) == [b, a]


def test_a_folder_that_is_not_there(tmp_path):
    """It is said before any test runs."""
    with pytest.raises(SystemExit, match="there is no"):
        files_of([str(tmp_path / "missing")])
