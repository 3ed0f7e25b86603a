"""Clusters: CTAs that run at the same time and reach one another's shared memory (sm_90 and later).

A CTA of a launch without clusters is a cluster of its own.

    cluster     the CTAs by rank, and the barrier of their warps

An address of shared memory holds a rank in bits 24 to 31 (*inferred* from compiled code).
"""
