"""The `.nv.info` and `.nv.info.KERNEL` records as a construct schema.

A record is a format byte, an attribute byte and a value: none (format 1), one byte (2), a
16-bit word (3), or a 16-bit length and that many bytes (4).  Records of formats 1 to 3 take
4 bytes in all.  Attribute names are those that cuobjdump -elf prints.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import construct as cs

from gpudbg.errors import LoadError
from gpudbg.formats.program import IndirectBranch, Param

NAMES = {
    code: name
    for code, name in enumerate(
        """ERROR PAD IMAGE_SLOT JUMPTABLE_RELOCS CTAIDZ_USED MAX_THREADS IMAGE_OFFSET IMAGE_SIZE
        TEXTURE_NORMALIZED SAMPLER_INIT PARAM_CBANK SMEM_PARAM_OFFSETS CBANK_PARAM_OFFSETS
        SYNC_STACK TEXID_SAMPID_MAP EXTERNS REQNTID FRAME_SIZE MIN_STACK_SIZE
        SAMPLER_FORCE_UNNORMALIZED BINDLESS_IMAGE_OFFSETS BINDLESS_TEXTURE_BANK
        BINDLESS_SURFACE_BANK KPARAM_INFO SMEM_PARAM_SIZE CBANK_PARAM_SIZE QUERY_NUMATTRIB
        MAXREG_COUNT EXIT_INSTR_OFFSETS S2RCTAID_INSTR_OFFSETS CRS_STACK_SIZE NEED_CNP_WRAPPER
        NEED_CNP_PATCH EXPLICIT_CACHING ISTYPEP_USED MAX_STACK_SIZE SUQ_USED
        LD_CACHEMOD_INSTR_OFFSETS LOAD_CACHE_REQUEST ATOM_SYS_INSTR_OFFSETS
        COOP_GROUP_INSTR_OFFSETS COOP_GROUP_MASK_REGIDS SW1850030_WAR WMMA_USED
        HAS_PRE_V10_OBJECT ATOMF16_EMUL_INSTR_OFFSETS ATOM16_EMUL_INSTR_REG_MAP REGCOUNT
        SW2393858_WAR INT_WARP_WIDE_INSTR_OFFSETS SHARED_SCRATCH STATISTICS
        INDIRECT_BRANCH_TARGETS SW2861232_WAR SW_WAR CUDA_API_VERSION NUM_MBARRIERS
        MBARRIER_INSTR_OFFSETS COROUTINE_RESUME_ID_OFFSETS SAM_REGION_STACK_SIZE
        PER_REG_TARGET_PERF_STATS CTA_PER_CLUSTER EXPLICIT_CLUSTER MAX_CLUSTER_RANK
        INSTR_REG_MAP RESERVED_SMEM_USED RESERVED_SMEM_0_SIZE UCODE_SECTION_DATA
        UNUSED_LOAD_BYTE_OFFSET KPARAM_INFO_V2 SYSCALL_OFFSETS""".split()
    )
}
"""Attribute code -> name; codes beyond are shown as ATTR_xx."""

_RECORD = cs.Struct(
    "format" / cs.Int8ul,
    "attribute" / cs.Int8ul,
    "value"
    / cs.Switch(
        cs.this.format,
        {
            1: cs.Padding(2),
            2: cs.FocusedSeq("byte", "byte" / cs.Int8ul, cs.Padding(1)),
            3: cs.Int16ul,
            4: cs.Prefixed(cs.Int16ul, cs.GreedyBytes),
        },
        default=cs.Error,
    ),
)
_WORDS = cs.GreedyRange(cs.Int32ul)
_SYMBOL_WORD = cs.Struct("symbol" / cs.Int32ul, "value" / cs.Int32ul)
_PARAM_CBANK = cs.Struct("symbol" / cs.Int32ul, "offset" / cs.Int16ul, "size" / cs.Int16ul)
_KPARAM_INFO = cs.Struct(
    "index" / cs.Int32ul,
    "ordinal" / cs.Int16ul,
    "offset" / cs.Int16ul,
    "packed" / cs.Int32ul,
    "log_alignment" / cs.Computed(lambda this: this.packed & 0xFF),
    "bank" / cs.Computed(lambda this: this.packed >> 12 & 0x1F),
    "size" / cs.Computed(lambda this: this.packed >> 18),
)
_THREADS = cs.Struct("x" / cs.Int32ul, "y" / cs.Int32ul, "z" / cs.Int32ul)
_BRANCH = cs.Struct(
    "offset" / cs.Int32ul,
    "kind" / cs.Int32ul,
    "targets" / cs.PrefixedArray(cs.Int32ul, cs.Int32ul),
)


@dataclass(frozen=True, slots=True)
class InfoRecord:
    """One record.

    Attributes:
        attribute: its code.
        value: None (format 1), an int (2 and 3) or bytes (4).
        file_offset: where it stands in the file.
    """

    attribute: int
    value: int | bytes | None
    file_offset: int

    @property
    def name(self) -> str:
        """The attribute's name."""
        return NAMES.get(self.attribute, f"ATTR_{self.attribute:02X}")


