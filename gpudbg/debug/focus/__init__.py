"""The warp and lane that questions are about: hardware, CUDA and IDE coordinates."""
