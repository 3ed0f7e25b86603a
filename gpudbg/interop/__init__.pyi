from .cuda_sources import SourceModule as SourceModule
from .cuda_sources import cupy as cupy
from .cuda_sources import load_inline as load_inline
from .launcher import KernelLauncher as KernelLauncher
from .numba_kernels import numba as numba
from .triton_kernels import triton as triton
from .triton_kernels import triton_driver as triton_driver
