"""Video instructions: byte and half-word sources, 16-bit immediates (grammar: `spec.py`).

Bits 38:36 and 30:28 select the part of a and b, bits 48 and 49 their signs; the pair of types
prints nothing when both are the widest signed ones.  The immediate forms have bit 50 clear.
"""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = ""

TABLE = """
VADD     2000:fc04,50=1      | .ud@54 .atype+btype@30:28+49+38:36+48=VTYPES .po@56&57 .sat@55 .post@53:51=POST | d .cc@47, a -57^56 .part@38:36=VSEL, b -56^57 .part@30:28=VSEL, c
VADD     2000:fc04,49=0      | .ud@54 .atype+btype@49+38:36+48=VTYPES_I .po@56&57 .sat@55 .post@53:51=POST | d .cc@47, a -57^56 .part@38:36=VSEL, b:u@35:20 ^ -56^57, c
VADD     2000:fc04,49=1      | .ud@54 .atype+btype@49+38:36+48=VTYPES_I .po@56&57 .sat@55 .post@53:51=POST | d .cc@47, a -57^56 .part@38:36=VSEL, b:x@35:20 ^ -56^57, c
VABSDIFF 5400:ff04,50=1      | .sd@54 .atype+btype@30:28+49+38:36+48=VTYPES .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b .part@30:28=VSEL, c
VABSDIFF 5400:ff04,49=0      | .sd@54 .atype+btype@49+38:36+48=VTYPES_I .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:u@35:20, c
VABSDIFF 5400:ff04,49=1      | .sd@54 .atype+btype@49+38:36+48=VTYPES_I .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:s@35:20, c
VMNMX    3a00:fe04,50=1      | .ud@54 .atype+btype@30:28+49+38:36+48=VTYPES .mx@56 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b .part@30:28=VSEL, c
VMNMX    3a00:fe04,49=0      | .ud@54 .atype+btype@49+38:36+48=VTYPES_I .mx@56 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:u@35:20, c
VMNMX    3a00:fe04,49=1      | .ud@54 .atype+btype@49+38:36+48=VTYPES_I .mx@56 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:s@35:20, c
VSHL     5700:ff04,50=1      | .ud@54 .atype+btype@30:28+38:36+48=VTYPES_U .w@49 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b .part@30:28=VSEL, c
VSHL     5700:ff04           | .ud@54 .atype+btype@38:36+48=VTYPES_UI .w@49 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:u@35:20, c
VSHR     5600:ff04,50=1      | .ud@54 .atype+btype@30:28+38:36+48=VTYPES_U .w@49 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b .part@30:28=VSEL, c
VSHR     5600:ff04           | .ud@54 .atype+btype@38:36+48=VTYPES_UI .w@49 .sat@55 .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:u@35:20, c
VMAD     5f00:ff04,50=1,38:36=6 | .atype+btype@30:28+49+38:36+48=VTYPES .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b .part@30:28=VSEL, c -53^54 | arch=50-53 noreuse var
VMAD     5f00:ff04,50=1,30:28=6 | .atype+btype@30:28+49+38:36+48=VTYPES .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b .part@30:28=VSEL, c -53^54 | arch=50-53 noreuse var
VMAD     5f00:ff04,50=1      | .atype+btype@30:28+49+38:36+48=VTYPES .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b .part@30:28=VSEL, c -53^54 | arch=50-53
VMAD     5f00:ff04,50=1,38:36=6 | .atype+btype@30:28+49+38:36+48=VTYPES_R .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b .part@30:28=VSEL, c -53^54 | arch=60+ noreuse var
VMAD     5f00:ff04,50=1,30:28=6 | .atype+btype@30:28+49+38:36+48=VTYPES_R .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b .part@30:28=VSEL, c -53^54 | arch=60+ noreuse var
VMAD     5f00:ff04,50=1      | .atype+btype@30:28+49+38:36+48=VTYPES_R .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b .part@30:28=VSEL, c -53^54 | arch=60+
VMAD     5f00:ff04,49=0,38:36=6 | .atype+btype@49+38:36+48=VTYPES_I .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b:u@35:20, c -53^54 | noreuse var
VMAD     5f00:ff04,49=0      | .atype+btype@49+38:36+48=VTYPES_I .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b:u@35:20, c -53^54
VMAD     5f00:ff04,49=1,38:36=6 | .atype+btype@49+38:36+48=VTYPES_I .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b:x@35:20, c -53^54 | arch=50-53 noreuse var
VMAD     5f00:ff04,49=1      | .atype+btype@49+38:36+48=VTYPES_I .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b:x@35:20, c -53^54 | arch=50-53
VMAD     5f00:ff04,49=1,38:36=6 | .atype+btype@49+38:36+48=VTYPES_P .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b:x@35:20, c -53^54 | arch=60+ noreuse var
VMAD     5f00:ff04,49=1      | .atype+btype@49+38:36+48=VTYPES_P .po@53&54 .vshift@52:51=VSHIFT .sat@55 | d .cc@47, a -54^53 .part@38:36=VSEL, b:x@35:20, c -53^54 | arch=60+
VSET     4000:fe04,50=1      | .cmp@56:54=ICMP .atype+btype@30:28+49+38:36+48=VTYPES .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b .part@30:28=VSEL, c
VSET     4000:fe04,49=0      | .cmp@56:54=ICMP .atype+btype@49+38:36+48=VTYPES_I .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:u@35:20, c
VSET     4000:fe04,49=1      | .cmp@56:54=ICMP .atype+btype@49+38:36+48=VTYPES_I .post@53:51=POST | d .cc@47, a .part@38:36=VSEL, b:s@35:20, c
VSETP    50f0:fff8,50=1      | .cmp@47+44:43=ICMP .atype+btype@30:28+49+38:36+48=VTYPES .bop@46:45 | p, q, a .part@38:36=VSEL, b .part@30:28=VSEL, pc !42
VSETP    50f0:fff8,50=0,49=0 | .cmp@47+44:43=ICMP .atype+btype@49+38:36+48=VTYPES_P .bop@46:45 | p, q, a .part@38:36=VSEL, b:u@35:20, pc !42
VSETP    50f0:fff8,50=0,49=1 | .cmp@47+44:43=ICMP .atype+btype@49+38:36+48=VTYPES_P .bop@46:45 | p, q, a .part@38:36=VSEL, b:s@35:20, pc !42
VABSDIFF4 5000:ff80,31:28=15,49=0 | .sd@38 .atype+btype@49:48=V4TYPES .sat@50 .post@54:53=V4RED .lanes@37:36+52:51=V4LANES | d .cc@47, a .part@35:32=V4ASEL, b:u@27:20, c
VABSDIFF4 5000:ff80,31:28=15,49=1 | .sd@38 .atype+btype@49:48=V4TYPES .sat@50 .post@54:53=V4RED .lanes@37:36+52:51=V4LANES | d .cc@47, a .part@35:32=V4ASEL, b:s@27:20, c
VABSDIFF4 5000:ff80          | .sd@38 .atype+btype@49:48=V4TYPES .sat@50 .post@54:53=V4RED .lanes@37:36+52:51=V4LANES | d .cc@47, a .part@35:32=V4ASEL, b .part@31:28=V4BSEL, c
IDP      53f8:fff8           | .mode@50+48=IDPMODE .atype+btype@47+49:48=IDPTYPES | d, a, b, c | arch=61+
IDP      53d8:fff8           | .mode@50+48=IDPMODE .atype+btype@47+49:48=IDPTYPES | d, a, b:C, c | arch=61+
"""
