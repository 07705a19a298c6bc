"""A call of a public function or of a jitted one: its signature, its compiled program, its run.

Inside a trace a public function is recorded. Outside it is traced with its arrays as arguments,
compiled, and run at once; the compiled code is cached by the dtypes, ranks and static values
of the arguments.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "shared_ranks")
