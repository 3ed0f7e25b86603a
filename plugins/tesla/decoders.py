"""`gpudbg decode physid` and `hierarchy`: who, in the machine's terms."""

from __future__ import annotations

from typing import Any

from gpudbg.errors import UsageError
from gpudbg.plugin import Arguments, Decoded, decoder, parse_int

from . import hierarchy as hierarchy_model
from . import physid as physid_model
from .hierarchy import FEATURES, Chip, Hierarchy
from .options import MACHINE, THREAD, machine

_IDS = THREAD[1:]


@decoder(usage="VALUE | --tp N --mp N --warp N --lane N", options=MACHINE + _IDS, words=(0, 1))
def physid(args: Arguments) -> Decoded:
    """Decode a physid value, or build one from ids."""
    given = args.given & {"tp", "mp", "warp", "lane"}
    if bool(args.words) == bool(given):
        raise UsageError("give either a physid value or ids to build one from")
    if args.words:
        word = parse_int(args.words[0], "physid", 32)
    else:
        word = physid_model.PhysId(
            *(args[key] or 0 for key in ("tp", "mp", "warp", "lane"))
        ).encode()  # fmt: skip
    known = bool(args.given & {"pmc", "tp_mask", "mp_mask"})
    chip, units = machine(args)
    chip_known = chip if "chipset" in args.given else None
    data = physid_model.describe(word, units if known else None, chip_known)
    lines = [
        f"physid {data['physid_hex']}: TP {data['tp']}, MP {data['mp']}, warp {data['warp']}, "
        f"lane {data['lane']} (quad {data['quad']}, lane {data['quad_lane']} of it)"
    ]
    if known:
        state = "active" if data["active"] else "not active"
        lines.append(
            f"{state}; compressed TP {data['compressed_tp']}, MP {data['compressed_mp']} "
            f"(TP mask 0x{units.tp_mask:x}, MP mask 0x{units.mp_mask:x})"
        )
    return Decoded(data, lines + [f"note: {note}" for note in data["notes"]])


@decoder(usage="PMC_1540 [--chipset ID]", options=MACHINE, words=(0, 1))
def hierarchy(args: Arguments) -> Decoded:
    """The hierarchy of a PMC 0x1540 value."""
    if args.words and args.given & {"pmc", "tp_mask", "mp_mask"}:
        raise UsageError("give PMC 0x1540 once")
    if args.words:
        chip = Chip(args["chipset"])
        units = Hierarchy.from_pmc(parse_int(args.words[0], "PMC 0x1540", 32))
    else:
        chip, units = machine(args)
    data = units.to_json(chip)
    data["notes"] = units.notes()
    return Decoded(data, hierarchy_lines(chip, units))


def hierarchy_lines(chip: Chip, units: Hierarchy) -> list[str]:
    """The hierarchy as text: counts, limits, features, and a map of TPs and MPs."""
    data: dict[str, Any] = units.to_json(chip)
    version = chip.sm_version
    features = ", ".join(FEATURES[name] for name in version.features) or "none"
    lines = [
        f"PMC 0x1540 = {data['pmc_1540_hex']}: {units.tp_count} TPs of {units.mp_count} MPs",
        f"NV{chip.chipset:02X} ({chip.chipset_class}), {version.name} ({chip.sm_version_basis}); "
        f"beyond sm_10: {features}",
        f"per MP: {chip.warps_per_mp} warps, {chip.registers_per_mp} registers, "
        f"{hierarchy_model.SHARED_BYTES_PER_MP} bytes of shared memory",
        f"in all: {data['mps_total']} MPs, {data['warps_total']} warps, "
        f"{data['threads_total']} threads",
    ]
    for tp in range(units.tp_mask.bit_length()):
        active = units.tp_mask >> tp & 1
        mps = " ".join(f"MP{mp}" for mp in units.mps) if active else "-"
        number = hierarchy_model.compressed_id(units.tp_mask, tp)
        lines.append(f"  TP {tp:>2} {f'(number {number})' if active else '(absent)':<11} {mps}")
    return lines + [f"note: {note}" for note in units.notes()]
