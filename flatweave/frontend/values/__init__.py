"""What a call is given and gives: arrays on the host and in a trace, in trees of tuples and dicts.

An `Array` is a `HostArray` with values or a `Tracer` that stands for a variable of a program. A
tracer belongs to a `Scope`, the body under construction, so scopes are declared here too. Below all
other rooms: what NumPy, DLPack and lists become, which dtype mixed operands have, which public
function each Python operator calls, and what Python may not ask of a tracer.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "arrow_columns", "arrow_interface", "datetimes")
