"""The same programs on a real GPU, where there is one: `pytest tests/silicon`.

`driver` talks to the CUDA driver by ctypes, `compare` runs a case there and on the emulated SM and
says which words differ.  Cubins run on a card of their architecture (and a later minor one); other
cards compile a program's PTX themselves.  Without a driver the tests are skipped by name.
"""
