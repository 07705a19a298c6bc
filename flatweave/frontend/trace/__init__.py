"""A Python function becomes a program: any value as a tracer, checks, sizes and extents.

`trace` calls the function once with tracers for its arguments. What it does with them is emitted
into the innermost scope; a condition that is only known when the program runs becomes a `Check`,
with the message that the user then reads.
"""
