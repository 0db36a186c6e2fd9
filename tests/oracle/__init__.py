"""The execution oracle: does a rewritten program still do what it did?

A program is run twice without PyTorch: as it was, under a fake torch in which the canonical
vendor's device is; and rewritten, under one in which only the target's is. Both runs leave a
trace of their effects, and the traces must be the same but for the names of the device.

- ``trace``: what a run records, and how values are written down
- ``fake_torch``: the worlds that programs run in
- ``execution``: one run of a program
- ``comparison``: all runs of a program and of its rewrite, and whether they agree
- ``questions``: what programs ask about devices: tables
- ``programs``: programs drawn at random
- ``exploring``: the corpus's cases, which were not written to be run
- ``shrinking``: the smallest program that still differs
"""