def read_records(data: bytes, path: str, file_offset: int) -> Iterator[InfoRecord]:
    """The records of one section.

    Args:
        data: the section's bytes.
        path: the file, for messages.
        file_offset: where the section starts in the file.

    Raises:
        LoadError: a record of unknown format, or one that is cut off.
    """
    stream = io.BytesIO(data)
    while (position := stream.tell()) < len(data):
        where = file_offset + position
        try:
            record = _RECORD.parse_stream(stream)
        except cs.ConstructError as error:
            raise LoadError(
                f"damaged .nv.info record (format {data[position]}): cut off or unknown",
                path=path,
                offset=where,
            ) from error
        yield InfoRecord(record.attribute, record.value if record.format != 1 else None, where)


def _parse(schema: cs.Construct, record: InfoRecord, path: str) -> cs.Container:
    """A record's bytes by a schema.

    Raises:
        LoadError: too few bytes, or not a record with bytes.
    """
    if not isinstance(record.value, bytes):
        raise LoadError(f"{record.name} record has no bytes", path=path, offset=record.file_offset)
    try:
        return schema.parse(record.value)
    except cs.ConstructError as error:
        raise LoadError(
            f"{record.name} record of {len(record.value)} bytes is too short",
            path=path,
            offset=record.file_offset,
        ) from error


def words(record: InfoRecord, path: str) -> tuple[int, ...]:
    """The value as 32-bit words."""
    return tuple(_parse(_WORDS, record, path))


def word(record: InfoRecord, path: str) -> int:
    """The first 32-bit word of the value."""
    return int(_parse(cs.Int32ul, record, path))


def symbol_word(record: InfoRecord, path: str) -> tuple[int, int]:
    """(symbol row, value) of a per-function record: frame and stack sizes, registers."""
    parsed = _parse(_SYMBOL_WORD, record, path)
    return int(parsed.symbol), int(parsed.value)


def param_cbank(record: InfoRecord, path: str) -> tuple[int, int]:
    """(offset, bytes) of the parameters in constant bank 0."""
    parsed = _parse(_PARAM_CBANK, record, path)
    return int(parsed.offset), int(parsed.size)


def kparam(record: InfoRecord, path: str) -> Param:
    """One parameter."""
    parsed = _parse(_KPARAM_INFO, record, path)
    return Param(ordinal=parsed.ordinal, offset=parsed.offset, size=parsed.size)


def threads(record: InfoRecord, path: str) -> tuple[int, int, int]:
    """(x, y, z) of MAX_THREADS and REQNTID."""
    parsed = _parse(_THREADS, record, path)
    return int(parsed.x), int(parsed.y), int(parsed.z)


def branches(record: InfoRecord, path: str) -> tuple[IndirectBranch, ...]:
    """The rows of INDIRECT_BRANCH_TARGETS."""
    rows = _parse(cs.GreedyRange(_BRANCH), record, path)
    return tuple(IndirectBranch(r.offset, bool(r.kind & 1), tuple(r.targets)) for r in rows)
