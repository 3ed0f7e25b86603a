"""The texture and surface unit: header pools, surface accesses, texture sampling.

`unit.ImageUnit` is what an engine hands its image instructions to; `pools.ImagePools` holds a
GPU's headers and samplers in device memory, as a driver does.
"""
