"""The SPA 5.x instruction set (Maxwell and Pascal, sm_50 .. sm_62): one table, many views.

Every instruction form is one line of a `forms_*.py` table.  Decode (`decode.py`), text as
nvdisasm prints it (`text.py`), the assembler (`assemble.py`) and the construct schema
(`schema.py`) are all read from that line; `spec.py` describes the line's grammar.

    insn = decode(0x5c12800000470302, "sm_50")     # cached by (word, arch); never knows its pc
    insn.op, insn.guard                            # "IADD", (7, False): predicate index, negated
    insn.o["a"]                                    # Reg(index=3, neg=True, ...)   operands by slot
    insn.m["cc"]                                   # True                          modifiers by name
    insn.operands                                  # the same operands in text order
    insn.text(pc=8)                                # "IADD R2.CC, -R3, R4"
    insn.target(pc)                                # absolute byte address of a flow target, or None
    insn.reads(), insn.writes()                    # Access(registers, predicates, cc)
    insn.form.variable_latency                     # may set scoreboards (LDG, MUFU, DFMA...)
    assemble("IADD R2.CC, -R3, R4", pc=8)          # 0x5c12800000470302

Operand slots (`insn.o[...]`; a slot that the form does not have raises KeyError, use `.get`)

    d        destination register (loads, ALU); `d2` second destination (TEXS, TLDS, TLD4S)
    a b c    source operands as printed: `b` is the one that is a register, constant or immediate
             by form, `c` the third.  One-source forms use the port their operand sits in: `b`
             for MOV, MOV32I, F2F, F2I, I2F, I2I, POPC, FLO, RRO; `a` for MUFU.  Forms with the
             constant in third place keep the printed meaning: in `FFMA R6, R8, R6, c[3][0]` b is
             the register and c the constant.  Stores, RED, SUST and ATOM have their data source
             in `b` (CAS: compare value `b`, new value `c`).
    p q      first and second destination predicate (ISETP, LOP, SHFL, VOTE, TEX...)
    pa pb    source predicates of PSET/PSETP (first, second)
    pc       the select / combine predicate: SEL, FMNMX, IMNMX, *SET, *SETP, PSETP third, VOTE
             source, BAR.RED source, the LD/ST address predicate
    addr     memory address: Address(base, offset, wide)
    cbank    LDC and flow targets in constant memory: CBankAddress(bank, base, offset)
    target   relative or absolute flow target: Target(value, relative, base)
    sr       special register: SReg(index, name)
    imm      the remaining immediate: BPT code, shift of ISCADD/LEA, quad mask of MOV, IDE,
             NOP.TRIG mask, texture component mask (also m["mask"])
    lut      LOP3 truth table;  tex  texture/surface handle index (words of c[0x0])
    id n     barrier index and thread count of BAR (register or immediate)
    sb n sbs DEPBAR scoreboard, count, and scoreboard set (bit mask in Name.value)
    file     PR or CC of P2R/R2P;  cond  CC test;  dim comps query swz  other words (Name)

Operand classes (`operands.py`): Reg(index, neg, abs, inv, part, count, reuse), Const(bank, offset,
same modifiers), Imm(value, neg, abs, inv, part), Pred(index, neg), Address, CBankAddress, Target,
SReg, Name.  `Reg.index` 255 is RZ, `Pred.index` 7 is PT.  `Reg.count` is the number of
consecutive registers the operand stands for (2 for f64, 64-bit data, .E addresses; 4 for .128).
`part` names the piece used: "H0" "H1" (XMAD always one of them; IADD3 "" H0 H1; F2F, F2I, 16-bit
I2F and I2I "" or H1), "B0".."B3", "H0", "H1" or "" (video, by type), "" B1 B2 B3 (8- and 32-bit
I2F, I2I; R2P), "H1_H0" "F32" "H0_H0" "H1_H1" (packed half); "" is the whole register.
`Imm.value` holds raw bits ready for use: sign-extended u32 for integers, the 32-bit pattern for
f32, the 64-bit pattern for f64, f16 pairs as high << 16 | low.

Modifiers (`insn.m[...]`; a known name that the form does not have gives False, "" or the first
value listed for rnd, irnd, cctest and size; an unknown name raises KeyError)

    flags (bool)
      cc        write the condition code (`.CC` after the destination)
      x         read the carry: IADD, IADD3, LEA, LOP, LOP3, ISET, ISETP, IMAD, XMAD (`.X`)
      sat po    saturate; plus-one (both negate bits set: then neither operand has neg)
      hi        high word or part: IMUL, IMAD, LEA (`.HI`)
      u32       unsigned compare, shift, extract (BFE FLO ICMP IMNMX ISET ISETP SHR)
      w brev sh SHL/SHR/SHF/VSHL/VSHR wrap, bit reverse (BFE, SHR), FLO shift amount
      psl mrg   XMAD product shift, merge
      bf        boolean-float result of *SET
      e u       64-bit address (`.E`), LDS/BRA/JMP `.U`
      right     SHF direction: True for SHF.R
      mx        VMNMX: maximum;  ud  video: unsigned destination;  sd  VABSDIFF: signed one
      lmt noinc keeprefcount en trig wait  hints and variants of flow and system instructions
      ndv nodep dc aoffi ms cl ptp lc b ba h_and result warp o skew phys spin  as printed
    choices (str without the dot; the value for "prints nothing" comes first)
      rnd       RN RM RP RZ                  floating point rounding
      irnd      ROUND FLOOR CEIL TRUNC (F2I); PASS ROUND FLOOR CEIL TRUNC (F2F of equal sizes)
      ftz       "" FTZ FMZ
      scale     "" D2 D4 D8 M8 M4 M2         FMUL
      cmp       F LT EQ LE GT NE GE [NUM NAN LTU EQU LEU GTU NEU GEU] T
      cctest    T (default) F LT EQ ...      flow instructions, NOP, CSET, CSETP
      bop bop1  AND OR XOR                   combine with pc; of pa and pb in PSET/PSETP
      lop       AND OR XOR PASS_B            LOP, LOP32I
      pmode     "" T Z NZ                    predicate result of LOP, LOP3 ("" writes false)
      dtype stype        conversion types: F16 F32 F64 U8 S8 U16 S16 U32 S32 U64 S64; SHF stype
                         "" (32) U64 S64
      atype btype ctype  per-operand types: IMUL/IMAD U32 S32; XMAD U16 S16; video and IDP U8..S32;
                         IMADSP U24 S24 U16H0 ...
      cmode     "" CLO CHI CSFU CBCC         XMAD
      shift     "" RS LS                     IADD3
      xmode     "" XLO XMED XHI (IMNMX); "" X XHI (SHL SHR); "" HI X XHI (SHF)
      func      RCP RSQ ... (MUFU); SINCOS EX2 (RRO); DIVIDE (FCHK)
      mode      PRMT "" F4E B4E RC8 ECL ECR RC16; SHFL IDX UP DOWN BFLY; VOTE ALL ANY EQ;
                VOTE.VTG R A RA; BAR SYNC ARV RED SCAN SYNCALL; BPT and RTT modes; LDC "" IL IS ISL;
                B2R and R2B "" RESULT WARP; OUT, PIXLD, ISBERD, IPA modes; IDP 4A 2A.LO 2A.HI;
                SULD/SUST/SURED/SUATOM P or D
      red       POPC AND OR                  BAR.RED
      size      32 U8 S8 U16 S16 64 128 (loads, stores, surfaces); AL2P/ALD/AST 32 64 96 128;
                ATOM RED ATOMS SURED SUATOM U32 S32 U64 S64 U128 F32.FTZ.RN F16x2.RN F64.RN ...
      op        ATOM RED ATOMS SURED SUATOM ADD MIN MAX INC DEC AND OR XOR EXCH SAFEADD CAS CAST;
                CCTL, CCTLL and CCTLT operation
      cache     "" CG CI CV CS WT LU; CCTL level "" U C I CRS
      level     CTA GL SYS VC (MEMBAR);  ivall "" IVALLD IVALLT IVALLTD
      post      "" ACC MIN MAX MRG_16H MRG_16L MRG_8B0 MRG_8B2 (video);  vshift "" SHR_7 SHR_15
      lanes     XYZW X Y XY ... (VABSDIFF4)
      part      "" B1 B2 B3 (P2R);  file PR CC (P2R, R2P)
      merge     H1_H0 F32 MRG_H0 MRG_H1      packed-half destination
      lod       "" LZ LB LL LBA LLA;  comp R G B A (TLD4);  comps  components of TEXS, TLDS
      clamp     "" IGN TRAP (surfaces);  rgba  components of SULD.P, SUST.P
      dim       1D ARRAY_1D 2D ... (textures), 1D 1D_BUFFER 1D_ARRAY ... (surfaces)
      query     TXQ question;  swz  FSWZADD: 8 letters, two per lane, lane 0 first
      mask      texture component mask (int)
"""

from __future__ import annotations

from ..operands import PT, RZ, Access
from .assemble import assemble
from .decode import decode
from .insn import Instruction
from .spec import ARCHS

__all__ = ["ARCHS", "PT", "RZ", "Access", "Instruction", "assemble", "decode"]
