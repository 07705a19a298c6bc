"""What is decided about a sweep before anything is emitted: pure functions of the program,
the machine and the schedule that is wished for.
"""
