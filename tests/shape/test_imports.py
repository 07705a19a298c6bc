"""What a program imports: what traces and what runs, and the modules of what it calls."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import flatweave as fw
from flatweave.frontend import MODULES
from flatweave.runtime.lazy_import import lazy_modules
from tests.shape.tree import PACKAGE, python_files

PROGRAM = """
import sys
import numpy as np
import flatweave as fw
def ours(): return [name for name in sys.modules if name.partition(".")[0] == "flatweave"]
imported = len(ours())
with fw.target("interp"):
    fw.jit(lambda x: fw.sum(x * x))(np.arange(10.0))
print(imported, sum(name.startswith("flatweave.frontend") for name in ours()))
"""

FIRST_CALL = """
import sys
import threading
import numpy as np
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
threading.setprofile(count)  # of the threads that compile, too
sys.setprofile(count)
import flatweave as fw
imported = calls
with fw.target("cpu"):
    fw.jit(lambda x: fw.sum(x * x))(np.arange(10.0))
sys.setprofile(None)
print(imported, calls - imported)
print(*[name for name in sys.modules if name.partition(".")[0] == "flatweave"])
"""


def test_few_modules_are_imported():
    """By `import flatweave`, and of the front end by the first call of a sum."""
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
        cwd=PACKAGE.parent,
    ).stdout  # fmt: skip
    imported, front = map(int, printed.split())

    assert imported <= 87
    assert front <= 37


def test_the_import_and_a_first_call():
    """A first call imports no other targets, nor sorts, nor checks of operators: they are lazy
    modules, which it does not read. The calls of functions, which do not depend on the machine,
    limit what the import and a first call take: 53 and 180 ms of CPU for 73,000 and 133,000 (AMD
    EPYC, Zen 4)."""
    printed = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True,
        cwd=PACKAGE.parent, env=os.environ | {"FLATWEAVE_NO_CACHE": "1", "FLATWEAVE_VERIFY": "0"},
    ).stdout  # fmt: skip
    calls, imported = map(str.split, printed.splitlines())
    others = ("codegen.c", "lower.sort", "simulator", "operator_checks", "runtime.devices.opencl")
    read = [name for name in imported for other in others if name.startswith(f"flatweave.{other}.")]

    assert read == []
    assert len(imported) <= 206
    assert int(calls[0]) <= 54_000
    assert int(calls[1]) <= 111_000


def test_a_lazy_module_is_one_that_its_folder_has():
    """It is looked for once, among the folder's files; others are no names of the folder."""
    ask, named = lazy_modules("flatweave.lower.sort"), lazy_modules("flatweave.terms", "batch")

    assert ask("radix") is ask("radix")
    assert named("batch").__name__ == "flatweave.terms.batch"
    for folder, name in ((ask, "none_such"), (ask, "_radix"), (named, "syntax")):
        with pytest.raises(AttributeError):
            folder(name)


DEPENDENCIES = {"flatweave", "numpy", "llvmlite", *sys.stdlib_module_names}
"""What is there wherever the package is installed."""
OPTED_IN = {
    "awkward.py": {"awkward"},
    "cluster/dask_tasks.py": {"cloudpickle", "distributed"},
    "cluster/dask_worker.py": {"cloudpickle", "distributed"},
    "cluster/on_dask.py": {"distributed"},
    "duckdb.py": {"duckdb", "pyarrow"},
    "pandas.py": {"pandas"},
    "polars.py": {"polars"},
}
"""What else a module may import as it is loaded: a user who imports it asks for that library."""


def loaded(body: list[ast.stmt]) -> Iterator[str]:
    """The libraries that statements import as a module is loaded."""
    for node in body:
        match node:
            case ast.Import(names=names):
                yield from (each.name.partition(".")[0] for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.If(test=test):
                checked = "TYPE_CHECKING" in ast.dump(test)
                yield from loaded(node.orelse if checked else node.body + node.orelse)
            case ast.Try() | ast.With() | ast.ClassDef():
                yield from loaded([*node.body, *getattr(node, "orelse", [])])


def test_a_plain_installation_suffices():
    """Nothing is imported that only tests or other libraries' users have."""
    missing = [
        f"{name} imports {', '.join(libraries)}"
        for source in python_files("flatweave")
        if (name := source.path.relative_to(PACKAGE).as_posix())
        if (libraries := {*loaded(source.tree.body)} - DEPENDENCIES - OPTED_IN.get(name, set()))
    ]

    assert not missing, "\n".join(missing)


def test_public_names_are_where_the_table_says():
    """Each is declared by its module, and by no other."""
    wrong = [
        f"{name} is in {of}, not in {module}"
        for name, module in MODULES.items()
        if (of := getattr(getattr(fw, name), "__module__", module)).startswith("flatweave")
        and not of.startswith(module)
    ]

    assert not wrong, "\n".join(wrong)
