"""Switches: from the environment, scoped, separate for every thread, and clear when wrong."""

from pathlib import Path
from threading import Thread

import pytest

from flatweave.base.config import PROCESS, Switches, config, from_environment
from flatweave.base.errors import ArgumentError
from flatweave.base.schedule import CHOSEN, Schedule


def test_defaults():
    """Without any variable programs run on all cores of the cpu, quietly."""
    assert from_environment({}) == Switches(
        target="cpu",
        dump=(),
        dump_dir=None,
        verify=False,
        stop_after=None,
        time=False,
        no_cache=False,
        threads=None,
        cpu="native",
        runtime="system",
        schedule=CHOSEN,
    )


def test_every_variable_is_read():
    """Each switch has a variable."""
    environment = {
        "FLATWEAVE_TARGET": "interp",
        "FLATWEAVE_DUMP": "fuse, cuda",
        "FLATWEAVE_DUMP_DIR": "out/dumps",
        "FLATWEAVE_VERIFY": "1",
        "FLATWEAVE_STOP_AFTER": "flatten",
        "FLATWEAVE_TIME": "yes",
        "FLATWEAVE_NO_CACHE": "on",
        "FLATWEAVE_THREADS": "3",
        "FLATWEAVE_CPU": "x86-64-v3",
        "FLATWEAVE_RUNTIME": "portable",
        "FLATWEAVE_SCHEDULE": "expand=16-per-block, permute=cas,store=plain",
    }

    assert from_environment(environment) == Switches(
        target="interp",
        dump=("fuse", "cuda"),
        dump_dir=Path("out/dumps"),
        verify=True,
        stop_after="flatten",
        time=True,
        no_cache=True,
        threads=3,
        cpu="x86-64-v3",
        runtime="portable",
        schedule=Schedule(expand="16-per-block", permute="cas", store="plain"),
    )


def test_an_empty_variable_counts_as_unset():
    """`FLATWEAVE_THREADS= python app.py` is how a shell takes a variable back."""
    assert from_environment({"FLATWEAVE_THREADS": "", "FLATWEAVE_VERIFY": ""}) == Switches()


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("FLATWEAVE_THREADS", "0", "a whole number from 1 up"),
        ("FLATWEAVE_THREADS", "many", "a whole number from 1 up"),
        ("FLATWEAVE_VERIFY", "maybe", "1 or 0"),
        (
            "FLATWEAVE_TARGET", "my gpu",
            "a target such as cpu, or a device of one by its number such as cuda:1",
        ),
        (
            "FLATWEAVE_TARGET", "cuda:first",
            "a target such as cpu, or a device of one by its number such as cuda:1",
        ),
        ("FLATWEAVE_CPU", "a b", "native, or a CPU that LLVM knows such as x86-64-v3"),
        ("FLATWEAVE_RUNTIME", "linux", "system or portable"),
        ("FLATWEAVE_DUMP", "fuse;cuda", "all, or names with commas between them such as fuse,cuda"),
    ],
)
def test_a_bad_value_names_its_variable(variable, value, wanted):
    """The message says which variable, which value, and what to give instead."""
    with pytest.raises(ArgumentError) as caught:
        from_environment({variable: value})

    assert str(caught.value) == (
        f"{variable}={value} makes no sense.\n"
        f"  Give it {wanted}.\n"
        f"  More: docs/errors.md#switches"
    )


def test_a_scope_ends_where_it_ends():
    """Inside `scoped` other values hold, scopes nest, and an error ends them too."""
    before = config.current
    with pytest.raises(KeyError), config.scoped(target="interp", dump="all"):
        assert config.dumps("anything")
        with config.scoped(threads=2):
            assert (config.target, config.threads) == ("interp", 2)
        assert config.threads == before.threads
        raise KeyError

    assert config.current == before


def test_a_scope_that_changes_nothing_has_the_switches_of_the_process() -> None:
    """The object itself, which machine code compares: calls there are as fast as elsewhere."""
    with config.scoped(threads=5):
        assert config.current != PROCESS
        with config.scoped(threads=PROCESS.threads, target=PROCESS.target):
            assert config.current is PROCESS



def test_a_scope_is_not_seen_by_other_threads():
    """Another thread keeps the process's values while a scope is open here."""
    seen = []
    with config.scoped(threads=5):
        other = Thread(target=lambda: seen.append(config.current))
        other.start()
        other.join()

    assert seen == [PROCESS]


def test_a_switch_that_does_not_exist_lists_those_that_do():
    """A misspelt name is answered with the right ones."""
    with pytest.raises(ArgumentError) as caught, config.scoped(thread=3):
        pass

    assert str(caught.value) == (
        "there is no switch named thread.\n"
        "  The switches are target, dump, dump_dir, verify, stop_after, debug, time, no_cache, "
        "threads, cpu, runtime and schedule.\n"
        "  More: docs/errors.md#switches"
    )


def test_the_runtime_has_no_scope():
    """Its threads and buffers are those of the whole process."""
    with pytest.raises(ArgumentError) as caught, config.scoped(runtime="portable"):
        pass

    assert str(caught.value) == (
        "runtime holds for the whole process.\n"
        "  Set FLATWEAVE_RUNTIME before it starts.\n"
        "  More: docs/errors.md#switches"
    )


def test_a_bad_value_in_a_scope_is_quoted():
    """The message repeats what the program said."""
    with pytest.raises(ArgumentError) as caught, config.scoped(threads=-1):
        pass

    assert str(caught.value).startswith("threads=-1 makes no sense.")


def test_the_suite_verifies_every_pass():
    """Tests run with FLATWEAVE_VERIFY set."""
    assert PROCESS.verify
