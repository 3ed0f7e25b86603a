"""`gpudbg decode texheader` and `decode sampler`: 256 bits as fields, data and lines."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gpudbg.answers import Card, Notice
from gpudbg.errors import UsageError
from gpudbg.regs import texheader_schema
from gpudbg.regs.decoders import Decoding
from gpudbg.regs.texfields import HEADER_BYTES, LAYOUTS, SAMPLER_ROWS, HeaderField, value_name
from gpudbg.regs.texformats import DATA_TYPES, FORMATS, SOURCES, TEXTURE_TYPES
from gpudbg.regs.texheader import (
    Sampler,
    TextureHeader,
    decode_header,
    decode_sampler,
    pack_words,
    split_words,
)

USAGE = "usage: decode texheader HEX... [--layout NAME]; eight words, 64 hex digits, or 0x and 64"
SAMPLER_USAGE = "usage: decode sampler HEX...; eight words, 64 hex digits, or 0x and 64"
_DIGITS = HEADER_BYTES * 2


def parse_words(texts: Sequence[str]) -> tuple[int, ...]:
    """Eight words from a command line.

    Eight numbers (hexadecimal, 0x or not, blanks or commas between), or one of 64 digits: with 0x
    a 256-bit number, without it the 32 bytes in the order of memory.

    Raises:
        UsageError: something else.
    """
    items = [w for text in texts for w in text.replace(",", " ").split()]
    try:
        if len(items) == 1 and items[0][:2].lower() == "0x" and len(items[0]) > 10:
            value = int(items[0], 16)
            if value >> 256:
                raise UsageError(f"{items[0][:20]}... has more than 256 bits", USAGE)
            return split_words(value)
        if len(items) == 1 and len(items[0]) == _DIGITS:
            return struct.unpack("<8I", bytes.fromhex(items[0]))
        words = tuple(int(item, 16) for item in items)
    except ValueError:
        raise UsageError(f"{' '.join(items)[:40]!r} is no header in hexadecimal", USAGE) from None
    pack_words(words)
    return words


def header_data(header: TextureHeader) -> dict[str, Any]:
    """A header's meaning as plain data, by the names the class headers and cases use."""
    data: dict[str, Any] = {
        "format": header.format.name,
        "type": header.type_name,
        "version": header.version,
        "texture_type": header.texture_type,
        "address": header.address,
        "width": header.width,
        "height": header.height,
        "depth": header.depth,
        "block_height_log2": header.block_height_log2,
        "block_depth_log2": header.block_depth_log2,
    }
    if header.layout == "PITCH":
        data["pitch"] = header.pitch
    return data | {
        "types": list(header.types),
        "sources": list(header.sources),
        "bytes_per_texel": header.format.bytes,
        "block_width_log2": header.block_width_log2,
        "max_mip_level": header.max_mip_level,
        "normalized": header.normalized,
        "srgb": header.srgb,
    }


def _meaning(name: str, value: int) -> str:
    """What a field's value is called."""
    if name in ("COMPONENTS", "COMPONENT_SIZES"):
        found = FORMATS.get(value)
        return found.name if found else ""
    if name.endswith("_DATA_TYPE"):
        return DATA_TYPES[value]
    if name in ("X_SOURCE", "Y_SOURCE", "Z_SOURCE", "W_SOURCE"):
        return SOURCES[value]
    if name == "TEXTURE_TYPE":
        return TEXTURE_TYPES[value] if value < len(TEXTURE_TYPES) else ""
    if name.startswith("BORDER_COLOR"):
        number = struct.unpack("<f", struct.pack("<I", value))[0]
        return f"{number:g}"
    return value_name(name, value)


def _fields(layout: str, rows: Sequence[HeaderField], value: int) -> list[dict[str, Any]]:
    """Every field through the construct schema; reserved ones only where they are not zero."""
    parsed = texheader_schema.parse(layout, value)
    return [
        {
            "name": row.name,
            "bits": f"{row.bits.hi}:{row.bits.lo}",
            "value": parsed[row.name],
            "meaning": "" if row.reserved else _meaning(row.name, parsed[row.name]),
        }
        for row in rows
        if not row.reserved or parsed[row.name]
    ]


