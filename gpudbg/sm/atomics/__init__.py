"""Atomics: read-modify-write of a word by each executing lane, in ascending lane order.

    step        the new value of an element, in Python
    compiled    the same in compiled code, with atomic instructions where other threads may be

`tests/sm/test_concepts.py` holds the one against the other.
"""
