"""Values of modifier fields, one line each.

A token `.RM` prints ".RM" and means "RM"; a token without a dot prints nothing and means itself
(`RN`); `_` prints nothing and means ""; `?` is reserved (the word is illegal); `V=.T` prints ".T"
and means "V".  A field with fewer tokens than values reserves the rest.
"""

from __future__ import annotations

from gpudbg.dataclass import dataclass

CC_TESTS = (
    "F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU T OFF LO SFF LS HI SFT HS OFT "
    "CSM_TA CSM_TR CSM_MX FCSM_TA FCSM_TR FCSM_MX RLE RGT"
).split()
FLOAT_COMPARES = "F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU T".split()


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Texts and meanings of a field's values; a None text is a reserved value."""

    name: str
    texts: tuple[str | None, ...]
    values: tuple[str | bool, ...]
    default: str | bool

    def text(self, value: int) -> str | None:
        """What the value prints as, None when reserved."""
        return self.texts[value] if value < len(self.texts) else None


def table(name: str, line: str) -> ValueTable:
    """Build a table from its line."""
    texts: list[str | None] = []
    values: list[str | bool] = []
    for token in line.split():
        meaning, eq, shown = token.partition("=")
        if token == "?":
            texts.append(None)
            values.append("?")
        elif eq:
            texts.append(shown)
            values.append(meaning)
        elif token == "_":
            texts.append("")
            values.append("")
        elif token.startswith("."):
            texts.append(token)
            values.append(token[1:])
        else:
            texts.append("")
            values.append(token)
    silent = [v for t, v in zip(texts, values, strict=True) if t == ""]
    return ValueTable(name, tuple(texts), tuple(values), silent[0] if silent else "")


def flag(name: str, shown: str, low: bool = False) -> ValueTable:
    """A one-bit field that prints `shown` when set (`low`: when clear)."""
    texts = (shown, "") if low else ("", shown)
    return ValueTable(name, texts, (low, not low), False)


def _pairs(first: str, second: str, silent: str = "") -> str:
    """Joint table of two types, `first` in the low digit; `-` is reserved, `silent` unprinted."""
    names = [(a, b) for b in second.split() for a in first.split()]
    return " ".join(
        "?"
        if "-" in pair
        else f"{'.'.join(pair)}=" + ".".join(("", *pair)) * (".".join(pair) != silent)
        for pair in names
    )


_SELECT = "U8 S8 U8 S8 U8 S8 U8 S8 U16 S16 U16 S16 U32 S32 - -"
_FLOATS = "- F16 F32 F64"


def _imadsp(value: int) -> str:
    """IMADSP's triple of types; c is signed when a or b is."""
    a, c, b = value & 7, value >> 3 & 3, value >> 5
    if c == 3:
        return "?"
    signs = ("S" if a & 1 else "U", "S" if b & 1 else "U", "S" if (a | b) & 1 else "U")
    widths = (("32", "24", "16H0", "16H1")[a >> 1], ("24", "16H0")[b >> 1], ("32", "24", "16H0")[c])
    text = ".".join(s + w for s, w in zip(signs, widths, strict=True))
    return f"{text}=.{text}"


_TXQ = {
    v: f"{n}={n}"
    for v, n in {
        1: "TEX_HEADER_DIMENSION", 2: "TEX_HEADER_TEXTURE_TYPE", 5: "TEX_HEADER_SAMPLER_POS",
        16: "TEX_SAMPLER_FILTER", 18: "TEX_SAMPLER_LOD", 20: "TEX_SAMPLER_WRAP",
        22: "TEX_SAMPLER_BORDER_COLOR",
    }.items()
}  # fmt: skip
_LANES = ["".join(c for i, c in enumerate("XYZW") if v >> i & 1) for v in range(16)]
_RGBA = ["".join(c for i, c in enumerate("RGBA") if v >> i & 1) for v in range(16)]

