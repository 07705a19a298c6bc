"""Parallel algorithms over levels, each written once: reduce, scan, segmented ones, compact.

All of them divide n elements among `units` threads of the level that the code is for, let each
work alone through its neighbours in order, and combine what the threads have by an algorithm for
as many values as there are threads. Operators need not commute. In code of a thread they are loops.
"""
