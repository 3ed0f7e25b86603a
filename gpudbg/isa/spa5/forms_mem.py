"""Loads, stores, atomics, constants, caches and surfaces (grammar: `spec.py`)."""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = "noreuse var"

TABLE = """
LD        8000:e000 | .e@52 .cache@57:56=LDCACHE .size@55:53=LDGSIZE | d #size, addr:A@51:20 #e, pc@60:58 ? | set=1c00000000000000
ST        a000:e000 | .e@52 .cache@57:56=STCACHE .size@55:53=LDSIZE | addr:A@51:20 #e, b@7:0 #size, pc@60:58 ? | set=1c00000000000000
LDG       eed0:fff8 | .e@45 .cache@47:46=LDCACHE .size@50:48=LDGSIZE | d #size, addr:A@43:20 #e
STG       eed8:fff8 | .e@45 .cache@47:46=STCACHE .size@50:48=LDSIZE | addr:A@43:20 #e, b@7:0 #size
LDG       eec8:fff8 | .e@45 .cache@47:46=LDCACHE .size@50:48=LDGSIZE | p@43:41 ~, d #size, addr:A@39:20 #e | arch=52+
LDL       ef40:fff8 | .cache@45:44=LDLCACHE .size@50:48=LDSIZE | d #size, addr:A@43:20
STL       ef50:fff8 | .cache@45:44=STCACHE .size@50:48=LDSIZE | addr:A@43:20, b@7:0 #size
LDS       ef48:fff8 | .u+size@44+50:48=LDSUSIZE | d #size, addr:A@43:20
STS       ef58:fff8 | .size@50:48=LDSIZE | addr:A@43:20, b@7:0 #size
LDC       ef90:fff8 | .size@50:48=LDCSIZE .mode@45:44=LDCMODE | d #size, cbank:L=R
ATOM      ed00:ff00 | .e@48 .op@55:52=ATOMOP .size@51:49=ATOMSIZE | d #size, addr:A@47:28 #e, b #size | arch=50
ATOM      ed00:ff00 | .e@48 .op@55:52=ATOMOP .size@51:49=ATOMSIZE52 | d #size, addr:A@47:28 #e, b #size | arch=52-53
ATOM      ed00:ff00 | .e@48 .op@55:52=ATOMOP .size@51:49=ATOMSIZE60 | d #size, addr:A@47:28 #e, b #size | arch=60+
ATOM      eef0:fff0,51:50=0 | .e@48 .CAS .size@49=CASSIZE | d #size, addr:A@47:28 #e, b #size, c:D=49@27:20 #size | means=op:CAS
ATOM      eef0:fff0,51:50=1 | .e@48 .CAS .size@49=CASSIZE | d #size, addr:A@47:28 #e, b #size, c:Z | means=op:CAS
ATOM      eef0:fff0,51:50=2 | .e@48 .CAS .size@49=CASSIZE | d #size, addr:A@47:28 #e, b:Z, c@27:20 x255 #size | means=op:CAS
ATOM      ee60:fff0 | .e@48 .op@47:44=ATOMOP .size@51:49=ATOMSIZE52 | p@43:41 ~, d #size, addr:A0@15:8 x255 #e, b #size | arch=52-53
ATOM      ee60:fff0 | .e@48 .op@47:44=ATOMOP .size@51:49=ATOMSIZE60 | p@43:41 ~, d #size, addr:A0@15:8 x255 #e, b #size | arch=60+
ATOM      ee70:fff0,51:50=0 | .e@48 .CAS .size@49=CASSIZE | p@43:41 ~, d #size, addr:A0@15:8 x255 #e, b #size, c:D=49@27:20 #size | arch=52+ means=op:CAS
ATOM      ee70:fff0,51:50=1 | .e@48 .CAS .size@49=CASSIZE | p@43:41 ~, d #size, addr:A0@15:8 x255 #e, b #size, c:Z | arch=52+ means=op:CAS
ATOM      ee70:fff0,51:50=2 | .e@48 .CAS .size@49=CASSIZE | p@43:41 ~, d #size, addr:A0@15:8 x255 #e, b:Z, c@27:20 x255 #size | arch=52+ means=op:CAS
ATOMS     ec00:ff00 | .op@55:52=ATOMSOP .size@29:28=ATOMSSIZE | d #size, addr:A=2@51:30, b #size
ATOMS     ee00:ff80,29:28=0 | .op+spin@54:53=ATOMSCAS .size@52=CASSIZE | d #size, addr:A=2@51:30, b #size, c:D=52@27:20 #size
ATOMS     ee00:ff80,29:28=1 | .op+spin@54:53=ATOMSCAS .size@52=CASSIZE | d #size, addr:A=2@51:30, b #size, c:Z
ATOMS     ee00:ff80,29:28=2 | .op+spin@54:53=ATOMSCAS .size@52=CASSIZE | d #size, addr:A=2@51:30, b:Z, c@27:20 x255 #size
RED       ebf8:fff8 | .e@48 .op@25:23=REDOP .size@22:20=ATOMSIZE | addr:A@47:28 #e, b@7:0 #size | arch=50
RED       ebf8:fff8 | .e@48 .op@25:23=REDOP .size@22:20=ATOMSIZE52 | addr:A@47:28 #e, b@7:0 #size | arch=52-53
RED       ebf8:fff8 | .e@48 .op@25:23=REDOP .size@22:20=ATOMSIZE60 | addr:A@47:28 #e, b@7:0 #size | arch=60+
CCTL      ef60:ffe0,3:0=0 | .e@52 .cache@6:4=CCTLLEVEL .op@3:0=CCTLOP | addr:A=2@51:22 #e | glued
CCTL      ef60:ffe0 | .e@52 .cache@6:4=CCTLLEVEL .op@3:0=CCTLOP | addr:A=2@51:22 #e
CCTLL     ef80:fff8 | .cache@5:4=CCTLLTYPE .op@3:0=CCTLLOP | addr:A=2@43:22
MEMBAR    ef98:fff8 | .level@9:8=MEMBAR .ivall@1:0=IVALL |
SHFL      ef10:fff8,29:28=0 | .mode@31:30=SHFL | p@50:48, d, a, b, c
SHFL      ef10:fff8,29:28=1 | .mode@31:30=SHFL | p@50:48, d, a, b:u@24:20, c
SHFL      ef10:fff8,29:28=2 | .mode@31:30=SHFL | p@50:48, d, a, b, c:u@46:34
SHFL      ef10:fff8,29:28=3 | .mode@31:30=SHFL | p@50:48, d, a, b:u@24:20, c:u@46:34
"""
