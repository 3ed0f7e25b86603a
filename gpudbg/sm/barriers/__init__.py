"""CTA barriers: 16 per CTA, each waiting for threads to arrive.

A warp arrives as a whole and counts 32 threads (*documented*: counts are multiples of the warp
size); lanes that have exited do not lower a warp's count, warps that have exited lower the total
of a barrier without an explicit count.

    phase       what a barrier has seen since it was last released
    step        the step engine: `arrive`, `warp_exited`
    compiled    the same in compiled code, on words of the CTA's descriptor
    descriptor  from the one to the other, and back

`tests/engine/test_barriers.py` holds the one against the other.
"""
