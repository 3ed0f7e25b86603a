"""Triton's kernels: `gpudbg.triton(kernel)[grid](…)`, and its launches as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.architectures import age
from gpudbg.interop.installed import device_of, library
from gpudbg.interop.launcher import Answer, KernelLauncher, Use

if TYPE_CHECKING:
    from gpudbg.interop.driver_of_triton import TritonDriver


class TritonKernel(KernelLauncher):
    """A kernel written with Triton, autotuned or not.

    Attributes:
        kernel: Triton's.
        driver: what launches it.
    """

    def __init__(self, kernel: Any, driver: TritonDriver) -> None:
        self.kernel, self.driver = kernel, driver

    def begin(
        self,
        configuration: Any,
        args: tuple[object, ...],
        named: dict[str, object],
        use: Use[Answer],
    ) -> Answer:
        from gpudbg.errors import UsageError
        from gpudbg.interop.driver_of_triton import active

        grid = (configuration,) if isinstance(configuration, int) else configuration
        driver = self.driver
        with active(driver):
            before, driver.use = driver.use, use
            driver.answers.clear()
            try:
                self.kernel[grid](*args, **named)
            finally:
                driver.use = before
        if not driver.answers:
            raise UsageError("the kernel was not launched", "its grid may be empty")
        answer: Answer = driver.answers[-1]  # type: ignore[assignment]
        return answer


def triton(kernel: Any, arch: str = "sm_80", **options: Any) -> TritonKernel:
    """A Triton kernel that runs here: `gpudbg.triton(kernel)[grid](x, y, n, BLOCK=256)`.

    Arguments are as for `kernel[grid](…)`; arrays are NumPy's, PyTorch's on the CPU, or what
    speaks DLPack, read and written in place.  Neither a GPU nor PyTorch is needed.
    `.debug[grid](…)` is a session at the kernel's entry, `.check()[grid](…)` a report.  Lines are
    those of the Python source.

    Args:
        kernel: what `@triton.jit`, `@triton.autotune` or `@triton.heuristics` made.
        arch: architecture that it is compiled for.
        options: num_sms, seed, engine, jobs, heap_bytes, stack_bytes of the device.

    Raises:
        UsageError: Triton is not installed.
    """
    from gpudbg.errors import UsageError

    library("triton", "triton")
    if not hasattr(kernel, "run"):
        raise UsageError(
            f"a {type(kernel).__name__} is no kernel of Triton", "@triton.jit makes one"
        )
    return TritonKernel(kernel, _driver(arch, options))


def triton_driver(arch: str = "sm_80", **options: Any) -> TritonDriver:
    """Have Triton's own launches, `kernel[grid](x, y, n)`, run here from now on.

    Args:
        arch, options: as for `gpudbg.triton`.

    Raises:
        UsageError: Triton is not installed.
    """
    from gpudbg.interop.driver_of_triton import activate

    library("triton", "triton")
    driver = _driver(arch, options)
    activate(driver)
    return driver


def _driver(arch: str, options: dict[str, Any]) -> TritonDriver:
    from gpudbg.errors import UsageError
    from gpudbg.interop.driver_of_triton import TritonDriver

    # From sm_90 on, Triton compiles for the variant that has an architecture's own instructions.
    device = device_of(f"{arch}a" if arch[-1:].isdigit() and age(arch)[0] >= 90 else arch, options)
    if options:
        raise UsageError(f"no option is called {min(options)}")
    return TritonDriver(device)
