"""The `.nv.info` and `.nv.info.KERNEL` records.

A record is a format byte, an attribute byte and a value: none (format 1), one byte (2), a
16-bit word (3), or a 16-bit length and that many bytes (4).  Records of formats 1 to 3 take
4 bytes in all.  Attribute names are those that cuobjdump -elf prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError
from gpudbg.formats.program import IndirectBranch, Param

NAMES = dict(
    enumerate(
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
)
NAMES |= {
    0x4A: "VRC_CTA_INIT_COUNT", 0x4C: "NUM_BARRIERS", 0x4F: "AT_ENTRY_FRAGMENTS",
    0x50: "SPARSE_MMA_MASK", 0x51: "TCGEN05_1CTA_USED", 0x54: "REG_RECONFIG",
}  # fmt: skip
"""Attribute code -> name; codes beyond are shown as ATTR_xx."""

_WORD = Struct("<I")
_TWO_WORDS = Struct("<II")
_THREE_WORDS = Struct("<III")
_PARAM_CBANK = Struct("<IHH")
"""Symbol, offset, size."""
_KPARAM_INFO = Struct("<IHHI")
"""Index, ordinal, offset; log2 of the alignment (7:0), bank (16:12), size (31:18)."""


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
    at = 0
    while at < len(data):
        where = file_offset + at
        form = data[at]
        head = data[at : at + 4]
        length = int.from_bytes(head[2:4], "little")
        end = at + 4 + (length if form == 4 else 0)
        if form not in (1, 2, 3, 4) or len(head) < 4 or end > len(data):
            raise LoadError(
                f"damaged record of attributes (format {form}): cut off or unknown",
                path=path,
                offset=where,
            )
        values = {1: None, 2: head[2], 3: length, 4: data[at + 4 : end]}
        yield InfoRecord(head[1], values[form], where)
        at = end


def _bytes(record: InfoRecord, path: str) -> bytes:
    """The value of a record with bytes.

    Raises:
        LoadError: it has none.
    """
    if not isinstance(record.value, bytes):
        raise LoadError(f"{record.name} record has no bytes", path=path, offset=record.file_offset)
    return record.value


def _parse(shape: Struct, record: InfoRecord, path: str) -> tuple[int, ...]:
    """The numbers that a record's bytes begin with.

    Raises:
        LoadError: too few bytes, or not a record with bytes.
    """
    data = _bytes(record, path)
    if len(data) < shape.size:
        raise LoadError(
            f"{record.name} record of {len(data)} bytes is too short",
            path=path,
            offset=record.file_offset,
        )
    return shape.unpack_from(data)


def _words(data: bytes) -> tuple[int, ...]:
    return Struct(f"<{len(data) // 4}I").unpack_from(data)


def words(record: InfoRecord, path: str) -> tuple[int, ...]:
    """The value as 32-bit words."""
    return _words(_bytes(record, path))


def word(record: InfoRecord, path: str) -> int:
    """The first 32-bit word of the value."""
    return _parse(_WORD, record, path)[0]


def symbol_word(record: InfoRecord, path: str) -> tuple[int, int]:
    """(symbol row, value) of a per-function record: frame and stack sizes, registers."""
    symbol, value = _parse(_TWO_WORDS, record, path)
    return symbol, value


def param_cbank(record: InfoRecord, path: str) -> tuple[int, int]:
    """(offset, bytes) of the parameters in constant bank 0."""
    _, offset, size = _parse(_PARAM_CBANK, record, path)
    return offset, size


def kparam(record: InfoRecord, path: str) -> Param:
    """One parameter."""
    _, ordinal, offset, packed = _parse(_KPARAM_INFO, record, path)
    return Param(ordinal=ordinal, offset=offset, size=packed >> 18)


def large_kparam(record: InfoRecord, path: str) -> Param:
    """One parameter of a kernel with more than 4 KB of them (*inferred*): its size has the low half
    of a word, above which sm_100 and later mark pointers."""
    _, ordinal, offset, packed = _parse(_KPARAM_INFO, record, path)
    return Param(ordinal=ordinal, offset=offset, size=packed & 0xFFFF)


def threads(record: InfoRecord, path: str) -> tuple[int, int, int]:
    """(x, y, z) of MAX_THREADS, REQNTID and CTA_PER_CLUSTER."""
    x, y, z = _parse(_THREE_WORDS, record, path)
    return x, y, z


def branches(record: InfoRecord, path: str) -> tuple[IndirectBranch, ...]:
    """The rows of INDIRECT_BRANCH_TARGETS: offset, kind, a count and that many targets."""
    data = _bytes(record, path)
    out = []
    at = 0
    while at + _THREE_WORDS.size <= len(data):
        offset, kind, count = _THREE_WORDS.unpack_from(data, at)
        first = at + _THREE_WORDS.size
        at = first + 4 * count
        if at > len(data):
            break
        out.append(IndirectBranch(offset, bool(kind & 1), _words(data[first:at])))
    return tuple(out)
