"""Control flow, barriers and system instructions (grammar: `spec.py`)."""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = "noreuse"

TABLE = """
BRA       e240:fff0,5=0 | .u@7 .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, target:rel | set=f
BRA       e240:fff0,5=1 | .u@7 .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, cbank:L | set=f
BRX       e250:fff0,5=0 | .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, target:rel=R | set=f
BRX       e250:fff0,5=1 | .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, cbank:L=R | set=f
JMP       e210:fff0,5=0 | .u@7 .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, target:abs | set=f
JMP       e210:fff0,5=1 | .u@7 .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, cbank:L | set=f
JMX       e200:fff0,5=0 | .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, target:abs=R | set=f
JMX       e200:fff0,5=1 | .lmt@6 | cond:N=CCNAME@4:0 ?15 =cctest, cbank:L=R | set=f
CAL       e260:fff0,5=0 | .noinc@6 | target:rel | noguard
CAL       e260:fff0,5=1 | .noinc@6 | cbank:L | noguard
JCAL      e220:fff0,5=0 | .noinc@6 | target:abs | noguard
JCAL      e220:fff0,5=1 | .noinc@6 | cbank:L | noguard
PRET      e270:fff0,5=0 | .noinc@6 | target:rel | noguard
PRET      e270:fff0,5=1 | .noinc@6 | cbank:L | noguard
PLONGJMP  e280:fff0,5=0 | | target:rel | noguard
PLONGJMP  e280:fff0,5=1 | | cbank:L | noguard
SSY       e290:fff0,5=0 | | target:rel | noguard
SSY       e290:fff0,5=1 | | cbank:L | noguard
PBK       e2a0:fff0,5=0 | | target:rel | noguard
PBK       e2a0:fff0,5=1 | | cbank:L | noguard
PCNT      e2b0:fff0,5=0 | | target:rel | noguard
PCNT      e2b0:fff0,5=1 | | cbank:L | noguard
PEXIT     e230:fff0 | | target:rel | noguard
EXIT      e300:fff0 | .keeprefcount@5 | cond:N=CCNAME@4:0 ?15 =cctest | set=f
LONGJMP   e310:fff0 | | cond:N=CCNAME@4:0 ?15 =cctest | set=f
RET       e320:fff0 | | cond:N=CCNAME@4:0 ?15 =cctest | set=f
KIL       e330:fff0 | | cond:N=CCNAME@4:0 ?15 =cctest | set=f
BRK       e340:fff0 | | cond:N=CCNAME@4:0 ?15 =cctest | set=f
CONT      e350:fff0 | | cond:N=CCNAME@4:0 ?15 =cctest | set=f
SYNC      f0f8:fff8 | | cond:N=CCNAME@4:0 ?15 =cctest | set=f
GETCRSPTR   e2c0:fff0 | | d | noguard var
GETLMEMBASE e2d0:fff0 | | d | noguard var
SETCRSPTR   e2e0:fff0 | | a | noguard var
SETLMEMBASE e2f0:fff0 | | a | noguard var
RTT       e360:fff0 | .mode@1:0=RTT | | noguard
SAM       e370:fff0 | | | noguard
RAM       e380:fff0 | | | noguard
IDE       e390:fff0 | .en@5 | imm:u@35:20 | noguard var
BPT       e3a0:fff0 | .mode@8:6=BPT | imm:u@39:20 ?0 | noguard arch=50-53
BPT       e3a0:fff0 | .mode@8:6=BPT60 | imm:u@39:20 ?0 | noguard arch=60+
STP       eea0:fff8 | .wait@31 .hint! | imm:u@27:20 | noguard
NOP       50b0:fff8 | .trig@13 | cond:N=CCNAME@12:8 ?15 =cctest, imm:u@35:20 ?0 | set=f00
DEPBAR    f0f0:fff8,29=0 | | sbs:SBS@5:0 ?0
DEPBAR    f0f0:fff8,29=1 | .LE | sb:N=SB@28:26, n:u@25:20, sbs:SBS@5:0 ?0
S2R       f0c8:fff8 | | d, sr:S=50@27:20 | arch=50 var
S2R       f0c8:fff8 | | d, sr:S=52@27:20 | arch=52-53 var
S2R       f0c8:fff8 | | d, sr:S=60@27:20 | arch=60+ var
CS2R      50c8:fff8 | | d, sr:S=50@27:20 | arch=50
CS2R      50c8:fff8 | | d, sr:S=52@27:20 | arch=52-53
CS2R      50c8:fff8 | | d, sr:S=60@27:20 | arch=60+
LEPC      50d0:fff8 | | d
VOTE      50d8:fff8 | .mode@49:48=VOTE | d ?255, p@47:45, pc !42
VOTE      50e0:fff8 | .VTG .mode@49:48=VTG | imm:u@47:20

# BAR: id in Ra or bits 15..8 (bit 43), count in Rb or bits 31..20 (bit 44).
BAR       f0a8:fff8,44:43=0,34:32=0,42:39=7 | .SYNC | id:R@15:8, n:R@27:20 | means=mode:SYNC var
BAR       f0a8:fff8,44:43=0,34:32=1,42:39=7 | .ARV | id:R@15:8, n:R@27:20 | means=mode:ARV var
BAR       f0a8:fff8,44:43=0,34:32=2 | .RED .red@36:35 | id:R@15:8, n:R@27:20, pc !42 | means=mode:RED var
BAR       f0a8:fff8,44:43=0,34:32=3 | .SCAN | id:R@15:8, n:R@27:20, pc !42 | means=mode:SCAN var
BAR       f0a8:fff8,44:43=3,34:32=0,42:39=7 | .SYNC | id:u@15:8, n:u@31:20 ?0 | means=mode:SYNC var
BAR       f0a8:fff8,44:43=3,34:32=1,42:39=7 | .ARV | id:u@15:8, n:u@31:20 | means=mode:ARV var
BAR       f0a8:fff8,44:43=3,34:32=2 | .RED .red@36:35 | id:u@15:8, n:u@31:20 ?0, pc !42 | means=mode:RED var
BAR       f0a8:fff8,44:43=3,34:32=3 | .SCAN | id:u@15:8, n:u@31:20, pc !42 | means=mode:SCAN var
BAR       f0a8:fff8,44:43=1,34:32=0,42:39=7 | .SYNC | id:R@15:8, n:u@31:20 ?0 | means=mode:SYNC var
BAR       f0a8:fff8,44:43=1,34:32=1,42:39=7 | .ARV | id:R@15:8, n:u@31:20 | means=mode:ARV var
BAR       f0a8:fff8,44:43=1,34:32=2 | .RED .red@36:35 | id:R@15:8, n:u@31:20 ?0, pc !42 | means=mode:RED var
BAR       f0a8:fff8,44:43=1,34:32=3 | .SCAN | id:R@15:8, n:u@31:20, pc !42 | means=mode:SCAN var
BAR       f0a8:fff8,44:43=2,34:32=0,42:39=7 | .SYNC | id:u@15:8, n:R@27:20 | means=mode:SYNC var
BAR       f0a8:fff8,44:43=2,34:32=1,42:39=7 | .ARV | id:u@15:8, n:R@27:20 | means=mode:ARV var
BAR       f0a8:fff8,44:43=2,34:32=2 | .RED .red@36:35 | id:u@15:8, n:R@27:20, pc !42 | means=mode:RED var
BAR       f0a8:fff8,44:43=2,34:32=3 | .SCAN | id:u@15:8, n:R@27:20, pc !42 | means=mode:SCAN var
BAR       f0a8:fff8,34:32=4,42:39=7,27:20=255 | .SYNCALL | | noguard means=mode:SYNCALL var
B2R       f0b8:fff8,33:32=1,15:8=255 | .RESULT | d, p@47:45 ? | means=mode:RESULT var
B2R       f0b8:fff8,33:32=2,15:8=255 | .WARP | d | means=mode:WARP set=e00000000000 var
B2R       f0b8:fff8,33:32=0 | | d, imm:u@15:8 | set=e00000000000 var
R2B       f0c0:fff8 | .mode@33:32=R2B | imm:u@31:28, b | var
"""
