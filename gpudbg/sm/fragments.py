"""Which lane holds which matrix element: the fragments of tensor-core instructions, said once.

A `Layout` maps every element of an operand's registers to a row and a column; the step engine
reads and writes matrices through it (`gpudbg.sm.engines.tensor`), and debuggers draw it.  Layouts:
PTX ISA, matrix fragments of `mma`, `wmma`, `ldmatrix` and `wgmma`; checked by execution, see
`shared/reference/volta/volta-tensor.md`.

`l` is a lane, `g = l >> 2`, `t = l & 3`; a register holds `per` elements, low bits first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.isa.operands import Imm, Reg

if TYPE_CHECKING:
    from gpudbg.isa.operands import Operand as InstructionOperand

I64s = npt.NDArray[np.int64]
LANES: Final = np.arange(32)
GROUP: Final = LANES >> 2
THREAD: Final = LANES & 3

_BITS: Final = {
    "F64": 64, "F32": 32, "TF32": 32, "S32": 32, "F16": 16, "BF16": 16, "B16": 16,
    "E4M3": 8, "E5M2": 8, "E3M2": 8, "E2M3": 8, "E2M1": 8, "S8": 8, "U8": 8, "B8": 8,
    "S4": 4, "U4": 4, "F4": 4, "B1": 1, "INDEX": 4, "E8": 8, "UE4M3": 8,
}  # fmt: skip
"""Bits of an element in a register; E2M1 has a byte in QMMA and is packed, as F4, in OMMA.  INDEX
is a nibble of metadata; E8 and UE4M3 are scale factors."""


def bits_of(kind: str) -> int:
    """Bits that an element takes in a register."""
    return _BITS[kind]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the elements of an operand's registers stand in its matrix.

    Attributes:
        kind: type of the elements: F16, BF16, TF32, F32, F64, E4M3, S8, U4, B1, ...
        rows, columns: of the matrix.
        row, column, tile: of element h of register i in lane l, at [i, h, l]; a register of F64
            is a pair.  Tiles are matrices that an instruction treats apart.
        tiles: how many there are.
    """

    kind: str
    rows: int
    columns: int
    row: I64s
    column: I64s
    tile: I64s
    tiles: int = 1

    @property
    def registers(self) -> int:
        """32-bit registers of a lane."""
        return int(self.row.shape[0]) * (2 if self.kind == "F64" else 1)

    def matrix(self, words: Sequence[Any]) -> npt.NDArray[np.uint64]:
        """The raw elements of registers in their places, shape (tiles, rows, columns)."""
        out = np.zeros((self.tiles, self.rows, self.columns), np.uint64)
        out[self.tile, self.row, self.column] = elements(words, self.kind)
        return out

    def words(self, matrix: npt.NDArray[Any]) -> list[npt.NDArray[np.uint32]]:
        """The registers that hold the raw elements of a matrix, shape (tiles, rows, columns)."""
        raw = matrix.astype(np.uint64)[self.tile, self.row, self.column]
        if self.kind == "F64":
            halves = (raw & np.uint64(0xFFFFFFFF), raw >> np.uint64(32))
            return [half[i, 0].astype(np.uint32) for i in range(len(raw)) for half in halves]
        shifts = np.arange(raw.shape[1], dtype=np.uint64) * np.uint64(bits_of(self.kind))
        whole = np.bitwise_or.reduce(raw << shifts[None, :, None], axis=1)
        return [word.astype(np.uint32) for word in whole]

    def holders(self) -> tuple[I64s, I64s, I64s]:
        """(lane, register, element) of every place, shape (tiles, rows, columns) each."""
        count, per, _ = self.row.shape
        shape = (self.tiles, self.rows, self.columns)
        out: list[I64s] = []
        register, element, lane = np.meshgrid(
            np.arange(count), np.arange(per), LANES, indexing="ij"
        )
        for values in (lane, register * (2 if self.kind == "F64" else 1), element):
            held = np.full(shape, -1, np.int64)
            held[self.tile, self.row, self.column] = values
            out.append(held)
        return out[0], out[1], out[2]