_LINES = {
    "F2F": _pairs(_FLOATS, _FLOATS),
    "F2I": " ".join(_pairs(t, _FLOATS) for t in ("- U16 U32 U64", "- S16 S32 S64")),
    "I2F": " ".join(_pairs(_FLOATS, s) for s in ("U8 U16 U32 U64", "S8 S16 S32 S64")),
    "I2I": " ".join(
        _pairs(target, source)
        for source in ("U8 U16 U32 -", "S8 S16 S32 -")
        for target in ("U8 U16 U32 -", "S8 S16 S32 -")
    ),
    "VTYPES": _pairs(_SELECT, _SELECT, "S32.S32"),
    "VTYPES_I": _pairs(_SELECT, "U16 S16", "S32.S16"),
    "VTYPES_R": _pairs(_SELECT, _SELECT),
    "VTYPES_P": _pairs(_SELECT, "U16 S16"),
    "VTYPES_U": _pairs(_SELECT, "U8 U8 U8 U8 U16 U16 U32 -", "S32.U32"),
    "VTYPES_UI": _pairs(_SELECT, "U16", "S32.U16"),
    "VSEL": "B0= .B1 .B2 .B3 H0= .H1 _",
    "V4TYPES": _pairs("U8 S8", "U8 S8", "S8.S8"),
    "V4RED": "_ .ACC",
    "V4LANES": " ".join(f"{v}=" + f".{v}" * (v != "XYZW") if v else "?" for v in _LANES),
    "V4ASEL": ".0000 .1111 .2222 .3333 3210= .4321 .5432 .6543 .3201 .3012 .0213 .3120 .1230 .2310",
    "V4BSEL": ".4444 .5555 .6666 .7777 7654= .6543 .5432 .4321 .4567 .6745 .5476",
    "IDPMODE": ".4A .2A.LO ? .2A.HI",
    "IDPTYPES": _pairs("U8 U16 S8 S16", "U8 S8"),
    "DIM": " ".join(
        f"{d}={d}" for d in "1D ARRAY_1D 2D ARRAY_2D 3D ARRAY_3D CUBE ARRAY_CUBE".split()
    ),
    "SDIM": ".1D .1D_BUFFER .1D_ARRAY .2D .2D_ARRAY .3D",
    "CLAMP": ".IGN _ .TRAP",
    "RGBA": " ".join(f"{v}=" + f".{v}" * (v != "RGBA") if v else "?" for v in _RGBA),
    "SURFSIZE": "U32 .S32 .U64 .F32.FTZ.RN ? .S64 .SD32 .SD64",
    "SURFSIZE52": "U32 .S32 .U64 .F32.FTZ.RN .F16x2.FTZ.RN .S64 .SD32 .SD64",
    "SURFSIZE60": "U32 .S32 .U64 .F32.FTZ.RN .F16x2.RN .S64 .SD32 .SD64",
    "LOD": "_ .LZ .LB .LL ? ? .LBA .LLA",
    "TLDLOD": ".LZ .LL",
    "COMP": ".R .G .B .A",
    "TLD4OFS": "0.0= 1.0=.AOFFI 0.1=.PTP",
    "TXQ": " ".join(
        _TXQ.get(v, "?" if v & 1 or v < 6 else f"{v >> 1}={v >> 1}") for v in range(64)
    ),
    "TEXSMODE": "LZ.0=.LZ .0= LZ.0=.LZ LL.0=.LL .1=.DC LL.1=.LL.DC LZ.1=.LZ.DC .0= LZ.0=.LZ "
    "LZ.1=.LZ.DC .0= LZ.0=.LZ .0= LL.0=.LL",
    "TEXSDIM": "1D=1D 2D=2D 2D=2D 2D=2D 2D=2D 2D=2D 2D=2D ARRAY_2D=ARRAY_2D ARRAY_2D=ARRAY_2D "
    "ARRAY_2D=ARRAY_2D 3D=3D 3D=3D CUBE=CUBE CUBE=CUBE",
    "TLDSMODE": "LZ.0.0=.LZ LL.0.0=.LL LZ.0.0=.LZ ? LZ.1.0=.LZ.AOFFI LL.0.0=.LL LZ.0.1=.LZ.MS "
    "LZ.0.0=.LZ LZ.0.0=.LZ ? ? ? LL.1.0=.LL.AOFFI",
    "TLDSDIM": "1D=1D 1D=1D 2D=2D ? 2D=2D 2D=2D 2D=2D 3D=3D ARRAY_2D=ARRAY_2D ? ? ? 2D=2D",
    "COMPS1": "R=R G=G B=B A=A RG=RG RA=RA GA=GA BA=BA",
    "COMPS2": "RGB=RGB RGA=RGA RBA=RBA GBA=GBA RGBA=RGBA",
    "SB": " ".join(f"SB{i}=SB{i}" for i in range(6)),
    "HINT": "_ .T .P _",
    "RND": "RN .RM .RP .RZ",
    "IRND": "ROUND .FLOOR .CEIL .TRUNC",
    "FTZ": "_ .FTZ",
    "FMZ": "_ .FTZ .FMZ",
    "SCALE": "_ .D2 .D4 .D8 .M8 .M4 .M2",
    "ICMP": ".F .LT .EQ .LE .GT .NE .GE .T",
    "FCMP": " ".join("." + c for c in FLOAT_COMPARES),
    "CCOP": " ".join("." + c for c in CC_TESTS),
    "BOP": ".AND .OR .XOR",
    "LOP": ".AND .OR .XOR .PASS_B",
    "PMODE": "_ .T .Z .NZ",
    "XMINMAX": "_ .XLO .XMED .XHI",
    "FCMPGT": " ".join(("GT" if c == "GT" else "." + c) for c in FLOAT_COMPARES),
    "CCNAME": " ".join(f"{c}=CC.{c}" for c in CC_TESTS),
    "F2FINT": "PASS PASS=.PASS PASS=.PASS PASS=.PASS .ROUND .FLOOR .CEIL .TRUNC",
    "LDSUSIZE": "0.U8=.U8 0.S8=.S8 0.U16=.U16 0.S16=.S16 0.32= 0.64=.64 0.128=.128 ? "
    "1.U8=.U.U8 1.S8=.U.S8 1.U16=.U.U16 1.S16=.U.S16 1.32=.U.32 1.64=.U.64 1.128=.U.128",
    "FSWZ": " ".join(
        f"{w}={w}"
        for w in (
            "".join(("PP", "NP", "PN", "ZP")[v >> s & 3] for s in (6, 4, 2, 0)) for v in range(256)
        )
    ),
    "ATOMSCAS": "CAST.0=.CAST CAST.1=.CAST.SPIN CAS.0=.CAS",
    "R2B": "_ .RESULT .WARP",
    "SHLX": "_ .X",
    "SHIFT3": "_ .RS .LS",
    "PO32": "_ ? _ PO=.PO",
    "FILE": "PR=PR CC=CC",
    "SHRX": "_ ? .X .XHI",
    "SHFX": "_ .HI .X .XHI",
    "SHFTYPE": "_ ? .U64 .S64",
    "UTYPES": "U32.U32=.U32.U32 S32.U32=.S32.U32 U32.S32=.U32.S32 S32.S32=",
    "XTYPES": "U16.U16= S16.U16=.S16.U16 U16.S16=.U16.S16 S16.S16=.S16.S16",
    "XMADC": "_ .CLO .CHI .CSFU",
    "XMADCR": "_ .CLO .CHI .CSFU .CBCC",
    "PRMT": "_ .F4E .B4E .RC8 .ECL .ECR .RC16",
    "MUFU": ".COS .SIN .EX2 .LG2 .RCP .RSQ .RCP64H .RSQ64H",
    "MUFU52": ".COS .SIN .EX2 .LG2 .RCP .RSQ .RCP64H .RSQ64H .SQRT",
    "RRO": ".SINCOS .EX2",
    "FCHK": ".DIVIDE",
    "HALVES": "_ .H0 .H1",
    "H1": "_ .H1",
    "HIGH16": "_ ? H1=.H1",
    "XH1": "H0 .H1",
    "BYTES": "_ .B1 .B2 .B3",
    "SHFL": ".IDX .UP .DOWN .BFLY",
    "VOTE": ".ALL .ANY .EQ",
    "VTG": ".R .A .RA",
    "LDCMODE": "_ .IL .IS .ISL",
    "LDCSIZE": ".U8 .S8 .U16 .S16 32 .64",
    "LDSIZE": ".U8 .S8 .U16 .S16 32 .64 .128",
    "LDGSIZE": ".U8 .S8 .U16 .S16 32 .64 .128 128=.U.128",
    "LDCACHE": "_ .CG .CI .CV",
    "LDLCACHE": "_ .LU .CI .CV",
    "STCACHE": "_ .CG .CS .WT",
    "ATOMOP": ".ADD .MIN .MAX .INC .DEC .AND .OR .XOR .EXCH ? .SAFEADD",
    "ATOMSOP": ".ADD .MIN .MAX .INC .DEC .AND .OR .XOR .EXCH",
    "REDOP": ".ADD .MIN .MAX .INC .DEC .AND .OR .XOR",
    "ATOMSIZE": "U32 .S32 .U64 .F32.FTZ.RN .U128 .S64",
    "ATOMSIZE52": "U32 .S32 .U64 .F32.FTZ.RN .F16x2.FTZ.RN .S64",
    "ATOMSIZE60": "U32 .S32 .U64 .F32.FTZ.RN .F16x2.RN .S64 .F64.RN",
    "ATOMSSIZE": "U32 .S32 .U64 .S64",
    "CASSIZE": "U32 U64=.64",
    "CCTLOP": ".QRY1 .PF1 .PF1.5 .PF2 .WB .IV ? .RS ? .RSLB",
    "CCTLLOP": "? .PF1 .PF1.5 .PF2 .WB .IV ? .RS ? .RSLB",
    "CCTLLEVEL": "_ .U .C .I .CRS",
    "CCTLLTYPE": "_",
    "MEMBAR": ".CTA .GL .SYS .VC",
    "IVALL": "_ .IVALLD .IVALLT .IVALLTD",
    "BPT": ".DRAIN_ILLEGAL .CAL .PAUSE .TRAP .INT .DRAIN",
    "BPT60": ".DRAIN_ILLEGAL .CAL .PAUSE .TRAP .INT .DRAIN .PAUSE_QUIET",
    "RTT": "_ .TERMINATE .FALLTHROUGH .PREEMPTED",
    "RED": ".POPC .AND .OR",
    "ALDSIZE": "32 .64 .96 .128",
    "OUT": "? .EMIT .CUT .EMIT_THEN_CUT",
    "PIXLD": "_ .COVMASK .COVERED .OFFSET .CENTROID_OFFSET .MY_INDEX",
    "ISBERDSIZE": "8 .U16 .32",
    "IPA": ".PASS _ .CONSTANT .SC",
    "SAMPLE": "_ .CENTROID .OFFSET",
    "IMADSP": " ".join(map(_imadsp, range(128))),
    "ISBERD": "_ .PATCH .PRIM .ATTR",
    "POST": ".MRG_16H .MRG_16L .MRG_8B0 .MRG_8B2 .ACC .MIN .MAX _",
    "VSHIFT": "_ .SHR_7 .SHR_15",
    "SWIZZLE": "H1_H0 .F32 .H0_H0 .H1_H1",
    "MERGE": "H1_H0 .F32 .MRG_H0 .MRG_H1",
}

