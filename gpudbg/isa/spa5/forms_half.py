"""Packed half precision, sm_52 tables and later (grammar: `spec.py`).

The constant operand prints without a swizzle; immediates are two halves, the high one first.
"""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = "arch=52+ var"

TABLE = """
HADD2     5d10:fff8 | .merge@50:49=MERGE .ftz@39=FTZ .sat@32 | d, a -43 |44 .part@48:47=SWIZZLE, b %2 -31 |30 .part@29:28=SWIZZLE
HADD2     7a80:fe80 | .merge@50:49=MERGE .ftz@39=FTZ .sat@52 | d, a -43 |44 .part@48:47=SWIZZLE, b:C -56 |54
HADD2     7a00:fe80 | .merge@50:49=MERGE .ftz@39=FTZ .sat@52 | d, a -43 |44 .part@48:47=SWIZZLE, b:h2@56+38:30/29:20
HADD2_32I 2c00:fe00 | .ftz@55=FTZ .sat@52 | d, a -56 .part@54:53=SWIZZLE, b:h2@51:36/35:20
HMUL2     5d08:fff8 | .merge@50:49=MERGE .ftz@40:39=FMZ .sat@32 | d, a |44 .part@48:47=SWIZZLE, b -31 |30 .part@29:28=SWIZZLE
HMUL2     7880:fe80 | .merge@50:49=MERGE .ftz@40:39=FMZ .sat@52 | d, a |44 .part@48:47=SWIZZLE, b:C -43 |54
HMUL2     7800:fe80 | .merge@50:49=MERGE .ftz@40:39=FMZ .sat@52 | d, a -43 |44 .part@48:47=SWIZZLE, b:h2@56+38:30/29:20
HMUL2_32I 2a00:fe00 | .ftz@56:55=FMZ .sat@52 | d, a .part@54:53=SWIZZLE, b:h2@51:36/35:20
HFMA2     5d00:fff8 | .merge@50:49=MERGE .ftz@38:37=FMZ .sat@32 | d, a .part@48:47=SWIZZLE, b -31 .part@29:28=SWIZZLE, c -30 .part@36:35=SWIZZLE
HFMA2     7080:f880 | .merge@50:49=MERGE .ftz@58:57=FMZ .sat@52 | d, a .part@48:47=SWIZZLE, b:C -56, c -51 .part@54:53=SWIZZLE
HFMA2     7000:f880 | .merge@50:49=MERGE .ftz@58:57=FMZ .sat@52 | d, a .part@48:47=SWIZZLE, b:h2@56+38:30/29:20, c -51 .part@54:53=SWIZZLE
HFMA2     6080:f880 | .merge@50:49=MERGE .ftz@58:57=FMZ .sat@52 | d, a .part@48:47=SWIZZLE, b@46:39 -56 .part@54:53=SWIZZLE, c:C -51
HFMA2_32I 2800:fe00 | .ftz@56:55=FMZ | d, a .part@54:53=SWIZZLE, b:h2@51:36/35:20, c@7:0 -52
HSET2     5d18:fff8 | .bf@49 .cmp@38:35=FCMP .ftz@50=FTZ .bop@46:45 | d, a -43 |44 .part@48:47=SWIZZLE, b -31 |30 .part@29:28=SWIZZLE, pc !42
HSET2     7c80:fe80 | .bf@53 .cmp@52:49=FCMP .ftz@54=FTZ .bop@46:45 | d, a -43 |44 .part@48:47=SWIZZLE, b:C -56, pc !42
HSET2     7c00:fe80 | .bf@53 .cmp@52:49=FCMP .ftz@54=FTZ .bop@46:45 | d, a -43 |44 .part@48:47=SWIZZLE, b:h2@56+38:30/29:20, pc !42
HSETP2    5d20:fff8 | .cmp@38:35=FCMP .h_and@49 .ftz@6=FTZ .bop@46:45 | p, q, a -43 |44 .part@48:47=SWIZZLE, b -31 |30 .part@29:28=SWIZZLE, pc !42
HSETP2    7e80:fe80 | .cmp@52:49=FCMP .h_and@53 .ftz@6=FTZ .bop@46:45 | p, q, a -43 |44 .part@48:47=SWIZZLE, b:C -56 |54, pc !42
HSETP2    7e00:fe80 | .cmp@52:49=FCMP .h_and@53 .ftz@6=FTZ .bop@46:45 | p, q, a -43 |44 .part@48:47=SWIZZLE, b:h2@56+38:30/29:20, pc !42
"""
