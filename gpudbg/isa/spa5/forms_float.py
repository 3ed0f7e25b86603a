"""Floating point arithmetic, compares and conversions (grammar: `spec.py`).

Instructions of fixed latency, the f64 arithmetic and, from sm_60 on, conversions to or from a
64-bit type take operand-reuse hints; FADD, DADD and FSWZADD keep their second operand in the
third operand collector.
"""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = ""

TABLE = """
FADD      5c58:fff8 rci | .ftz@44=FTZ .rnd@40:39=RND .sat@50 | d .cc@47, a -48 |46, b:f20 %2 -45 |49
FADD32I   0800:fc00     | .ftz@55=FTZ | d .cc@52, a -56 |54, b:f32 -53 |57
FMUL      5c68:fff8 rci | .ftz@45:44=FMZ .scale@43:41=SCALE .rnd@40:39=RND .sat@50 | d .cc@47, a, b:f20 -48
FMUL32I   1e00:ff00     | .ftz@54:53=FMZ .sat@55 | d .cc@52, a, b:f32
FFMA      5980:ff80 rcik | .ftz@54:53=FMZ .rnd@52:51=RND .sat@50 | d .cc@47, a, b:f20 -48, c -49
FFMA32I   0c00:fc00     | .ftz@54:53=FMZ .sat@55 | d .cc@52, a -56, b:f32, c@7:0 -57
FMNMX     5c60:fff8 rci | .ftz@44=FTZ | d .cc@47, a -48 |46, b:f20 -45 |49, pc !42
FSETP     5bb0:fff0 rci | .cmp@51:48=FCMP .ftz@47=FTZ .bop@46:45 | p, q, a -43 |7, b:f20 -6 |44, pc !42
FSET      5800:ff00 rci | .bf@52 .cmp@51:48=FCMP .ftz@55=FTZ .bop@46:45 | d .cc@47, a -43 |54, b:f20 -53 |44, pc !42
FCMP      5ba0:fff0 rcik | .cmp@51:48=FCMPGT .ftz@47=FTZ | d, a, b:f20, c
FCHK      5c88:fff8 rci | .func@44:39=FCHK | p, a -48 |46, b:f20 -45 |49
FSWZADD   50f8:fff8     | .ftz@44=FTZ .rnd@40:39=RND .ndv@38 | d .cc@47, a, b %2, swz:N=FSWZ@35:28
RRO       5c90:fff8 rci | .func@39=RRO | d, b:f20 -45 |49
MUFU      5080:fff8     | .func@23:20=MUFU .sat@50 | d, a -48 |46 | noreuse arch=50 var
MUFU      5080:fff8     | .func@23:20=MUFU52 .sat@50 | d, a -48 |46 | noreuse arch=52+ var
DADD      5c70:fff8 rci | .rnd@40:39=RND | d .cc@47 #2, a -48 |46 #2, b:d20 %2 -45 |49 #2 | var
DMUL      5c80:fff8 rci | .rnd@40:39=RND | d .cc@47 #2, a #2, b:d20 -48 #2 | var
DFMA      5b70:fff0 rcik | .rnd@51:50=RND | d .cc@47 #2, a #2, b:d20 -48 #2, c -49 #2 | var
DMNMX     5c50:fff8 rci | | d .cc@47 #2, a -48 |46 #2, b:d20 -45 |49 #2, pc !42 | noreuse=50-53 var
DSETP     5b80:fff0 rci | .cmp@51:48=FCMP .bop@46:45 | p, q, a -43 |7 #2, b:d20 -6 |44 #2, pc !42 | noreuse=50-53 var
DSET      5900:ff80 rci | .bf@52 .cmp@51:48=FCMP .bop@46:45 | d .cc@47, a -43 |54 #2, b:d20 -53 |44 #2, pc !42 | noreuse=50-53 var

# F2F between equal sizes rounds to an integral value; between sizes it rounds the mantissa.
F2F       5ca8:fff8,11:8=5  rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .irnd@42+40:39=F2FINT .sat@50 | d .cc@47 #dtype, b:h20 -45 |49 .part@41=H1 | noreuse var
F2F       5ca8:fff8,11:8=10 rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .irnd@42+40:39=F2FINT .sat@50 | d .cc@47 #dtype, b:f20 -45 |49 | noreuse var
F2F       5ca8:fff8,11:8=15 rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .irnd@42+40:39=F2FINT .sat@50 | d .cc@47 #dtype, b:d20 -45 |49 #stype | noreuse=50-53 var
F2F       5ca8:fff8,11:8=7  rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .rnd@40:39=RND .sat@50 | d .cc@47 #dtype, b:h20 -45 |49 .part@41=H1 | noreuse=50-53 var
F2F       5ca8:fff8,11:10=1 rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .rnd@40:39=RND .sat@50 | d .cc@47 #dtype, b:h20 -45 |49 .part@41=H1 | noreuse var
F2F       5ca8:fff8,11:8=11 rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .rnd@40:39=RND .sat@50 | d .cc@47 #dtype, b:f20 -45 |49 | noreuse=50-53 var
F2F       5ca8:fff8,11:10=2 rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .rnd@40:39=RND .sat@50 | d .cc@47 #dtype, b:f20 -45 |49 | noreuse var
F2F       5ca8:fff8,11:10=3 rci | .ftz@44=FTZ .dtype+stype@11:8=F2F .rnd@40:39=RND .sat@50 | d .cc@47 #dtype, b:d20 -45 |49 #stype | noreuse=50-53 var
F2I       5cb0:fff8,11:10=1 rci | .ftz@44=FTZ .dtype+stype@12:8=F2I .irnd@40:39=IRND | d .cc@47 #dtype, b:h20 -45 |49 .part@41=H1 | noreuse var
F2I       5cb0:fff8,11:8=11 rci | .ftz@44=FTZ .dtype+stype@12:8=F2I .irnd@40:39=IRND | d .cc@47 #dtype, b:f20 -45 |49 .part@41=H1 | noreuse=50-53 var
F2I       5cb0:fff8,11:10=2 rci | .ftz@44=FTZ .dtype+stype@12:8=F2I .irnd@40:39=IRND | d .cc@47 #dtype, b:f20 -45 |49 .part@41=H1 | noreuse var
F2I       5cb0:fff8,11:10=3 rci | .ftz@44=FTZ .dtype+stype@12:8=F2I .irnd@40:39=IRND | d .cc@47 #dtype, b:d20 -45 |49 .part@41=H1 #stype | noreuse=50-53 var
I2F       5cb8:fff8,11:10=1 rci | .dtype+stype@13+11:8=I2F .rnd@40:39=RND | d .cc@47 #dtype, b:s20 -45 |49 .part@42:41=HIGH16 #stype | noreuse var
I2F       5cb8:fff8,11:10=3 rci | .dtype+stype@13+11:8=I2F .rnd@40:39=RND | d .cc@47 #dtype, b:s20 -45 |49 .part@42:41=BYTES #stype | noreuse=50-53 var
I2F       5cb8:fff8,9:8=3 rci | .dtype+stype@13+11:8=I2F .rnd@40:39=RND | d .cc@47 #dtype, b:s20 -45 |49 .part@42:41=BYTES #stype | noreuse=50-53 var
I2F       5cb8:fff8 rci | .dtype+stype@13+11:8=I2F .rnd@40:39=RND | d .cc@47 #dtype, b:s20 -45 |49 .part@42:41=BYTES #stype | noreuse var
I2I       5ce0:fff8,11:10=1 rci | .dtype+stype@13:8=I2I .sat@50 | d .cc@47, b:s20 -45 |49 .part@42:41=HIGH16 | noreuse var
I2I       5ce0:fff8     rci | .dtype+stype@13:8=I2I .sat@50 | d .cc@47, b:s20 -45 |49 .part@42:41=BYTES | noreuse var
"""
