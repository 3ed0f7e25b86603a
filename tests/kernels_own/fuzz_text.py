"""Random CUDA C++ programs that mean the same on a host: what `fuzz_programs` compiles twice.

A program is a few functions and phases.  A phase runs for every thread; it reads any slot of one
shared array and writes its own slot of the other, so the order of the threads does not matter.
Between phases lanes exchange values by shuffles and votes, for which the host has loops.  All
arithmetic is defined: unsigned or through helpers, shifts masked, divisors checked, float
contraction off on both sides.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

WIDTHS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}
INTEGERS = tuple(WIDTHS)
FLOATS = ("f32", "f64")
TYPES = INTEGERS + FLOATS
THREADS = 64
SLOTS = 16
"""Elements of a local array; shared arrays have one per thread."""

HEADER = (Path(__file__).parent / "fuzz_header.cuh").read_text()
"""Types and helpers, for the device and for the host."""


@dataclass
class Scope:
    """Names in sight, by type.

    Attributes:
        values: variables that may be read.
        targets: variables that may be assigned.
        arrays: local arrays.
        shared: in a phase: the shared array that may be read.
        functions: (name, parameter types, result type) that may be called.
    """

    values: dict[str, list[str]] = field(default_factory=lambda: {t: [] for t in TYPES})
    targets: dict[str, list[str]] = field(default_factory=lambda: {t: [] for t in TYPES})
    arrays: dict[str, list[str]] = field(default_factory=lambda: {t: [] for t in TYPES})
    shared: str = ""
    functions: list[tuple[str, list[str], str]] = field(default_factory=list)


class Writer:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.loops = 0
        self.names = 0
        self.calls = True
        self.floats = self.r.random() < 0.5
        self.types = TYPES if self.floats else INTEGERS

    # ---- expressions ---------------------------------------------------------------------

    def constant(self, type_: str) -> str:
        r = self.r
        if type_ in FLOATS:
            text = r.choice(
                ["0.0", "1.0", "-0.0", "0.5", "3.0e38", "1.0e-40", "-2.75", "16777217.0", "1e-3"]
            )
            return f"(({type_}){text})"
        bits = WIDTHS[type_]
        value = r.choice(
            [
                r.getrandbits(bits),
                r.getrandbits(4),
                (1 << bits - 1) - r.randrange(2),
                (1 << bits) - 1 - r.randrange(3),
                1 << r.randrange(bits),
            ]
        )
        return f"(({type_}){value}ull)"

    def leaf(self, s: Scope, type_: str) -> str:
        r = self.r
        roll = r.random()
        if roll < 0.25:
            return self.constant(type_)
        if roll < 0.35 and s.shared:
            return f"({type_}){s.shared}[({self.expr(s, 'u32', 1)}) & {THREADS - 1}]"
        if roll < 0.45:
            return f"({type_})input[({self.expr(s, 'u32', 1)}) & 63]"
        if roll < 0.6 and s.arrays[type_]:
            index = self.expr(s, "u32", 1)
            return f"{r.choice(s.arrays[type_])}[({index}) & {SLOTS - 1}]"
        source = type_ if s.values[type_] and r.random() < 0.6 else r.choice(self.types)
        if not s.values[source]:
            return self.constant(type_)
        return self.convert(r.choice(s.values[source]), source, type_)

    def convert(self, text: str, source: str, target: str) -> str:
        if source == target:
            return text
        if source in FLOATS and target in INTEGERS:
            return f"({target}){self.r.choice(['to_int', 'to_wide', 'as_bits'])}({text})"
        return f"({target})({text})"

    def expr(self, s: Scope, type_: str, depth: int) -> str:
        """An expression of a type."""
        if depth <= 0:
            return self.leaf(s, type_)
        if type_ in FLOATS:
            return self.float_expr(s, type_, depth)
        return self.integer_expr(s, type_, depth)

    def float_expr(self, s: Scope, t: str, depth: int) -> str:
        r = self.r

        def sub(t: str = t) -> str:
            return self.expr(s, t, depth - r.randint(1, 2))

        match r.randrange(10):
            case 0 | 1 | 2 | 3:
                return f"({sub()} {r.choice('+-*/')} {sub()})"
            case 4:
                return f"fused({sub()}, {sub()}, {sub()})"
            case 5:
                return f"root({sub()})"
            case 6:
                return f"whole({sub()}, {r.randrange(4)}u)"
            case 7:
                return f"({self.condition(s, depth - 1)} ? {sub()} : {sub()})"
            case 8:
                source = r.choice(TYPES)
                return self.convert(sub(source), source, t)
        return f"{r.choice(['smaller', 'larger'])}({sub()}, {sub()})"

    def integer_expr(self, s: Scope, t: str, depth: int) -> str:
        r = self.r
        word = "64" if WIDTHS[t] == 64 or r.random() < 0.15 else "32"
        u, i = f"u{word}", f"s{word}"

        def sub(kind: str = u) -> str:
            return f"({self.expr(s, kind, depth - r.randint(1, 2))})"

        mask = int(word) - 1
        match r.randrange(20):
            case 0 | 1 | 2 | 3 | 4 | 5:
                text = f"{sub()} {r.choice(['+', '-', '*', '&', '|', '^'])} {sub()}"
            case 6:
                text = f"{sub()} {r.choice(['<<', '>>'])} ({sub('u32')} & {mask})"
            case 7:
                text = f"{sub(i)} >> ({sub('u32')} & {mask})"
            case 8:
                kind = r.choice([u, i, "s16", "u8"])
                name = r.choice(["quotient", "rest", "quotient", "rest", "smaller", "larger"])
                text = f"{name}<{kind}>({sub(kind)}, {sub(kind)})"
            case 9:
                text = f"{self.condition(s, depth - 1)}"
            case 10:
                text = f"{self.condition(s, depth - 1)} ? {sub()} : {sub()}"
            case 11:
                text = f"{r.choice(['popc', 'clz', 'ffs', 'brev'])}({sub()})"
            case 12:
                kind = r.choice([u, i])
                text = f"mulhi({sub(kind)}, {sub(kind)})"
            case 13:
                text = f"funnel({sub('u32')}, {sub('u32')}, {sub('u32')})"
            case 14:
                text = f"pick({sub('u32')}, {sub('u32')}, {sub('u32')})"
            case 15:
                text = f"apart({sub('s32')}, {sub('s32')}, {sub('u32')})"
            case 16:
                text = f"{r.choice(['~', '-', '!'])}{sub()}"
            case 17 if self.floats:
                text = self.convert(self.expr(s, r.choice(FLOATS), depth - 1), "f32", t)
            case 18 if s.functions and self.calls:
                text = self.call(s, depth, t)
            case _:
                other = r.choice(INTEGERS)
                text = f"({other}){sub(other)}"
        return f"({t})({text})"

    def call(self, s: Scope, depth: int, type_: str) -> str:
        name, parameters, result = self.r.choice(s.functions)
        self.calls = False  # arguments hold no calls, so that the number of calls stays small
        arguments = [self.expr(s, p, min(depth - 1, 1)) for p in parameters]
        self.calls = True
        return self.convert(f"{name}(input, {', '.join(arguments)})", result, type_)

    def condition(self, s: Scope, depth: int) -> str:
        r = self.r
        kind = r.choice(self.types)
        a, b = self.expr(s, kind, depth), self.expr(s, kind, depth - 1)
        text = f"({a}) {r.choice(['<', '<=', '>', '>=', '==', '!='])} ({b})"
        if depth > 1 and r.random() < 0.3:
            text = f"({text}) {r.choice(['&&', '||'])} {self.condition(s, depth - 1)}"
        return f"({text})"

    # ---- statements ----------------------------------------------------------------------

    def block(self, s: Scope, depth: int, count: int, loop: bool, pad: str) -> str:
        return "".join(self.statement(s, depth, loop, pad) for _ in range(count))

    def assignment(self, s: Scope) -> str:
        r = self.r
        kinds = [t for t in self.types if s.targets[t] or s.arrays[t]]
        kind = r.choice(kinds)
        value = self.expr(s, kind, r.randint(1, 3))
        if s.arrays[kind] and (not s.targets[kind] or r.random() < 0.35):
            index = self.expr(s, "u32", 1)
            return f"{r.choice(s.arrays[kind])}[({index}) & {SLOTS - 1}] = {value};\n"
        return f"{r.choice(s.targets[kind])} = {value};\n"

    def statement(self, s: Scope, depth: int, loop: bool, pad: str) -> str:
        r = self.r
        roll = r.random()
        if depth <= 0 or roll < 0.45:
            return pad + self.assignment(s)
        more = pad + "    "
        if roll < 0.65:
            text = f"{pad}if {self.condition(s, 2)} {{\n"
            text += self.block(s, depth - 1, r.randint(1, 3), loop, more)
            if r.random() < 0.5:
                text += f"{pad}}} else {{\n" + self.block(s, depth - 1, r.randint(1, 2), loop, more)
            return text + pad + "}\n"
        if roll < 0.8:
            return self.loop(s, depth, pad)
        if roll < 0.88:
            return self.switch(s, depth, loop, pad)
        if roll < 0.94 and loop:
            return f"{pad}if {self.condition(s, 1)} {r.choice(['break', 'continue'])};\n"
        if roll < 0.96:
            return f"{pad}if {self.condition(s, 1)} goto out;\n"
        return pad + self.assignment(s)

    def loop(self, s: Scope, depth: int, pad: str) -> str:
        r = self.r
        self.names += 1
        name = f"i{self.names}"
        more = pad + "    "
        s.values["u32"].append(name)
        inner = self.block(s, depth - 1, r.randint(1, 3), True, more)
        s.values["u32"].remove(name)
        inner = f"{more}if (--fuel < 0) break;\n" + inner
        count = r.choice([f"{r.randint(1, 6)}", f"(u32)(({self.expr(s, 'u32', 1)}) & 7)"])
        if r.random() < 0.7:
            return f"{pad}for (u32 {name} = 0; {name} < {count}; ++{name}) {{\n{inner}{pad}}}\n"
        # A while loop's counter steps in its condition, so that `continue` ends, too.
        head = f"{pad}{{ u32 {name} = {count};\n"
        if r.random() < 0.5:
            return f"{head}{pad}while ({name}-- > 0) {{\n{inner}{pad}}} }}\n"
        end = f"while ({name}-- > 0 && {self.condition(s, 1)}); }}\n"
        return f"{head}{pad}do {{\n{inner}{pad}}} {end}"

    def switch(self, s: Scope, depth: int, loop: bool, pad: str) -> str:
        r = self.r
        wide = r.random() < 0.2
        ways = r.randint(2, 9)
        text = f"{pad}switch ((u32)({self.expr(s, 'u32', 2)}) & {15 if wide else 7}) {{\n"
        labels = r.sample(range(16 if wide else 8), min(ways, 8))
        for label in labels:
            text += f"{pad}case {label}:\n"
            # No `break` of an outer loop in here: it would leave the switch.
            text += self.block(s, depth - 2, r.randint(0, 2), False, pad + "    ")
            if r.random() < 0.7:
                text += f"{pad}    break;\n"
        if r.random() < 0.6:
            text += f"{pad}default:\n" + self.block(s, 0, 1, False, pad + "    ")
        return f"{text}{pad}    ;\n{pad}}}\n"

    # ---- the program ---------------------------------------------------------------------

    def declare(self, s: Scope, count: int, prefix: str) -> str:
        """Local variables and arrays, all set."""
        text = ""
        for n in range(count):
            kind = self.r.choice(self.types)
            name = f"{prefix}{n}"
            text += f"    {kind} {name} = {self.expr(s, kind, 1)};\n"
            s.values[kind].append(name)
            s.targets[kind].append(name)
        for n in range(self.r.randint(0, 2)):
            kind = self.r.choice(self.types)
            name = f"{prefix}a{n}"
            text += f"    {kind} {name}[{SLOTS}];\n"
            fill = f"({kind})(input[i & 63] >> {self.r.randrange(20)})"
            text += f"    for (int i = 0; i < {SLOTS}; ++i) {name}[i] = {fill};\n"
            s.arrays[kind].append(name)
        return text

    def function(self, number: int, functions: list[tuple[str, list[str], str]]) -> str:
        r = self.r
        parameters = [r.choice(self.types) for _ in range(r.randint(1, 5))]
        result = r.choice(self.types)
        s = Scope(functions=list(functions))
        for n, kind in enumerate(parameters):
            s.values[kind].append(f"p{n}")
            s.targets[kind].append(f"p{n}")
        name = f"f{number}"
        head = ", ".join(f"{kind} p{n}" for n, kind in enumerate(parameters))
        how = r.choice(["NOINLINE", "NOINLINE", "INLINE"])
        text = f"FN {how} {result} {name}(const u32 *input, {head})\n{{\n    s32 fuel = 8;\n"
        text += self.declare(s, r.randint(1, 3), "v")
        text += self.block(s, 3, r.randint(1, 4), False, "    ")
        if r.random() < 0.3:
            text += f"    if {self.condition(s, 1)} return {self.expr(s, result, 1)};\n"
        text += f"out:\n    return {self.expr(s, result, 2)};\n}}\n\n"
        functions.append((name, parameters, result))
        return text

    def phase(self, number: int, fields: Scope, functions: list[tuple[str, list[str], str]]) -> str:
        r = self.r
        s = Scope(functions=functions, shared="look")
        for kind in TYPES:
            s.values[kind] = [f"me.{n}" for n in fields.values[kind]]
            s.targets[kind] = list(s.values[kind])
            s.arrays[kind] = [f"me.{n}" for n in fields.arrays[kind]]
        s.values["u32"].append("t")
        how = r.choice(["NOINLINE", "INLINE", "INLINE"])
        text = (
            f"FN {how} void phase{number}(State &me, u32 t, const u32 *input, const u32 *look,"
            " u32 *give, u32 *tally, u64 *wide)\n{\n    s32 fuel = 24;\n"
        )
        text += self.declare(s, r.randint(1, 3), "w")
        text += self.block(s, 4, r.randint(2, 5), False, "    ")
        for name in ("add_to", "most", "flip"):
            if r.random() < 0.4:
                slot = {"add_to": 0, "most": 8, "flip": 16}[name]
                where = f"tally + {slot} + ({self.expr(s, 'u32', 1)} & 7)"
                test, value = self.condition(s, 1), self.expr(s, "u32", 1)
                text += f"    if {test} {name}({where}, {value});\n"
        if r.random() < 0.4:
            text += f"    add_to(wide + (t & 3), {self.expr(s, 'u64', 2)});\n"
        text += f"out:\n    give[t] = {self.expr(s, 'u32', 2)};\n}}\n\n"
        return text

    def exchange(self, fields: Scope) -> tuple[str, str]:
        """What lanes do between phases: the device's line and the host's."""
        r = self.r
        kinds = [k for k in ("u32", "s32", "u64") if fields.values[k]]
        if not kinds or r.random() < 0.3:
            return "", ""
        kind = r.choice(kinds)
        name = r.choice(fields.values[kind])
        n = r.randrange(32)
        match r.randrange(6):
            case 0:
                code, host = f"__shfl_xor_sync(~0u, me.{name}, {n})", f"(l ^ {n})"
            case 1:
                code, host = f"__shfl_up_sync(~0u, me.{name}, {n})", f"(l >= {n} ? l - {n} : l)"
            case 2:
                code = f"__shfl_down_sync(~0u, me.{name}, {n})"
                host = f"(l + {n} < 32 ? l + {n} : l)"
            case 3:
                code = f"__shfl_sync(~0u, me.{name}, t * 7 + {n}, 8)"
                host = f"((l & 24) + ((l * 7 + {n}) & 7))"
            case 4:
                line = f"me.{name} += __ballot_sync(~0u, (me.{name} & 3) == {n & 3});"
                vote = f"VOTE((st[k].{name} & 3) == {n & 3})"
                return line, f"{vote} EACH st[k].{name} += votes[k / 32];"
            case _:
                line = f"me.{name} ^= __any_sync(~0u, me.{name} % 37 == 0) * 5"
                line += f" + __all_sync(~0u, me.{name} % 2 < 2);"
                vote = f"VOTE(st[k].{name} % 37 == 0)"
                return line, f"{vote} EACH st[k].{name} ^= (votes[k / 32] != 0) * 5 + 1;"
        host_line = (
            f"{{ {kind} old[{THREADS}]; EACH old[k] = st[k].{name};"
            f" EACH {{ u32 l = k & 31; st[k].{name} = old[(k & ~31u) + {host}]; }} }}"
        )
        return f"me.{name} = {code};", host_line

    def program(self) -> str:
        """The whole text; entry `fuzz` on the device, `host` on the host."""
        r = self.r
        functions: list[tuple[str, list[str], str]] = []
        text = HEADER + "".join(self.function(n, functions) for n in range(r.randint(0, 3)))
        fields = Scope()
        start, blend = "", ""
        for n in range(r.randint(4, 8)):
            kind = r.choice(self.types)
            fields.values[kind].append(f"x{n}")
            start += f"    me.x{n} = ({kind})(input[(t + {n}) & 63] >> {r.randrange(24)});\n"
            bits = f"as_bits(me.x{n})" if kind in FLOATS else f"(u64)me.x{n}"
            blend += f"    h = blend(h, {bits}); out[t * 12 + {n}] = {bits};\n"
        text += "struct State {\n"
        for kind in TYPES:
            text += "".join(f"    {kind} {n};\n" for n in fields.values[kind])
        for n in range(r.randint(0, 2)):
            kind = r.choice(self.types)
            fields.arrays[kind].append(f"y{n}")
            text += f"    {kind} y{n}[{SLOTS}];\n"
            each = f"    for (int i = 0; i < {SLOTS}; ++i)"
            start += f"{each} me.y{n}[i] = ({kind})(input[(t + i) & 63]);\n"
            value = f"as_bits(me.y{n}[i])" if kind in FLOATS else f"(u64)me.y{n}[i]"
            blend += f"{each} h = blend(h, {value});\n"
        text += "};\n"
        text += f"FN void begin(State &me, u32 t, const u32 *input)\n{{\n{start}}}\n"
        text += f"FN void finish(State &me, u32 t, u64 *out)\n{{\n    u64 h = 1;\n{blend}"
        text += "    out[t * 12 + 11] = h;\n}\n\n"
        phases = r.randint(1, 3)
        text += "".join(self.phase(n, fields, functions) for n in range(phases))
        return text + self.drivers(phases, [self.exchange(fields) for _ in range(phases)])

    @staticmethod
    def drivers(phases: int, exchanges: list[tuple[str, str]]) -> str:
        """The kernel and the host's loop over threads."""
        device = host = ""
        for n in range(phases):
            a, b = ("one", "two") if n % 2 == 0 else ("two", "one")
            arguments = f"input, {a}, {b}, tally, wide"
            device += f"    phase{n}(me, t, {arguments});\n    __syncthreads();\n"
            device += f"    {exchanges[n][0]}\n"
            host += f"    EACH phase{n}(st[k], k, {arguments});\n    {exchanges[n][1]}\n"
        return f"""#ifdef __CUDACC_RTC__
extern "C" __global__ void fuzz(const u32 *input, u64 *out)
{{
    __shared__ u32 one[{THREADS}], two[{THREADS}], tally[24];
    __shared__ u64 wide[4];
    u32 t = threadIdx.x;
    State me;
    one[t] = input[t] * 3;
    two[t] = 0;
    if (t < 24) tally[t] = 0;
    if (t < 4) wide[t] = t;
    begin(me, t, input);
    __syncthreads();
{device}    finish(me, t, out);
    if (t < 24) out[{THREADS * 12} + t] = tally[t];
    if (t < 4) out[{THREADS * 12} + 24 + t] = wide[t];
    out[{THREADS * 12} + 28 + t] = one[t];
    out[{THREADS * 13} + 28 + t] = two[t];
}}
#else
#define EACH for (u32 k = 0; k < {THREADS}; ++k)
#define VOTE(what) {{ votes[0] = votes[1] = 0; EACH votes[k / 32] |= (u32)(what) << (k & 31); }}
extern "C" void host(const u32 *input, u64 *out)
{{
    static u32 one[{THREADS}], two[{THREADS}], tally[24], votes[2];
    static u64 wide[4];
    static State st[{THREADS}];
    EACH one[k] = input[k] * 3, two[k] = 0;
    for (int i = 0; i < 24; ++i) tally[i] = 0;
    for (int i = 0; i < 4; ++i) wide[i] = i;
    EACH begin(st[k], k, input);
{host}    EACH finish(st[k], k, out);
    for (int i = 0; i < 24; ++i) out[{THREADS * 12} + i] = tally[i];
    for (int i = 0; i < 4; ++i) out[{THREADS * 12} + 24 + i] = wide[i];
    EACH out[{THREADS * 12} + 28 + k] = one[k], out[{THREADS * 13} + 28 + k] = two[k];
}}
#endif
"""


OUTPUTS = THREADS * 14 + 28
"""64-bit words a program writes."""


def program(seed: int) -> str:
    """The program of a seed."""
    return Writer(seed).program()