def elements(words: Sequence[Any], kind: str) -> npt.NDArray[np.uint64]:
    """Raw elements of registers, shape (registers, elements of a register, 32)."""
    size = bits_of(kind)
    stack = np.empty((len(words), 32), np.uint64)
    for row, word in zip(stack, words, strict=True):
        row[:] = word
    if size == 64:
        return (stack[0::2] | stack[1::2] << np.uint64(32))[:, None, :]
    shifts = np.arange(32 // size, dtype=np.uint64) * np.uint64(size)
    raw: npt.NDArray[np.uint64] = stack[:, None, :] >> shifts[None, :, None]
    return raw & np.uint64((1 << size) - 1)


def _layout(
    kind: str, rows: int, columns: int, row: Any, column: Any, tile: Any = 0, tiles: int = 1
) -> Layout:
    """Args: row, column, tile: broadcast to (registers, elements, 32) together."""
    places = np.broadcast_arrays(row, column, tile, np.zeros((1, 1, 32), np.int64))
    wide = [np.ascontiguousarray(place, np.int64) for place in places[:3]]
    return Layout(kind, rows, columns, wide[0], wide[1], wide[2], tiles)


def _grid(registers: int, per: int) -> tuple[I64s, I64s]:
    """Numbers of register and element, to be broadcast against lanes."""
    return np.arange(registers)[:, None, None], np.arange(per)[None, :, None]


# ---- the shapes that one warp multiplies at once -----------------------------------------
@cache
def matrix_a(kind: str, rows: int, columns: int) -> Layout:
    """A of `mma`: row g and, of 16 rows, g + 8."""
    if kind == "F64":
        j, _ = _grid(rows * columns // 32, 1)
        tall = rows == 16
        row = GROUP + 8 * (j & 1) if tall else GROUP + 0 * j
        return _layout(kind, rows, columns, row, THREAD + 4 * (j >> 1 if tall else j))
    per = 32 // bits_of(kind)
    i, h = _grid(rows * columns // (32 * per), per)
    row, block = (GROUP + 8 * (i & 1), i >> 1) if rows == 16 else (GROUP + 0 * i, i)
    return _layout(kind, rows, columns, row, block * 4 * per + THREAD * per + h)


@cache
def matrix_b(kind: str, rows: int) -> Layout:
    """B of `mma`, `rows` x 8: column g."""
    per = 1 if kind == "F64" else 32 // bits_of(kind)
    i, h = _grid(rows * 8 // (32 * per), per)
    return _layout(kind, rows, 8, i * 4 * per + THREAD * per + h, GROUP + 0 * i)


@cache
def matrix_c(kind: str, rows: int, columns: int = 8) -> Layout:
    """C and D of `mma`, and of `wgmma` one warp's 16 rows: columns 2t and 2t + 1."""
    if bits_of(kind) == 16:
        i, h = _grid(rows * columns // 64, 2)
        part, block = (i & 1, i >> 1) if rows == 16 else (0 * i, i)
        return _layout(kind, rows, columns, GROUP + 8 * part, 8 * block + 2 * THREAD + h)
    i, _ = _grid(rows * columns // 32, 1)
    part, block = (i >> 1 & 1, i >> 2) if rows == 16 else (0 * i, i >> 1)
    return _layout(kind, rows, columns, GROUP + 8 * part, 8 * block + 2 * THREAD + (i & 1))


# ---- sparse A, scales --------------------------------------------------------------------
def stored_columns(kind: str, stored: int, metadata: Any, selector: int) -> I64s:
    """The column of A of every stored element, shape (16, stored).

    A nibble of metadata names two of the four columns of a chunk; of two (TF32, one stored) or, in
    pairs, of eight columns (four bits).  The places of nibbles are documented for halves, and
    checked by what compilers make of the other selectors.

    Args:
        metadata: the register with the nibbles.
        selector: which lanes of a quad give theirs.
    """
    words = np.broadcast_to(metadata, 32).astype(np.int64)
    size, place = bits_of(kind), np.arange(stored)
    # A nibble's two fields are two elements; of four bits four, of TF32 one.
    each = {4: 2, 32: 0}.get(size, 1)
    chunk, width = place >> each, 2 << each
    field = place >> (each >> 1) & (size < 32)
    lane, low = nibbles(size, int(chunk[-1]) + 1, np.arange(16)[:, None], chunk[None], selector)
    index = words[lane] >> (low + 2 * field[None]) & 3
    if size == 32:
        index >>= 1
    elif size == 4:
        index = 2 * index + (place & 1)
    found: I64s = width * chunk[None] + index
    return found


def index_places(kind: str, stored: int, selector: int) -> tuple[I64s, I64s]:
    """(lane, nibble of its metadata register) that describe every stored element, (16, stored)."""
    size = bits_of(kind)
    chunk = np.arange(stored) >> {4: 2, 32: 0}.get(size, 1)
    rows = np.arange(16)[:, None]
    lane, low = nibbles(size, int(chunk[-1]) + 1, rows, chunk[None], selector)
    shape = 16, stored
    return np.broadcast_to(lane, shape).copy(), np.broadcast_to(low >> 2, shape).copy()


def nibbles(size: int, chunks: int, row: I64s, chunk: I64s, selector: int) -> tuple[I64s, I64s]:
    """(lane, lowest bit) of the nibbles that describe chunks of rows, of so many chunks."""
    quad, upper = 4 * (row & 7), row >> 3
    if size >= 16:
        lane = quad + selector if chunks == 4 else quad + 2 * selector + (chunk >> 2)
        return lane, 16 * upper + 4 * (chunk & 3)
    lane = quad + upper + (2 * selector if chunks == 8 else 2 * (chunk >> 3))
    return lane, 4 * (chunk & 7)


def scale_places(of_a: bool, thread: int) -> I64s:
    """The lane that holds the scale factors of each of A's 16 rows, or of B's 8 columns.

    B's come from one thread of a quad; A's from a pair, the even one for the upper eight rows.
    """
    if of_a:
        row = np.arange(16)
        return 4 * (row & 7) + 2 * thread + (row >> 3)
    return 4 * np.arange(8) + thread


# ---- HMMA.884: four products of 8 x 8 x 4, each of eight lanes ---------------------------
_OCTET: Final = LANES >> 2 & 3
_UPPER: Final = LANES >> 4


@cache
def octet_input(side: str, across: bool) -> Layout:
    """A or B of HMMA.884.

    Args:
        side: "A" or "B".
        across: a lane's four halves run along k (A.ROW, B.COL), not along rows or columns.
    """
    i, h = _grid(2, 2)
    own, four = THREAD + 4 * _UPPER, 2 * i + h
    long, short = (own, four) if across else (four + 4 * _UPPER, THREAD)
    if side == "A":
        return _layout("F16", 8, 4, long, short, _OCTET, 4)
    return _layout("F16", 4, 8, short, long, _OCTET, 4)


@cache
def octet_result(kind: str, step: int) -> Layout:
    """C or D of one STEP of HMMA.884: a pair of registers."""
    i, h = _grid(2, 2 if kind == "F16" else 1)
    if kind == "F16":
        half = step & 1
        return _layout(kind, 8, 8, THREAD + 4 * _UPPER, 4 * half + 2 * i + h, _OCTET, 4)
    n = i + 2 * step
    row = (LANES & 1) + 4 * _UPPER + (n & 2)
    return _layout(kind, 8, 8, row, (n & 4) + (LANES & 2) + (n & 1), _OCTET, 4)


# ---- ldmatrix, stmatrix, movmatrix -------------------------------------------------------
@cache
def small_matrices(count: int, transposed: bool) -> Layout:
    """8 x 8 matrices of 16-bit elements, one a register."""
    i, h = _grid(count, 2)
    first, second = GROUP + 0 * i, 2 * THREAD + h
    row, column = (second, first) if transposed else (first, second)
    return _layout("B16", 8, 8, row, column, i, count)


@cache
def byte_matrices(form: str, count: int) -> Layout:
    """Matrices of bytes as they lie in memory: M816 rows of 16 bytes, four in a lane; MT1616
    columns of 16, in two registers; MT168 pairs of rows 2t and 2t + 1 in columns g and g + 8.
    """
    i, h = _grid(2 * count if form == "MT1616" else count, 4)
    if form == "M816":
        return _layout("B8", 8, 16, GROUP + 0 * i, 4 * THREAD + h, i, count)
    if form == "MT1616":
        return _layout("B8", 16, 16, 4 * THREAD + h, GROUP + 8 * (i & 1), i >> 1, count)
    return _layout("B8", 8, 16, 2 * THREAD + (h & 1), GROUP + 8 * (h >> 1), i, count)


# ---- instructions ------------------------------------------------------------------------
class MatrixInstruction(Protocol):
    """What is asked of a decoded instruction."""

    @property
    def op(self) -> str:
        """Mnemonic."""

    @property
    def m(self) -> Sequence[str]:
        """Modifiers."""

    @property
    def word(self) -> int:
        """Its bits."""

    @property
    def o(self) -> Mapping[str, InstructionOperand]:
        """Operands by slot."""


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """An operand of a tensor-core instruction.

    Attributes:
        name: A, B, C or D; M for matrices that are moved.
        kind: type of its elements.
        layout: of its registers; None where it is in shared memory.
        register: its first register, 255 for zeros.
        negative, absolute: applied to every element.
        written: the instruction writes it.
        first_row: a row of the whole matrix that the warp's first one is, in warps of a group.
        note: what else is to be known of it.
        descriptor: the first of two uniform registers that say where it is in shared memory; -1
            where it is in registers.
        across: in shared memory rows of A, columns of B, not k, are side by side.
    """

    name: str
    kind: str
    layout: Layout | None
    register: int = 255
    negative: bool = False
    absolute: bool = False
    written: bool = False
    first_row: int = 0
    note: str = ""
    descriptor: int = -1
    across: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Multiplication:
    """The shape and the operands of a tensor-core instruction: D = A * B + C.

    Attributes:
        m, n, k: rows of A, columns of B, and what they share.
        kinds: element types of A and B.
        result, addend: element types of D and C.
        a, b, c, d: the operands.
        sparse: A holds half of its elements.
        step: of HMMA.884; -1 for others.
        selector: which lanes of a quad give the metadata of sparse A.
    """

    m: int
    n: int
    k: int
    kinds: tuple[str, str]
    result: str
    addend: str
    a: Operand
    b: Operand
    c: Operand
    d: Operand
    sparse: bool = False
    step: int = -1
    selector: int = 0

    @property
    def shape(self) -> str:
        """`m16n8k16`"""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def selects(self) -> bool:
        """Whether its selector is one of those of a sparse A: a quad's four lanes hold 16 nibbles
        for each of two rows, and a chunk of columns takes one."""
        width = {32: 2, 4: 8}.get(bits_of(self.kinds[0]), 4)
        return self.selector * self.k < 16 * width


MULTIPLIES: Final = frozenset("HMMA IMMA BMMA DMMA QMMA OMMA".split())
WARPGROUP: Final = frozenset("HGMMA IGMMA BGMMA QGMMA".split())
MOVES: Final = frozenset("LDSM STSM MOVM".split())
_FLOATS8: Final = ("E4M3", "E5M2", "E3M2", "E2M3", "E2M1")
_INTEGERS: Final = ("U8", "S8", "U4", "S4")


def shape_of(modifiers: Sequence[str]) -> tuple[int, int, int] | None:
    """(m, n, k) of `16816`, `884`, `16x8x4` or `64x128x16` among modifiers."""
    word = next((name for name in modifiers if name[0].isdigit()), "")
    parts = word.split("x")
    if len(parts) == 3:
        m, n, k = (int(part) for part in parts)
        return m, n, k
    for rows in ("16", "8"):
        rest = word.removeprefix(rows + "8")
        if rest != word and rest.isdigit():
            return int(rows), 8, int(rest)
    return None


def kinds_of(op: str, modifiers: Sequence[str]) -> tuple[tuple[str, str], str, str]:
    """((types of A and B), type of D, type of C) of a mnemonic and its modifiers."""
    family = op[0]
    result = "F32" if "F32" in modifiers else "F16"
    if family == "H":
        kind = next((name for name in modifiers if name in ("BF16", "TF32")), "F16")
        types = [name for name in modifiers if name in ("F32", "F16")]
        addend = types[1] if len(types) > 1 else result
        return (kind, kind), types[0] if types else "F16", addend
    if family == "D":
        return ("F64", "F64"), "F64", "F64"
    if family == "B":
        return ("B1", "B1"), "S32", "S32"
    if family == "O":
        return ("F4", "F4"), result, result
    named = [name for name in modifiers if name in (_INTEGERS if family == "I" else _FLOATS8)]
    named = named * 2 if len(named) < 2 else named
    out = "S32" if family == "I" else result
    return (named[0], named[1]), out, out


def multiplication(insn: MatrixInstruction, warp: int = 0) -> Multiplication | None:
    """What a tensor-core instruction multiplies; None: it does not, or its layout is not known.

    Args:
        warp: number of the warp in its block: which rows of a warp group's matrix it holds.
    """
    shape = shape_of(insn.m)
    if shape is None:
        return None
    if insn.op in MULTIPLIES:
        if shape[2] == 4 and shape[0] == 8 and insn.op == "HMMA":
            return _octets(insn)
        return _one_warp(insn, shape)
    if insn.op in WARPGROUP:
        return _warp_group(insn, shape, warp)
    return None


def _operand(name: str, operand: object, layout: Layout | None, kind: str, **more: Any) -> Operand:
    if not isinstance(operand, Reg) or operand.file != "R":
        return Operand(name, kind, None, **more)
    return Operand(name, kind, layout, operand.index, operand.neg, operand.abs, **more)


def _one_warp(insn: MatrixInstruction, shape: tuple[int, int, int]) -> Multiplication:
    m, n, k = shape
    kinds, result, addend = kinds_of(insn.op, insn.m)
    sparse = "SP" in insn.m
    note, number = "", 0
    if sparse:
        chosen = insn.o.get("imm")
        number = chosen.value if isinstance(chosen, Imm) else 0
        note = _stored_note(number)
    a = matrix_a(kinds[0], m, k // 2 if sparse else k)
    o = insn.o
    return Multiplication(
        m, n, k, kinds, result, addend,
        _operand("A", o.get("a"), a, kinds[0], note=note),
        _operand("B", o.get("b"), matrix_b(kinds[1], k), kinds[1]),
        _operand("C", o.get("c"), matrix_c(addend, m), addend),
        _operand("D", o.get("d"), matrix_c(result, m), result, written=True),
        sparse,
        selector=number,
    )  # fmt: skip


def _octets(insn: MatrixInstruction) -> Multiplication:
    """Four products of eight lanes each; a STEP makes a part of the result."""
    kinds, result, addend = kinds_of(insn.op, insn.m)
    step = next((int(name[4:]) for name in insn.m if name.startswith("STEP")), 0)
    o = insn.o
    a, b = o.get("a"), o.get("b")
    along_a = isinstance(a, Reg) and a.part != "COL"
    along_b = isinstance(b, Reg) and b.part != "ROW"
    part = step if addend == result else step >> 1
    note = "four 8x8x4 products, each of eight lanes"
    return Multiplication(
        8, 8, 4, kinds, result, addend,
        _operand("A", a, octet_input("A", along_a), "F16", note=note),
        _operand("B", b, octet_input("B", along_b), "F16"),
        _operand("C", o.get("c"), octet_result(addend, part), addend),
        _operand("D", o.get("d"), octet_result(result, step), result, written=True),
        step=step,
    )  # fmt: skip


_NEGATE_A, _NEGATE_B, _ACROSS_A, _ACROSS_B = 72, 63, 61, 62
"""Bits of a warp group's product: signs, and whether k is not what is side by side in memory."""


def described_signs(insn: MatrixInstruction) -> tuple[tuple[bool, bool], tuple[bool, bool]]:
    """Of A and B of a warp group's product: whether elements are negated, and whether rows of A,
    columns of B, not k, are side by side in shared memory."""
    bits = [bool(insn.word >> bit & 1) for bit in (_NEGATE_A, _NEGATE_B, _ACROSS_A, _ACROSS_B)]
    if isinstance(insn.o.get("a"), Reg) or insn.op != "HGMMA":
        # There bits 61 and 62 belong to something else, or only B is in memory.
        bits[2] = False
    if insn.op in ("IGMMA", "BGMMA"):
        bits = [False] * 4
    elif insn.op == "QGMMA":
        bits[3] = False
    return (bits[0], bits[1]), (bits[2], bits[3])


def first_descriptor(insn: MatrixInstruction) -> int:
    """The first of the four uniform registers with the descriptors of A and B."""
    place: Any = insn.o["addr"]
    return int(place.index.index)


def _warp_group(insn: MatrixInstruction, shape: tuple[int, int, int], warp: int) -> Multiplication:
    """Four warps multiply 64 rows; each holds 16 of them, B is in shared memory."""
    m, n, k = shape
    kinds, result, _ = kinds_of(insn.op, insn.m)
    o = insn.o
    first = 16 * (warp & 3)
    layout = matrix_c(result, 16, n)
    sparse = "SP" in insn.m
    number = chosen.value if isinstance(chosen := o.get("imm"), Imm) else 0
    note = _stored_note(number) if sparse else ""
    negative, across = described_signs(insn)
    descriptor = first_descriptor(insn)
    if isinstance(o.get("a"), Reg):
        inside = matrix_a(kinds[0], 16, k // 2 if sparse else k)
        a = _operand("A", o.get("a"), inside, kinds[0], first_row=first, note=note)
    else:
        a = Operand(
            "A", kinds[0], None, negative=negative[0], first_row=first, note=note,
            descriptor=descriptor, across=across[0],
        )  # fmt: skip
    b = Operand(
        "B", kinds[1], None, negative=negative[1], descriptor=descriptor + 2, across=across[1]
    )
    return Multiplication(
        m, n, k, kinds, result, result, a, b,
        _operand("C", o.get("c"), layout, result, first_row=first),
        _operand("D", o.get("d"), layout, result, written=True, first_row=first),
        sparse,
        selector=number,
    )  # fmt: skip


def _stored_note(selector: int) -> str:
    return f"stored elements of 2:4 sparse rows, metadata selector {selector}"


def moved(insn: MatrixInstruction) -> Operand | None:
    """The 8 x 8 matrices that LDSM loads, STSM stores or MOVM transposes, as they lie in memory;
    None: other forms."""
    form = _moved_form(insn)
    if form not in ("M88", "MT88"):
        return None
    if insn.op == "MOVM":
        return _operand("M", insn.o.get("a"), small_matrices(1, False), "B16", note="transposed")
    return _moved(insn, small_matrices(_moved_count(insn), form == "MT88"))


def moved_bytes(insn: MatrixInstruction) -> Operand | None:
    """The matrices of bytes that LDSM loads and STSM stores, as they lie in memory; None: other
    forms."""
    form = _moved_form(insn)
    if form not in ("M816", "MT1616", "MT168"):
        return None
    return _moved(insn, byte_matrices(form, _moved_count(insn)))


def _moved_form(insn: MatrixInstruction) -> str:
    """`MT88` among the modifiers of a move, else ""."""
    forms = (name for name in insn.m if name[0] == "M" and name[-1].isdigit())
    return next(forms, "") if insn.op in MOVES else ""


def _moved_count(insn: MatrixInstruction) -> int:
    return next((n for n in (4, 2) if str(n) in insn.m), 1)


def _moved(insn: MatrixInstruction, layout: Layout) -> Operand:
    slot, written = ("a", False) if insn.op == "STSM" else ("d", True)
    note = "each matrix transposed" if _moved_form(insn).startswith("MT") else ""
    return _operand("M", insn.o.get(slot), layout, layout.kind, written=written, note=note)
