"""What can cut an instruction short: warp errors and traps, raised by the engines' operations."""

from __future__ import annotations


class WarpErrorRaised(Exception):  # noqa: N818 - an event of the machine, not of the program
    """A warp error; the instruction has had no effect.

    Attributes:
        code: name in `gpudbg.regs.esr`.
        lanes: mask of the guilty lanes; 0 means all executing ones.
        address, space, access, size: of the first guilty lane, None if not about memory.
        detail: one line for people.
    """

    def __init__(
        self,
        code: str,
        lanes: int,
        detail: str,
        *,
        address: int | None = None,
        space: str | None = None,
        access: str | None = None,
        size: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.lanes = lanes
        self.detail = detail
        self.address = address
        self.space = space
        self.access = access
        self.size = size


class TrapRaised(Exception):  # noqa: N818 - an event of the machine, not of the program
    """A BPT that stops the machine before it takes effect."""

    def __init__(self, mode: str, imm: int) -> None:
        super().__init__(f"BPT.{mode} 0x{imm:x}")
        self.mode = mode
        self.imm = imm


class ReturnRaised(TrapRaised):
    """An RTT in the trap handler: the warp leaves it; `mode` is RTT's, "" for the plain one."""

    def __init__(self, mode: str) -> None:
        super().__init__("TRAP", 0)
        self.mode = mode
        self.args = (f"RTT.{mode}" if mode else "RTT",)


class DeferredRaised(TrapRaised):
    """IDE.EN with a trap pending: the critical section ends and the handler is entered."""

    def __init__(self) -> None:
        super().__init__("TRAP", 0)
        self.args = ("IDE.EN",)


class AssertRaised(TrapRaised):
    """`assert` failed in a lane: a trap that says where and what."""

    def __init__(self, text: str) -> None:
        super().__init__("TRAP", 1)
        self.args = (text,)
