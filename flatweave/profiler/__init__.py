"""What ran while a profile was open, and what became of a program in words.

It listens to calls and launches (base/recording.py) and sets times next to what the compiler knows.

    profile     with fw.profile() as p: the object that listens, and what it keeps: sums for each
                kernel, and a limited number of events; fw.explain
    facts       the passes of a program, and what is known of a kernel: bytes, line, why it ran
    tables      sums and facts together, as text or as a file for Chrome or Perfetto
    report      the sentences of fw.explain
"""
