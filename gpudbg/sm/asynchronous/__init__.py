"""Asynchronous operations from sm_80 on: mbarriers, bulk copies, tensor copies.

    mbarrier    the 64-bit word of a barrier in shared memory: arrivals, transactions, phases
    transfer    bytes of global and shared memory of a cluster, as copies touch them
    box         a box of a tensor: its elements in global memory, their places in shared memory

A copy is complete when its instruction has executed (*modelled*: policy `async-completion`), so
that groups are complete when they are waited for; its bytes are counted on its mbarrier then.
"""
