"""CUDA C++ and PTX to cubins; what a source says of its kernels' parameters."""
