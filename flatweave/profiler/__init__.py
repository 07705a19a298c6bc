"""What ran while a profile was open, and what became of a program in words.

    profile     with fw.profile() as p: the object that is told (base/recording.py)
    sums        what it keeps: sums for each kernel, and a limited number of events
    facts       what is known of a kernel: its pass, the bytes it moves, its line, why it ran
    rows        sums and facts together: a row for each kernel, a row for each program
    table       rows as text, by rich where it is installed
    trace       events as a file for Chrome or Perfetto
    explain     fw.explain: which passes there are, what is stored and why, in sentences
"""
