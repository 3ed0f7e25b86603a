"""Options that several decoders share: which machine, which thread."""

from __future__ import annotations

from gpudbg.errors import UsageError
from gpudbg.plugin import Arguments, Option, one_of, unsigned

from .hierarchy import Chip, Hierarchy
from .physid import PhysId

#: The chip the notes were tested on, with one TP of two MPs.
DEFAULT_CHIPSET = 0x86
DEFAULT_TP_MASK = 1
DEFAULT_MP_MASK = 3

MACHINE = (
    Option("--chipset", unsigned(16), DEFAULT_CHIPSET, "chip id, 0x50 to 0xaf"),
    Option("--pmc", unsigned(32), None, "PMC register 0x1540, instead of the two masks"),
    Option("--tp-mask", unsigned(16), DEFAULT_TP_MASK, "active TPs"),
    Option("--mp-mask", unsigned(4), DEFAULT_MP_MASK, "active MPs of each TP"),
)
THREAD = (
    Option("--physid", unsigned(32), None, "physid value, instead of tp, mp, warp and lane"),
    Option("--tp", unsigned(4), None, "TP id"),
    Option("--mp", unsigned(2), None, "MP id within the TP"),
    Option("--warp", unsigned(5), None, "warp id within the MP"),
    Option("--lane", unsigned(5), None, "lane"),
)
PROGRAM = Option(
    "--program", one_of("CP", "VP", "GP", "FP", "VP/GP/FP"), "CP", "program type"
)  # fmt: skip


def machine(args: Arguments) -> tuple[Chip, Hierarchy]:
    """The chip and its active units."""
    masks = args.given & {"tp_mask", "mp_mask"}
    if args["pmc"] is not None:
        if masks:
            raise UsageError("--pmc and the two masks exclude each other")
        return Chip(args["chipset"]), Hierarchy.from_pmc(args["pmc"])
    return Chip(args["chipset"]), Hierarchy(args["tp_mask"], args["mp_mask"])


def thread(args: Arguments, *, lane: bool = True) -> PhysId:
    """The thread named by --physid or by its ids; ids not given are 0."""
    keys = ("tp", "mp", "warp", "lane") if lane else ("tp", "mp", "warp")
    if args["physid"] is not None:
        clash = sorted(args.given & set(keys))
        if clash:
            raise UsageError(f"--physid and --{clash[0]} exclude each other")
        return PhysId.decode(args["physid"])
    values = {key: args[key] or 0 for key in keys}
    return PhysId(values["tp"], values["mp"], values["warp"], values.get("lane", 0))
