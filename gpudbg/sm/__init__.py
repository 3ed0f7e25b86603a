"""The emulated SM: state of warps, CTAs and SMs, launches, the engines that run them, observers."""