TABLES: dict[str, ValueTable] = {name: table(name, line) for name, line in _LINES.items()}

FLAG_TEXT = {
    "cc": ".CC", "x": ".X", "sat": ".SAT", "po": ".PO", "hi": ".HI", "w": ".W", "brev": ".BREV",
    "sh": ".SH", "psl": ".PSL", "mrg": ".MRG", "bf": ".BF", "e": ".E", "u": ".U", "mx": ".MX",
    "sd": ".SD", "lmt": ".LMT", "keeprefcount": ".KEEPREFCOUNT", "trig": ".TRIG",
    "wait": ".WAIT", "ndv": ".NDV", "nodep": ".NODEP", "dc": ".DC", "aoffi": ".AOFFI", "ms": ".MS",
    "cl": ".CL", "ptp": ".PTP", "b": ".B", "ba": ".BA", "h_and": ".H_AND", "warp": ".WARP",
    "result": ".RESULT", "lc": ".LC", "o": ".O", "skew": ".SKEW", "spin": ".SPIN",
}  # fmt: skip
LOW_FLAG_TEXT = {"u32": ".U32", "noinc": ".NOINC", "en": ".EN", "ud": ".UD"}

for _name, _text in FLAG_TEXT.items():
    TABLES[_name] = flag(_name, _text)
for _name, _text in LOW_FLAG_TEXT.items():
    TABLES[_name] = flag(_name, _text, low=True)
