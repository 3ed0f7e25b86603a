"""DATA_ERROR: what the machine answers to a method or a launch it refuses.

The notes name the condition only; the codes and names are those of later public lists.
"""

from __future__ import annotations

from gpudbg.errors import UsageError

DATA_ERRORS = {
    0x03: "INVALID_OPERATION",
    0x04: "INVALID_VALUE",
    0x05: "INVALID_ENUM",
    0x08: "INVALID_OBJECT",
    0x09: "READ_ONLY_OBJECT",
    0x0A: "SUPERVISOR_OBJECT",
    0x0B: "INVALID_ADDRESS_ALIGNMENT",
    0x0C: "INVALID_BITFIELD",
    0x1B: "SAMPLER_OVER_LIMIT",
    0x1C: "TEXTURE_OVER_LIMIT",
    0x27: "CP_MORE_PARAMS_THAN_SHARED",
    0x28: "CP_NO_REG_SPACE_STRIPED",
    0x29: "CP_NO_REG_SPACE_PACKED",
    0x2A: "CP_NOT_ENOUGH_WARPS",
    0x2B: "CP_BLOCK_SIZE_MISMATCH",
    0x2C: "CP_NOT_ENOUGH_LOCAL_WARPS",
    0x2D: "CP_NOT_ENOUGH_STACK_WARPS",
    0x2E: "CP_NO_BLOCKDIM_LATCH",
}
CODES = {name: code for code, name in DATA_ERRORS.items()}


class DataError(UsageError):
    """A refused method write or launch.

    Args:
        name: a value of `DATA_ERRORS`.
        why: what is wrong, with the values.
    """

    def __init__(self, name: str, why: str) -> None:
        self.code = CODES[name]
        self.name = name
        self.why = why
        super().__init__(f"DATA_ERROR 0x{self.code:02x} {name}: {why}")
