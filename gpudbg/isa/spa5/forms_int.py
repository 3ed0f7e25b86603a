"""Integer arithmetic, logic, shifts, compares and moves (grammar: `spec.py`)."""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = ""

TABLE = """
IADD      5c10:fff8 rci | .po@48&49 .sat@50 .x@43 | d .cc@47, a -49^48, b:s20 -48^49
IADD32I   1c00:fe00     | .po@56:55=PO32 .sat@54 .x@53 | d .cc@52, a -56^55, b:s32
IADD3     5cc0:fff0     | .shift@38:37=SHIFT3 .x@48 | d .cc@47, a -51 .part@36:35=HALVES, b -50 .part@34:33=HALVES, c -49 .part@32:31=HALVES
IADD3     5cc0:fff0 ci  | .x@48 | d .cc@47, a -51, b:x20 -50, c -49
IMUL      5c38:fff8 rci | .atype+btype@41:40=UTYPES .hi@39 | d .cc@47, a, b:s20 | noreuse var
IMUL32I   1f00:ff00     | .atype+btype@55:54=UTYPES .hi@53 | d .cc@52, a, b:s32 | noreuse var
IMAD      5a00:ff80 rcik | .atype+btype@53+48=UTYPES .hi@54 .po@51&52 .sat@50 .x@49 | d .cc@47, a -52^51, b:s20, c -51^52 | noreuse var
IMAD32I   1000:fc00     | .atype+btype@57+54=UTYPES .hi@53 .po@55&56 | d .cc@52, a -56^55, b:s32, c@7:0 -55^56 | noreuse var
ISCADD    5c18:fff8 rci | .po@48&49 | d .cc@47, a -49^48, b:s20 -48^49, imm:u@43:39
ISCADD32I 1400:fc00     | | d .cc@52, a, b:s32, imm:u@57:53
XMAD      5b00:ffc0     | .atype+btype@49:48=XTYPES .psl@36 .cmode@52:50=XMADCR .mrg@37 .x@38 | d .cc@47, a .part@53=XH1, b .part@35=XH1, c
XMAD      3600:fec0,49=0 | .atype+btype@49:48=XTYPES .psl@36 .cmode@52:50=XMADCR .mrg@37 .x@38 | d .cc@47, a .part@53=XH1, b:u@35:20, c
XMAD      3600:fec0,49=1 | .atype+btype@49:48=XTYPES .psl@36 .cmode@52:50=XMADCR .mrg@37 .x@38 | d .cc@47, a .part@53=XH1, b:s@35:20, c
XMAD      4e00:fe00     | .atype+btype@49:48=XTYPES .psl@55 .cmode@51:50=XMADC .mrg@56 .x@54 | d .cc@47, a .part@53=XH1, b:C .part@52=XH1, c
XMAD      5100:ff80     | .atype+btype@49:48=XTYPES .cmode@51:50=XMADC .x@54 | d .cc@47, a .part@53=XH1, b@46:39 .part@52=XH1, c:C
IMNMX     5c20:fff8 rci | .u32@48 .xmode@44:43=XMINMAX | d .cc@47, a, b:s20, pc !42
FLO       5c30:fff8 rci | .u32@48 .sh@41 | d .cc@47, b:s20 ~40 | noreuse var
POPC      5c08:fff8 rci | | d, b:s20 ~40 | noreuse var
BFE       5c00:fff8 rci | .u32@48 .brev@40 | d .cc@47, a, b:s20
BFI       5bf0:fff8 rcik | | d .cc@47, a, b:s20, c
SHL       5c48:fff8 rci | .w@39 .xmode@43=SHLX | d .cc@47, a, b:s20
SHR       5c28:fff8 rci | .u32@48 .w@39 .xmode@44:43=SHRX .brev@40 | d .cc@47, a, b:s20
SHF       5bf8:fff8     | .L .w@50 .stype@38:37=SHFTYPE .xmode@49:48=SHFX | d .cc@47, a, b, c
SHF       5cf8:fff8     | .R .w@50 .stype@38:37=SHFTYPE .xmode@49:48=SHFX | d .cc@47, a, b, c | means=right
SHF       36f8:fef8     | .L .w@50 .stype@38:37=SHFTYPE .xmode@49:48=SHFX | d .cc@47, a, b:u@25:20, c
SHF       38f8:fef8     | .R .w@50 .stype@38:37=SHFTYPE .xmode@49:48=SHFX | d .cc@47, a, b:u@25:20, c | means=right
PRMT      5bc0:fff8 rcik | .mode@50:48=PRMT | d, a, b:s20, c
LOP       5c40:fff8 rci | .lop@42:41=LOP .x@43 .pmode@45:44=PMODE | p@50:48 ?, d .cc@47, a ~39, b:s20 ~40
LOP32I    0400:fc00     | .lop@54:53=LOP .x@57 | d .cc@52, a ~55, b:u@51:20 ~56
LOP3      5be0:fff8     | .LUT .x@38 .pmode@37:36=PMODE | p@50:48 ?, d .cc@47, a, b, c, lut:u@35:28
LOP3      0200:fe00     | .LUT .x@56 | d .cc@47, a, b:C, c, lut:u@55:48
LOP3      3c00:fc00     | .LUT .x@57 | d .cc@47, a, b:s20, c, lut:u@55:48
LEA       5bd0:fff8 rci | .x@46 | p@50:48 ?, d .cc@47, a -45, b:s20, imm:u@43:39 ?0
LEA       5bd8:fff8     | .HI .x@38 | p@50:48 ?, d .cc@47, a -37, b, c, imm:u@32:28 ?0 | means=hi
LEA       1800:fc00     | .HI .x@57 | p@50:48 ?, d .cc@47, a -56, b:C, c, imm:u@55:51 ?0 | means=hi
ISETP     5b60:fff0 rci | .cmp@51:49=ICMP .u32@48 .x@43 .bop@46:45 | p, q, a, b:s20, pc !42
ISET      5b50:fff0 rci | .bf@44 .cmp@51:49=ICMP .u32@48 .x@43 .bop@46:45 | d .cc@47, a, b:s20, pc !42
ICMP      5b40:fff0 rcik | .cmp@51:49=ICMP .u32@48 | d, a, b:s20, c
SEL       5ca0:fff8 rci | | d, a, b:s20, pc !42
MOV       5c98:fff8 rci | | d, b:s20, imm:u@42:39 ?15 | set=78000000000
MOV32I    0100:fff0     | | d, b:u@51:20, imm:u@15:12 ?15 | set=f000
PSETP     5090:fff8     | .bop1@25:24=BOP .bop@46:45 | p, q, pa@14:12 !15, pb@31:29 !32, pc !42
PSET      5088:fff8     | .bf@44 .bop1@25:24=BOP .bop@46:45 | d .cc@47, pa@14:12 !15, pb@31:29 !32, pc !42
CSETP     50a0:fff8     | .cctest@12:8=CCOP .bop@46:45 | p, q, 'CC, pc !42 | reads=CC
CSET      5098:fff8     | .bf@44 .cctest@12:8=CCOP .bop@46:45 | d .cc@47, 'CC, pc !42 | reads=CC
P2R       5ce8:fff8 rci | .part@42:41=BYTES | d, file:N=FILE@40, a, b:s20 | reads=file
R2P       5cf0:fff8 rci | | file:N=FILE@40, a .part@42:41=BYTES, b:w20 | writes=file
"""
