"""LLVM text becomes machine code that runs, is cached and is unloaded."""

import ctypes
import gc
import math
import platform
import subprocess
import sys
import textwrap

import pytest

from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.runtime import native
from flatweave.runtime.native import NativeCode, compile_text
from flatweave.runtime.processor import LIGHT, RAW

Function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
Real = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def adder(amount: int) -> str:
    """The text of functions that add `amount`, and its double."""
    return f"""
        define i64 @once(i64 %x) {{
          %y = add i64 %x, {amount}
          ret i64 %y
        }}
        define i64 @twice(i64 %x) {{
          %y = call i64 @once(i64 %x)
          %z = call i64 @once(i64 %y)
          ret i64 %z
        }}
    """


def call(code: NativeCode, symbol: str, value: int) -> int:
    """One function of the code, called."""
    return Function(code.address(symbol))(value)


@pytest.mark.parametrize("level", [RAW, LIGHT])
def test_text_runs(level):
    """At every level of optimisation."""
    code = compile_text(adder(20), level=level)

    assert call(code, "once", 1) == 21
    assert call(code, "twice", 1) == 41


def test_code_is_shared_while_it_lives_and_unloaded_after():
    """One text, one code; nothing grows when programs come and go."""
    code = compile_text(adder(5))
    assert compile_text(adder(5)) is code
    del code
    gc.collect()
    others = len(native._LOADED)
    for amount in range(60):
        code = compile_text(adder(amount))
        assert call(code, "twice", 0) == 2 * amount
        assert call(code, "once", 0) == amount
    assert len(native._LOADED) < others + 50


def test_a_caller_may_name_the_text():
    """The key stands for the text in the caches."""
    code = compile_text(adder(6), key="adder of six")

    assert compile_text("never looked at", key="adder of six") is code


def test_keys_tell_levels_and_texts_apart():
    """What depends on them must not be mixed up."""
    keys = {native.cache_key(text, level) for text in ("a", "b") for level in (0, 1, 2)}

    assert len(keys) == 6
    assert "cpu " in native.identity()


def test_without_the_cache():
    """Code is compiled anew and works the same."""
    with config.scoped(no_cache=True):
        assert call(compile_text(adder(77)), "once", 0) == 77


def test_libraries_are_found():
    """The C library, libm and the functions of support.ll."""
    code = compile_text("""
        declare double @exp(double)
        declare i64 @fw_is_unique(ptr)
        define double @real(double %x) {
          %y = call double @exp(double %x)
          ret double %y
        }
        define i64 @support(i64 %x) {
          %y = call i64 @fw_is_unique(ptr null)
          ret i64 %y
        }
    """)

    assert Real(code.address("real"))(1.0) == math.e
    assert call(code, "support", 1) == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the name is x86-64's")
@pytest.mark.skipif(not native.library("libmvec.so.1"), reason="no libmvec here")
def test_vector_math_is_found():
    """Two exponentials at once."""
    code = compile_text("""
        declare <2 x double> @_ZGVbN2v_exp(<2 x double>)
        define double @real(double %x) {
          %pair = insertelement <2 x double> zeroinitializer, double %x, i64 1
          %both = call <2 x double> @_ZGVbN2v_exp(<2 x double> %pair)
          %y = extractelement <2 x double> %both, i64 1
          ret double %y
        }
    """)

    assert Real(code.address("real"))(1.0) == pytest.approx(math.e, rel=1e-14)


def test_invariants_leave_loops():
    """The light level moves what does not change out of the loop."""
    text = native.optimised_text("""
        define i64 @f(ptr noalias %p, ptr noalias %q, i64 %n) {
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %loop ]
          %k = load i64, ptr %p
          %m = mul i64 %k, 12345
          %at = getelementptr i64, ptr %q, i64 %i
          store i64 %m, ptr %at
          %next = add i64 %i, 1
          %more = icmp ult i64 %next, %n
          br i1 %more, label %loop, label %done
        done:
          ret i64 0
        }
    """)
    body = text[text.index("\nloop:") : text.index("\ndone:")]

    assert "mul" not in body
    assert "load" not in body


def test_assembly_is_shown():
    """The language of this CPU, for people."""
    assert "once" in native.assembly(adder(1))


def test_broken_text_is_a_bug_of_ours():
    """The user cannot have written it."""
    with pytest.raises(CompilerBug, match="LLVM refuses the text"):
        compile_text("define nonsense")


def test_unknown_symbols_are_bugs_of_ours(capfd):
    """LLVM itself says on standard error which one a function calls in vain."""
    with pytest.raises(CompilerBug, match="LLVM cannot find g"):
        compile_text(adder(1)).address("g")
    with pytest.raises(CompilerBug, match="LLVM cannot find f"):
        compile_text(
            "declare void @fw_nowhere()\n"
            "define void @f() {\n  call void @fw_nowhere()\n  ret void\n}"
        )
    assert "fw_nowhere" in capfd.readouterr().err


def test_threads_compile_at_once():
    """In a new process, where nothing is ready yet."""
    script = """
        import threading
        from flatweave.runtime import native
        from tests.runtime.test_native import adder, call
        def work(amount):
            for k in range(5):
                code = native.compile_text(adder(1000 * k + amount))
                assert call(code, "once", 0) == 1000 * k + amount
            done.append(amount)
        done = []
        threads = [threading.Thread(target=work, args=(amount,)) for amount in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert sorted(done) == list(range(6)), done
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