def _field_lines(fields: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"  {f['bits']:>8}  {f['name']:30} 0x{f['value']:<8x} {f['meaning']}".rstrip()
        for f in fields
    ]


def summary(header: TextureHeader) -> str:
    """A header in one line."""
    axes = {"x": header.width, "y": header.height, "z": header.slices, "l": header.layers}
    sizes = "x".join(str(axes[a]) for a in header.axes)
    how = header.version
    if header.layout == "PITCH":
        how += f" {header.pitch} bytes"
    elif header.layout == "BLOCKLINEAR":
        how += f", block {1 << header.block_height_log2}x{1 << header.block_depth_log2} GOBs"
    kind = header.texture_type or "unknown type"
    return f"{kind} {sizes} {header.format.name} {header.type_name}, {how}, at 0x{header.address:x}"


def decode_texheader(argv: Sequence[str]) -> Decoding:
    """`decode texheader HEX...`; `--layout OLD_V1` and the like read the formats before Maxwell.

    Raises:
        UsageError: no eight words, or an unknown layout.
    """
    words, layout = list(argv), None
    if "--layout" in words:
        at = words.index("--layout")
        layout = "".join(words[at + 1 : at + 2]).upper()
        del words[at : at + 2]
        if layout not in LAYOUTS:
            raise UsageError(f"unknown layout {layout!r}", "known: " + ", ".join(LAYOUTS))
    if not words or any(w.startswith("--") for w in words):
        raise UsageError("decode texheader needs a header", USAGE)
    found = parse_words(words)
    value = pack_words(found)
    base = {"header_words": [f"0x{w:08x}" for w in found]}
    header = decode_header(found)
    if layout is not None:
        fields = _fields(layout, LAYOUTS[layout], value)
        data = {"version": layout, **base, "fields": fields}
        return Decoding(Card(data, lambda found: _field_lines(found["fields"])))
    if header is None:
        why = f"header version {value >> 85 & 7} does not exist"
        return Decoding(Notice(f"invalid: {why}", {"version": None, **base, "invalid": why}))
    fields = _fields(header.version, LAYOUTS[header.version], value)
    data, head = header_data(header) | base | {"fields": fields}, summary(header)
    return Decoding(Card(data, lambda found: [head, *_field_lines(found["fields"])]))


def sampler_data(sampler: Sampler) -> dict[str, Any]:
    """A sampler's meaning as plain data."""
    return {
        "address": [value_name("ADDRESS_U", mode) for mode in sampler.address],
        "mag_filter": value_name("MAG_FILTER", sampler.mag_filter),
        "min_filter": value_name("MIN_FILTER", sampler.min_filter),
        "mip_filter": value_name("MIP_FILTER", sampler.mip_filter),
        "depth_compare": sampler.depth_compare,
        "depth_function": value_name("DEPTH_COMPARE_FUNC", sampler.depth_function),
        "lod_bias": sampler.lod_bias,
        "lod_range": list(sampler.lod_range),
        "border": [f"0x{word:08x}" for word in sampler.border],
    }


def decode_texsampler(argv: Sequence[str]) -> Decoding:
    """`decode sampler HEX...`.

    Raises:
        UsageError: no eight words.
    """
    if not argv or any(w.startswith("--") for w in argv):
        raise UsageError("decode sampler needs a sampler", SAMPLER_USAGE)
    found = parse_words(argv)
    fields = _fields("SAMPLER", SAMPLER_ROWS, pack_words(found))
    data = sampler_data(decode_sampler(found))
    head = f"{'/'.join(data['address'])}, {data['mag_filter']}, {data['mip_filter']}"
    words = {"sampler_words": [f"0x{w:08x}" for w in found]}
    data = data | words | {"fields": fields}
    return Decoding(Card(data, lambda found: [head, *_field_lines(found["fields"])]))
