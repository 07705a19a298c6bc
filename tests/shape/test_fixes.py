"""Every fix names tests that would find the fault again, and `make test` runs them."""

import ast

from tests.fixes import named_by_fixes
from tests.shape.tree import ROOT, Source, read

FIXES = named_by_fixes()
TESTS = sorted({test for tests in FIXES.values() for test in tests})


def source_of(test: str) -> Source:
    """The file of a test."""
    return read(ROOT / "tests" / test.partition("::")[0])


def found(test: str) -> ast.FunctionDef | None:
    """The function of a test, if there is one."""
    if not (ROOT / "tests" / test.partition("::")[0]).exists():
        return None
    functions = {function.name: function for function in source_of(test).functions}
    function = functions.get(test.partition("::")[2])
    return function if isinstance(function, ast.FunctionDef) else None


def test_every_fix_names_its_tests():
    """Add a row to tests/fixes.md with the tests that fail without the fix."""
    notes = {path.name.removesuffix(".fix.md") for path in (ROOT / "changes").glob("*.fix.md")}

    assert not (missing := sorted(notes - FIXES.keys())), f"add to tests/fixes.md: {missing}"


def test_the_tests_of_fixes_exist():
    """A test that is renamed or moved is renamed in tests/fixes.md, too."""
    missing = [test for test in TESTS if found(test) is None]

    assert not missing, "\n".join(missing)


def test_the_tests_of_fixes_are_quick():
    """No mark `slow` on the test or on its file."""
    slow = []
    for test in TESTS:
        function = found(test)
        marks = [ast.unparse(mark) for mark in function.decorator_list] if function else []
        if "pytest.mark.slow" in marks or "pytestmark = pytest.mark.slow" in source_of(test).text:
            slow.append(test)

    assert not slow, "\n".join(slow)
