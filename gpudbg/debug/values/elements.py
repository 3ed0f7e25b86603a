"""What the elements of a launch's buffers are: one answer for all that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.device.device import DeviceBuffer
from gpudbg.toolchain.signatures import known

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


def shown_buffer(inferior: Inferior, number: int) -> Any:
    """The buffer of an argument with the elements that its parameter has in the source, or by the
    kernel's mangled name; where neither tells, as the launch has it.  None: it is no buffer.
    """
    buffer: Any = inferior.launch.arguments[number].buffer
    declared = known(inferior.program, inferior.kernel)
    element = declared[number].element if number < len(declared) else None
    if buffer is None or element is None or element == buffer.dtype:
        return buffer
    if hasattr(buffer, "layout") or buffer.nbytes % element.itemsize:
        # An image, whose texels say what they are, or no whole elements.
        return buffer
    shape = (buffer.nbytes // element.itemsize,)
    return DeviceBuffer(buffer.device, buffer.allocation, element, shape)


def element_name(dtype: np.dtype[Any]) -> str:
    """`f32`"""
    return f"{dtype.kind}{dtype.itemsize * 8}"
