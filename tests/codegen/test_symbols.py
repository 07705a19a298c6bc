"""What code takes from elsewhere, on every system, is what that system's libraries have."""

import subprocess
import sys

import pytest

from tests.quick import every_case

PYTHON = {
    "PyBytes_AsString", "PyCapsule_GetPointer", "PyCapsule_New", "PyContextVar_Get",
    "PyErr_CheckSignals", "PyErr_Clear", "PyErr_Fetch", "PyErr_GivenExceptionMatches",
    "PyErr_Restore", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble",
    "PyGILState_Ensure", "PyGILState_Release", "PyList_New", "PyList_SetItem", "PyList_Size",
    "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong", "PyObject_CallFunction",
    "PyObject_CallFunctionObjArgs", "PyObject_RichCompareBool", "PyTuple_GetItem", "PyTuple_Size",
    "PyType_GenericAlloc", "PyType_IsSubtype", "Py_DecRef", "Py_IncRef",
}  # fmt: skip
LOCKS = {
    "PyThread_acquire_lock_timed", "PyThread_allocate_lock", "PyThread_free_lock",
    "PyThread_get_thread_ident", "PyThread_release_lock",
}  # fmt: skip
GLIBC = {
    "aligned_alloc", "free", "mmap", "munmap", "madvise", "clock_gettime", "pthread_self",
    "syscall", "sched_yield", "sched_getcpu", "sched_getaffinity", "sched_setaffinity",
}  # fmt: skip
MACOS = LOCKS | {"malloc", "free", "timespec_get", "sched_yield"}
WINDOWS = LOCKS | {"malloc", "free", "_timespec64_get", "SwitchToThread"}
LIBRARY = {f"{name}{kind}" for name in ("sin", "cos", "tan", "fmod") for kind in ("", "f")}
# what LLVM asks for itself; the last two on macOS, and on Windows for frames of more than a page
COPIES = {"memcpy", "memmove", "memset", "bzero", "__chkstk"}


@pytest.mark.parametrize("triple, cpu, given", every_case(2, [
    ("x86_64-unknown-linux-gnu", "x86-64-v3", GLIBC),
    ("aarch64-unknown-linux-gnu", "generic", GLIBC),
    ("x86_64-apple-darwin", "x86-64-v3", MACOS),
    ("arm64-apple-darwin", "apple-m1", MACOS),
    ("x86_64-pc-windows-msvc-elf", "x86-64-v3", WINDOWS),
]))  # fmt: skip
def test_every_name_is_there(triple, cpu, given):
    """The support code takes exactly what systems.py names; kernels take nothing but C99."""
    command = [sys.executable, "-m", "tests.codegen.symbols_wanted", triple, cpu]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    support, kernels = (set(line.split()) for line in done.stdout.splitlines())

    assert support - COPIES == PYTHON | given
    assert {"sinf", "fmod"} <= kernels <= LIBRARY | COPIES | {"fw_launch"}
