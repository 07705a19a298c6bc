"""A launch of one of several kernels, chosen by conditions: on every machine the same one runs."""

import ctypes

import pytest

from flatweave.base.dtypes import i64
from flatweave.base.plan import Plan
from flatweave.codegen.c.host_steps import host_steps
from flatweave.kernel_ir.host import parts_of
from flatweave.kernel_ir.units import parse_unit, print_unit, verify
from flatweave.runtime.devices.memory import Memory
from flatweave.runtime.devices.programs import Buffer
from flatweave.runtime.native import support
from flatweave.simulator.run import run
from tests.codegen.llvm_programs import run_host

SIZES = """
host(n: i64) =>
    small: bool = lt n 10
    middling: bool = lt n 100
    out: global i64 = alloc i64 1 0
    launch large 1 [n, out] variants=[choice small tiny, choice middling medium]
    in out

kernel tiny(n: i64, out: global i64) =>
    store out 0 1

kernel medium(n: i64, out: global i64) =>
    store out 0 2

kernel large(n: i64, out: global i64) =>
    store out 0 n
"""
CASES = [(0, 1), (9, 1), (10, 2), (99, 2), (100, 100)]


@pytest.mark.parametrize(("n", "expected"), CASES)
def test_the_first_whose_condition_holds_runs(n, expected):
    """On the simulator and in machine code."""
    unit = parse_unit(SIZES)
    verify(unit)

    assert run(unit, [n])[0].tolist() == [expected]
    outcome = run_host(unit.host, unit.kernels, [n])
    assert outcome.array(0, i64, 1).tolist() == [expected]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(support().address("fw_drop"))(int(outcome.slots[2]))


def test_devices_without_a_host_of_their_own_choose_alike():
    """The steps in Python launch one kernel."""

    class Device:
        launched: list[str] = []

        def allocate(self, dtype, count, site):
            return Buffer(Memory(None, 0, count * dtype.bytes, None), dtype, count)

        def launch(self, name, grid, args):
            self.launched.append(name)

    device, steps = Device(), host_steps(parse_unit(SIZES), Plan((), (), {}))
    for n, _ in CASES:
        steps(device, [n])

    assert device.launched == ["tiny", "tiny", "medium", "medium", "large"]


def test_each_kernel_of_a_choice_is_made_alone():
    """One of them runs, and which one is a number in the program's table."""
    unit = parse_unit(SIZES)
    parts = parts_of(unit.host)

    assert parts.first == ()
    assert sorted(parts.later) == [("large",), ("medium",), ("tiny",)]


def test_launches_that_choose_among_as_many_choose_alike():
    """Their kernels of one suffix are compiled together."""
    launches = """\
    launch a 1 [n, out] variants=[choice small a_s, choice middling a_rows]
    launch b 1 [n, out] variants=[choice small b_s, choice middling b_own]
    launch c 1 [n, out] variants=[choice small c_s]
    in out"""
    more = SIZES.replace("    in out", launches)
    for name in ("a", "a_s", "a_rows", "b", "b_s", "b_own", "c", "c_s"):
        more += f"\nkernel {name}(n: i64, out: global i64) =>\n    store out 0 n\n"

    found = parts_of(parse_unit(more).host).alike

    assert set(found) == {("a_s", "b_s"), ("large", "a", "b")}
    assert parts_of(parse_unit(SIZES).host).alike == ()


def test_a_kernel_that_also_runs_for_sure_keeps_its_number():
    """A choice is between numbers, or between symbols of one module."""
    again = SIZES.replace("    in out", "    launch large 1 [n, out]\n    in out")
    parts = parts_of(parse_unit(again).host)

    assert parts.first == ()
    assert set(parts.numbers) == {"large", "medium", "tiny"}


def test_a_choice_is_read_back():
    """As it is printed."""
    assert print_unit(parse_unit(print_unit(parse_unit(SIZES)))) == print_unit(parse_unit(SIZES))
