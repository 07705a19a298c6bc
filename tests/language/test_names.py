"""What `import flatweave` and `from flatweave import *` bring."""

import builtins

import flatweave as fw


def test_a_star_import_hides_no_builtin():
    """`sum`, `map` and their like stay Python's; they are reached as fw.sum."""
    found: dict[str, object] = {}
    exec("from flatweave import *", found)

    assert not {name for name in found if hasattr(builtins, name)} - {"__builtins__"}
    assert found["scan"] is fw.scan
    assert callable(fw.sum)


def test_every_public_name_is_in_the_star_import():
    """But for those of builtins."""
    public = {name for name, value in vars(fw).items() if name[0] != "_" and callable(value)}

    assert {name for name in public - set(fw.__all__) if not hasattr(builtins, name)} == set()
