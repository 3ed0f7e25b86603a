"""Which CTAs are on which SM.

CTAs start in ascending order, one per SM in turn while there is room; when one ends, the next takes
its place on the same SM (*modelled*).  State exists for resident CTAs only.

    step        placing CTAs in order, setting up their warps, replacing them
    arena       the memory of CTAs that begin together, and each one's descriptor
    compiled    replacing a CTA in compiled code

`tests/sm/test_concepts.py` holds the one against the other.
"""
