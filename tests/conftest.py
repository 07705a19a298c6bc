"""What every test may ask for: a target, a number of threads, a device; all passes verified."""

import gc
import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("FLATWEAVE_VERIFY", "1")  # before the first import of flatweave

import hypothesis
import pytest

from flatweave.base.config import config
from flatweave.base.errors import Unsupported
from flatweave.runtime.devices import cuda, cuda_libraries, opencl
from flatweave.runtime.support import POOL
from flatweave.runtime.systems import system
from tests.compiling import test_compiler
from tests.costs import Costs
from tests.quick import not_sampled

# Tests start about a hundred processes. Without bytecode on disk, each of them compiles all of
# flatweave's modules again, which takes longer than most of these tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

FOLDER = Path(__file__).parent

# TEST_TARGETS=opencl pytest -m needs_opencl tests/language: the same tests elsewhere
TARGETS = os.environ.get("TEST_TARGETS", "interp,cpu").split(",")
NEEDS = {"opencl": [pytest.mark.needs_opencl], "cuda": [pytest.mark.needs_cuda]}
THREADS = [1, 2, 3, 7]

# TEST_DEVICE=cuda pytest -m needs_device tests: tests of devices on a GPU of NVIDIA's
DEVICE = os.environ.get("TEST_DEVICE", "opencl")
DEVICES: dict[str, Any] = {"opencl": opencl, "cuda": cuda}

# TEST_SIMULATED=cuda: programs for a GPU are run by the simulator (`simulated.py`)
SIMULATED = os.environ.get("TEST_SIMULATED", "")
if SIMULATED:
    DEVICES[SIMULATED] = importlib.import_module("tests.simulated").simulate(SIMULATED)

# TEST_PTX=mixed: they run as PTX in the interpreter; the value is the order of `ptx/grid.py`
if os.environ.get("TEST_PTX"):
    importlib.import_module("tests.ptx.driver").install(os.environ["TEST_PTX"])

hypothesis.settings.register_profile(
    "quick",
    max_examples=25,
    deadline=None,
    derandomize=True,  # the same programs in every run: a failure is the change's, not chance's
    suppress_health_check=[
        hypothesis.HealthCheck.function_scoped_fixture,
        hypothesis.HealthCheck.too_slow,
    ],
)
hypothesis.settings.register_profile(
    "thorough",
    hypothesis.settings.get_profile("quick"),
    max_examples=200,
    derandomize=False,
)
hypothesis.settings.load_profile("quick")


@pytest.fixture(params=[pytest.param(name, marks=NEEDS.get(name, ())) for name in TARGETS])
def target(request) -> Iterator[str]:
    """The name of each target, which is also in force. Calls on devices wait for
    their kernels, so that an error is raised by the call that it is of."""
    devices = DEVICES.get(request.param)
    if devices is not None:
        devices.device().waits_for_faults = True
    with config.scoped(target=request.param):
        yield request.param
    if devices is not None:
        devices.device().waits_for_faults = False


@pytest.fixture(params=[pytest.param(n, marks=pytest.mark.slow) if n == 2 else n for n in THREADS])
def threads(request) -> Iterator[int]:
    """Each number of worker threads, in force while the test runs."""
    with config.scoped(threads=request.param):
        yield request.param


def pytest_configure(config: pytest.Config) -> None:
    """Tests are charged for the processor's time."""
    config.pluginmanager.register(Costs())


@pytest.hookimpl(tryfirst=True)  # before marks select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The interpreter has no threads: on it, a test for each number of threads runs once. `make
    test` leaves out most cases of sampled tests."""
    items[:] = [item for item in items if not _is_repeated(item)]
    for item in not_sampled(items):
        item.add_marker(pytest.mark.slow)


def _is_repeated(item: pytest.Item) -> bool:
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return given.get("target") == "interp" and given.get("threads", THREADS[0]) != THREADS[0]


def pytest_collection_finish() -> None:
    """What was collected by pytest stays until the end: it is no garbage, and programs are compiled
    with few garbage collections (they took a seventh of the time of all tests)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture(autouse=True)
def compiling(request) -> Iterator[None]:
    """Compile as tests of this folder do (`compiling.py`)."""
    test_compiler.enter(request.path.relative_to(FOLDER).parts[0])
    yield
    test_compiler.enter("")


@pytest.fixture
def compiled_anew(compiling) -> None:
    """Compile for this test alone: it looks at which kernels its calls needed."""
    test_compiler.is_sharing = False


@pytest.fixture(scope="module")
def little_to_collect() -> None:
    """What other tests left is no garbage: a collection in this module looks at its own alone."""
    gc.freeze()


@pytest.fixture(scope="session")
def compiler():
    """NVRTC, or the reason why it is not here."""
    try:
        cuda_libraries.ptx("")
    except Unsupported as reason:
        pytest.skip(f"no NVRTC: {reason.message}")
    return cuda_libraries


@pytest.fixture
def crowd() -> Iterator[None]:
    """All threads of a launch begin at once, also those that no core is left for."""
    POOL.assume_cores(128)
    yield
    POOL.assume_cores(system().cores())


@cache
def missing_opencl() -> str:
    """Why OpenCL cannot be used here; "" when it can."""
    try:
        opencl.device()
    except Unsupported as failure:
        return f"no OpenCL: {str(failure).splitlines()[0]}"
    return ""


@cache
def missing_cuda() -> str:
    """Why CUDA cannot be used here; "" when it can."""
    if SIMULATED == "cuda" or os.environ.get("TEST_PTX"):
        return ""
    try:
        driver = importlib.import_module("cuda.bindings.driver")
        failed, count = int(driver.cuInit(0)[0]), int(driver.cuDeviceGetCount()[1] or 0)
    except Exception as failure:
        return f"no CUDA: {failure}"
    return "" if not failed and count else "no CUDA: no device"


def missing_browser() -> str:
    """Why no page can be opened here; empty where one can."""
    return "" if shutil.which("chromium") else "no browser: no chromium"


def missing_device() -> str:
    """Why tests of devices cannot run here; empty where they can."""
    return missing_cuda() if DEVICE == "cuda" else missing_opencl()


MISSING = {
    "needs_device": missing_device,
    "needs_opencl": missing_opencl,
    "needs_cuda": missing_cuda,
    "needs_browser": missing_browser,
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a device that is not here, saying why."""
    for marker, reason in MISSING.items():
        if item.get_closest_marker(marker) and reason():
            pytest.skip(reason())
