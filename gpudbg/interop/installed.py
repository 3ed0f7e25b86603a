"""Libraries whose kernels run here, and the devices they run on."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.api.device import Device

_OF_DEVICE: Final = ("num_sms", "seed", "engine", "jobs", "heap_bytes", "stack_bytes")


def library(module: str, package: str) -> Any:
    """A module of a library.

    Raises:
        UsageError: it is not installed, or cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{module} cannot be imported: {error}", f"pip install {package}"
        ) from None


def device_of(arch: str, options: dict[str, Any]) -> Device:
    """A device for kernels of a library; its own options are taken out of `options`."""
    from gpudbg.api.device import Device
    from gpudbg.architectures import real

    chosen = {name: options.pop(name) for name in _OF_DEVICE if name in options}
    return Device(real(arch) or arch, **chosen)
