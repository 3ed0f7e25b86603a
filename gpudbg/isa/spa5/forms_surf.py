"""Surface loads, stores, reductions and atomics (grammar: `spec.py`).

`.P` forms move texel components (`rgba`), `.D` forms raw data of `size`.  The handle is a word of
c[0x0] by immediate index (`tex`) or a register (`c`).  The predicate of the later tables is stored
inverted.
"""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = "noreuse var"

TABLE = """
SULD eb00:fff8 | .P .dim@35:33=SDIM .cache@25:24=LDCACHE .rgba@23:20=RGBA .clamp@50:49=CLAMP | d #rgba, addr:A0@15:8 #surf, c | arch=50 means=mode:P
SULD eb10:fff8 | .D .ba@23 .dim@35:33=SDIM .cache@25:24=LDCACHE .size@22:20=LDSIZE .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, c | arch=50 means=mode:D
SULD eb00:fff8 | .P .dim@35:33=SDIM .cache@25:24=LDCACHE .rgba@23:20=RGBA .clamp@50:49=CLAMP | p@32:30 ~ ?, d #rgba, addr:A0@15:8 #surf, c | arch=52+ means=mode:P
SULD eb10:fff8 | .D .ba@23 .dim@35:33=SDIM .cache@25:24=LDCACHE .size@22:20=LDSIZE .clamp@50:49=CLAMP | p@32:30 ~ ?, d #size, addr:A0@15:8 #surf, c | arch=52+ means=mode:D
SUST eb20:fff8 | .P .dim@35:33=SDIM .cache@25:24=STCACHE .rgba@23:20=RGBA .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #rgba, c | means=mode:P
SUST eb30:fff8 | .D .ba@23 .dim@35:33=SDIM .cache@25:24=STCACHE .size@22:20=LDSIZE .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, c | means=mode:D
SURED eb40:fff8 | .P .dim@35:33=SDIM .op@26:24=REDOP .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0, c | means=mode:P
SURED eb50:fff8 | .D .ba@23 .dim@35:33=SDIM .op@26:24=REDOP .size@22:20=SURFSIZE .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, c | arch=50 means=mode:D
SURED eb50:fff8 | .D .ba@23 .dim@35:33=SDIM .op@26:24=REDOP .size@22:20=SURFSIZE52 .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, c | arch=52-53 means=mode:D
SURED eb50:fff8 | .D .ba@23 .dim@35:33=SDIM .op@26:24=REDOP .size@22:20=SURFSIZE60 .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, c | arch=60+ means=mode:D
SULD eb08:fff8 | .P .dim@35:33=SDIM .cache@25:24=LDCACHE .rgba@23:20=RGBA .clamp@50:49=CLAMP | d #rgba, addr:A0@15:8 #surf, tex:u@48:36 | arch=50 means=mode:P
SULD eb18:fff8 | .D .ba@23 .dim@35:33=SDIM .cache@25:24=LDCACHE .size@22:20=LDSIZE .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, tex:u@48:36 | arch=50 means=mode:D
SULD eb08:fff8 | .P .dim@35:33=SDIM .cache@25:24=LDCACHE .rgba@23:20=RGBA .clamp@50:49=CLAMP | p@32:30 ~ ?, d #rgba, addr:A0@15:8 #surf, tex:u@48:36 | arch=52+ means=mode:P
SULD eb18:fff8 | .D .ba@23 .dim@35:33=SDIM .cache@25:24=LDCACHE .size@22:20=LDSIZE .clamp@50:49=CLAMP | p@32:30 ~ ?, d #size, addr:A0@15:8 #surf, tex:u@48:36 | arch=52+ means=mode:D
SUST eb28:fff8 | .P .dim@35:33=SDIM .cache@25:24=STCACHE .rgba@23:20=RGBA .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #rgba, tex:u@48:36 | means=mode:P
SUST eb38:fff8 | .D .ba@23 .dim@35:33=SDIM .cache@25:24=STCACHE .size@22:20=LDSIZE .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, tex:u@48:36 | means=mode:D
SURED eb48:fff8 | .P .dim@35:33=SDIM .op@26:24=REDOP .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0, tex:u@48:36 | means=mode:P
SURED eb58:fff8 | .D .ba@23 .dim@35:33=SDIM .op@26:24=REDOP .size@22:20=SURFSIZE .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, tex:u@48:36 | arch=50 means=mode:D
SURED eb58:fff8 | .D .ba@23 .dim@35:33=SDIM .op@26:24=REDOP .size@22:20=SURFSIZE52 .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, tex:u@48:36 | arch=52-53 means=mode:D
SURED eb58:fff8 | .D .ba@23 .dim@35:33=SDIM .op@26:24=REDOP .size@22:20=SURFSIZE60 .clamp@50:49=CLAMP | addr:A0@15:8 #surf, b@7:0 #size, tex:u@48:36 | arch=60+ means=mode:D
SUATOM ea00:ffc0 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@53:51=SURFSIZE .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #size, tex:u@48:36 | arch=50 means=mode:D
SUATOM ea70:fff8 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@38:36=SURFSIZE .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #size, c | arch=50 means=mode:D
SUATOM ea80:ffc0,32:30=0 | .D .ba@28 .dim@35:33=SDIM .CAS .size@53:51=SURFSIZE .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #cas, tex:u@48:36 | arch=50 means=mode:D,op:CAS
SUATOM ead0:fff8,32:30=0 | .D .ba@28 .dim@35:33=SDIM .CAS .size@38:36=SURFSIZE .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #cas, c | arch=50 means=mode:D,op:CAS
SUATOM ea00:ffc0 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@53:51=SURFSIZE52 .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #size, tex:u@48:36 | arch=52-53 means=mode:D
SUATOM ea70:fff8 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@38:36=SURFSIZE52 .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #size, c | arch=52-53 means=mode:D
SUATOM ea80:ffc0 | .D .ba@28 .dim@35:33=SDIM .CAS .size@53:51=SURFSIZE52 .clamp@50:49=CLAMP | p@32:30 ~ ?, d #size, addr:A0@15:8 #surf, b #cas, tex:u@48:36 | arch=52-53 means=mode:D,op:CAS
SUATOM ead0:fff8 | .D .ba@28 .dim@35:33=SDIM .CAS .size@38:36=SURFSIZE52 .clamp@50:49=CLAMP | p@32:30 ~ ?, d #size, addr:A0@15:8 #surf, b #cas, c | arch=52-53 means=mode:D,op:CAS
SUATOM eb80:ffc0 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@38:36=SURFSIZE52 .clamp@50:49=CLAMP | p@53:51 ~, d #size, addr:A0@15:8 #surf, b #size, c | arch=52-53 means=mode:D
SUATOM ea00:ffc0 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@53:51=SURFSIZE60 .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #size, tex:u@48:36 | arch=60+ means=mode:D
SUATOM ea70:fff8 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@38:36=SURFSIZE60 .clamp@50:49=CLAMP | d #size, addr:A0@15:8 #surf, b #size, c | arch=60+ means=mode:D
SUATOM ea80:ffc0 | .D .ba@28 .dim@35:33=SDIM .CAS .size@53:51=SURFSIZE60 .clamp@50:49=CLAMP | p@32:30 ~ ?, d #size, addr:A0@15:8 #surf, b #cas, tex:u@48:36 | arch=60+ means=mode:D,op:CAS
SUATOM ead0:fff8 | .D .ba@28 .dim@35:33=SDIM .CAS .size@38:36=SURFSIZE60 .clamp@50:49=CLAMP | p@32:30 ~ ?, d #size, addr:A0@15:8 #surf, b #cas, c | arch=60+ means=mode:D,op:CAS
SUATOM eb80:ffc0 | .D .ba@28 .dim@35:33=SDIM .op@32:29=ATOMSOP .size@38:36=SURFSIZE60 .clamp@50:49=CLAMP | p@53:51 ~, d #size, addr:A0@15:8 #surf, b #size, c | arch=60+ means=mode:D
SUATOM ea60:fff8 | .P .dim@35:33=SDIM .op@32:29=ATOMSOP .clamp@50:49=CLAMP | d, addr:A0@15:8 #surf, b, c | means=mode:P
SUATOM ea68:fff8 | .P .dim@35:33=SDIM .op@32:29=ATOMSOP .clamp@50:49=CLAMP | d, addr:A0@15:8 #surf, b, tex:u@48:36 | means=mode:P
SUATOM eac0:fff8,32:29=0 | .P .dim@35:33=SDIM .CAS .clamp@50:49=CLAMP | d, addr:A0@15:8 #surf, b #2, c | means=mode:P,op:CAS
SUATOM eac8:fff8,32:29=0 | .P .dim@35:33=SDIM .CAS .clamp@50:49=CLAMP | d, addr:A0@15:8 #surf, b #2, tex:u@48:36 | means=mode:P,op:CAS
"""
