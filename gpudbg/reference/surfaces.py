"""`gpudbg decode surface`: the address calculator, coordinates to bytes and back."""

from __future__ import annotations

from typing import Any

from gpudbg.answers import Card
from gpudbg.arguments import Parser
from gpudbg.errors import UsageError
from gpudbg.mem.surface import VIEWS, layout_of
from gpudbg.mem.surface_bounds import CLAMPS, DIMS
from gpudbg.mem.surface_text import (
    SIZES,
    explain_access,
    explain_offset,
    layout_data,
    usual_dim,
)
from gpudbg.options import add_verb_options
from gpudbg.regs.decoders import Decoding
from gpudbg.regs.texfields import VERSIONS
from gpudbg.regs.texformats import BY_NAME, TEXTURE_TYPES
from gpudbg.regs.texheader import TextureHeader, decode_header, encode_header
from gpudbg.regs.texheader_text import header_data, parse_words, summary


def _numbers(text: str) -> list[int]:
    try:
        return [int(part, 0) for part in text.replace(",", " ").split()]
    except ValueError:
        raise UsageError(f"{text!r} is no list of numbers") from None


def _parser() -> Parser:
    p = Parser(
        prog="gpudbg decode surface",
        description="Where coordinates of a surface lie, and what lies at an offset.",
    )
    add_verb_options(
        p,
        "decode surface",
        format={"choices": [name for name, found in BY_NAME.items() if found.bytes]},
        version={"choices": VERSIONS},
        texture_type={"choices": TEXTURE_TYPES},
        dim={"choices": tuple(DIMS)},
        size={"help": " ".join(SIZES)},
        clamp={"choices": CLAMPS},
        view={"choices": VIEWS},
    )
    return p


def _described(args: Any) -> TextureHeader:
    """A header from flags."""
    if args.width is None:
        raise UsageError("decode surface needs a header or --width", "see --help")
    return encode_header(
        TextureHeader(
            version=args.version,
            components=BY_NAME[args.format].code,
            types=("UINT",) * 4,
            sources=("R", "G", "B", "A"),
            texture_type=args.texture_type,
            address=args.base,
            width=args.width,
            height=args.height,
            depth=args.depth,
            pitch=args.pitch,
            block_height_log2=_log2("--block-height", args.block_height),
            block_depth_log2=_log2("--block-depth", args.block_depth),
        )
    )


def _log2(flag: str, value: int) -> int:
    if value not in (1, 2, 4, 8, 16, 32):
        raise UsageError(f"{flag} is {value}", "1, 2, 4, 8, 16 or 32 GOBs")
    return value.bit_length() - 1


def _registers(text: str, dim: str) -> list[int]:
    given = _numbers(text)
    if len(given) != len(DIMS[dim]):
        raise UsageError(f"{dim} takes {len(DIMS[dim])} coordinates, not {len(given)}")
    return given


def decode_surface(words: list[str]) -> Decoding:
    """Explain an access or an offset.

    Raises:
        UsageError: arguments that do not fit one another.
    """
    args = _parser().parse_args(words)
    if args.header:
        found = decode_header(parse_words(args.header))
        if found is None:
            raise UsageError("the header's version does not exist: it is invalid")
        header = found
    else:
        header = _described(args)
    if not header.format.bytes:
        raise UsageError(f"texels of format {header.format.name} have no addresses of their own")
    if header.layout == "PITCH" and not header.pitch:
        raise UsageError("a pitch surface needs a pitch", "--pitch BYTES")
    base = {"header": header_data(header), "layout": layout_data(layout_of(header))}
    data = _asked(args, header)
    return Decoding(Card(data | base, lambda found: [summary(header), *_lines(found)]))


def _asked(args: Any, header: TextureHeader) -> dict[str, Any]:
    if args.offset is not None:
        return explain_offset(header, args.offset, args.view)
    if args.address is not None:
        return explain_offset(header, args.address - header.address, args.view)
    dim = args.dim or usual_dim(header)
    if args.at is not None:
        at = _registers(args.at, dim)
        texel = header.format.bytes
        return explain_access(header, dim, [at[0] * texel, *at[1:]], texel, True, args.clamp)
    if args.ra is not None:
        size = SIZES.get(args.size.upper())
        if size is None:
            raise UsageError(f"access size {args.size!r}", "one of " + ", ".join(SIZES))
        registers = _registers(args.ra, dim)
        return explain_access(header, dim, registers, size, args.ba, args.clamp)
    return {}


def _lines(data: dict[str, Any]) -> list[str]:
    lines = []
    if data["layout"]:
        lines.append("  " + ", ".join(f"{k} {v}" for k, v in data["layout"].items()))
    if "outcome" not in data:
        return lines
    if "coords" in data:
        lines.append("  coordinates " + " ".join(f"{k} {v}" for k, v in data["coords"].items()))
    if data.get("out_of_bounds"):
        lines.append("  outside: " + ", ".join(data["out_of_bounds"]))
    if "clamped_to" in data:
        lines.append("  moved to " + " ".join(f"{k} {v}" for k, v in data["clamped_to"].items()))
    lines.append(f"  {data['outcome']}")
    lines += [f"    {step}" for step in data.get("steps", ())]
    for view in VIEWS:
        if f"offset_{view}" in data:
            lines.append(f"  {view:9} offset {data[f'offset_{view}']} = {data[f'address_{view}']}")
    return lines
