"""Graphics and rarely met instructions, and integer forms no compiler emits (see `spec.py`).

Attribute addresses: `a[0x10]` absolute, `a[R3+0x10]` per patch, `a[R3]` physical.
"""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = "noreuse var"

TABLE = """
AL2P   efa0:fff8,15:8=255        | .o@32 .size@48:47=ALDSIZE | p@46:44 ?, d, imm:u@29:20 ?0
AL2P   efa0:fff8                 | .o@32 .size@48:47=ALDSIZE | p@46:44 ?, d, a, imm:s@30:20 ?0
ALD    efd8:fff8,31=0,15:8=255   | .o@32 .size@48:47=ALDSIZE | d #size, addr:V=Z@29:20, c ?255
ALD    efd8:fff8,31=1,15:8=255   | .o@32 .P .size@48:47=ALDSIZE | d #size, addr:V=Z@29:20, c ?255
ALD    efd8:fff8,31=1            | .o@32 .P .size@48:47=ALDSIZE | d #size, addr:VR@30:20, c ?255
ALD    efd8:fff8,31=0           | .o@32 .PHYS .size@48:47=ALDSIZE | d #size, addr:VR=0@30:20, c ?255 | means=phys
AST    eff0:fff8,31=0,15:8=255   | .size@48:47=ALDSIZE | addr:V=Z@29:20, b@7:0 #size, c ?255
AST    eff0:fff8,31=1,15:8=255   | .P .size@48:47=ALDSIZE | addr:V=Z@29:20, b@7:0 #size, c ?255
AST    eff0:fff8,31=1            | .P .size@48:47=ALDSIZE | addr:VR@30:20, b@7:0 #size, c ?255
AST    eff0:fff8,31=0           | .PHYS .size@48:47=ALDSIZE | addr:VR=0@30:20, b@7:0 #size, c ?255 | means=phys
IPA    e000:ff00,38=0,15:8=255   | .mode@55:54=IPA .sample@53:52=SAMPLE .sat@51 | d, addr:V@37:28, b, c ?255, pc@49:47 !50 ?
IPA    e000:ff00,38=1            | .IDX .mode@55:54=IPA .sample@53:52=SAMPLE .sat@51 | d, addr:VR, b, c ?255, pc@49:47 !50
ISBERD efd0:fff8                 | .o@32 .mode@34:33=ISBERD .skew@31 .size@48:47=ISBERDSIZE | d, addr:A0@15:8
OUT    fbe0:fff8                 | .mode@40:39=OUT | d, a, b
OUT    ebe0:fff8                 | .mode@40:39=OUT | d, a, b:C
OUT    f6e0:fef8                 | .mode@40:39=OUT | d, a, b:s20
PIXLD  efe8:fff8                 | .mode@33:31=PIXLD | d, p@47:45 ?, addr:A@27:20
CCTLT  ebf0:fff8,1:0=0,48:36=0   | .IVALL | | means=op:IVALL
CCTLT  ebf0:fff8,1:0=1           | .IVTH | imm:u@48:36 | means=op:IVTH
CCTLT  ebe8:fff8,1:0=1           | .IVTH | c | means=op:IVTH
IMADSP 5a80:ff80 rcik            | .atype+btype+ctype@54:48=IMADSP | d .cc@47, a, b:s20, c
"""
