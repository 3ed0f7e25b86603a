"""Address spaces of the machine: device memory, shared and local memory, constant banks.

Every space is a flat run of bytes behind `ByteStore`, so that the 32 addresses of a warp are
checked and moved at once (`lanes.py`, `store.py`).  Generic addresses are classified by
`windows.py`.
"""
