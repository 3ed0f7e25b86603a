"""`gpudbg decode hwreg` and `gpudbg decode wave`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gpudbg.errors import UsageError
from gpudbg.plugin import Arguments, Decoded, Option, decoder, parse_int, text, unsigned

from .apply import HwRegFile, ReadResult, Write, register_label
from .dump import MAX_DUMP, parse_dump
from .errors import AsmError
from .instruction import ENCODING, SOPK, GcnInstruction, decode_words
from .operand import HwReg
from .registers import DEFAULT_PROCESSOR, Processor, processor
from .source import looks_like_source, read_instructions, read_operand
from .wave import read_wave

_MCPU = Option("--mcpu", text, DEFAULT_PROCESSOR, "processor, as llvm-mc -mcpu")
_OPTIONS = (
    _MCPU,
    Option("--word", help="the arguments are instruction words"),
    Option("--bytes", text, None, "instruction bytes in memory order, hexadecimal"),
    Option("--value", unsigned(32), None, "value of the register: its fields are told"),
    Option("--regs", text, None, "NAME=VALUE,...: hardware and scalar registers to act on"),
    Option("--state", text, None, "file of NAME = VALUE lines, as --regs"),
    Option("--privileged", help="writes come from the trap handler"),
    Option("--list", help="the registers of the processor"),
)


@decoder(usage="[--mcpu gfx1010] OPERAND|INSTRUCTION", options=_OPTIONS)
def hwreg(args: Arguments) -> Decoded:
    """An operand, an assembler line, or instruction words; with values, also the effect."""
    chosen = processor(args["mcpu"])
    if args["list"]:
        return _list(chosen)
    if args["word"] or args["bytes"] is not None:
        return _instructions([decode_words(_words(args), chosen)], chosen, args, None)
    source = _source(args)
    try:
        if looks_like_source(source):
            found = read_instructions(source, chosen)
            if not found:
                raise UsageError("no instruction in the text")
            return _instructions(found, chosen, args, source)
        return _operand(HwReg.decode(read_operand(source, chosen)), chosen, args, source)
    except AsmError as error:
        if not args.json:
            raise _hinted(error, source) from None
        data = {"mcpu": chosen.name, "asm": source, "ok": False, "error": error.error,
                "line": error.line, "column": error.column}  # fmt: skip
        return Decoded(data, [str(error)], exit_code=error.exit_code)


def _hinted(error: AsmError, source: str) -> AsmError:
    """The error, with a hint where the operand is an instruction word."""
    try:
        word = int(source.strip(), 0)
    except ValueError:
        return error
    if ENCODING.get(word) != SOPK or not 0 <= word < 1 << 32:
        return error
    return AsmError(error.error, error.line, error.column, "an instruction word? use --word")


def _source(args: Arguments) -> str:
    if not args.words:
        raise UsageError("an operand or an instruction is needed", "usage: " + hwreg.usage)
    return sys.stdin.read() if args.words == ("-",) else " ".join(args.words)


def _words(args: Arguments) -> list[int]:
    if args["bytes"] is None:
        return [parse_int(word, "instruction word", 32) for word in args.words]
    digits = args["bytes"].replace(" ", "").replace(",", "").replace("0x", "")
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        raise UsageError(f"--bytes: '{args['bytes']}' is not hexadecimal bytes") from None
    if not data or len(data) % 4:
        raise UsageError(f"--bytes: {len(data)} bytes are not whole 32-bit words")
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def _file(chosen: Processor, args: Arguments) -> HwRegFile | None:
    """The register file the user gave, or None."""
    if args["regs"] is None and args["state"] is None:
        return None
    lines = (args["regs"] or "").replace(",", "\n")
    if args["state"] is not None:
        lines += "\n" + _read(args["state"])
    dump = parse_dump(lines, chosen.name)
    found = HwRegFile(chosen, dict(dump.scalars), args["privileged"])
    for number, value in dump.hardware.items():
        found.write(str(number), value)
    return found


def _describe(operand: HwReg, chosen: Processor, value: int | None) -> tuple[Any, list[str]]:
    """The register an operand names: JSON and lines."""
    register = chosen.registers[operand.id]
    values = register.decode(value or 0, operand.bits)
    rows = [row.to_json() for row in values]
    lines = [f"{register_label(register)} (id {register.id}) on {chosen.name}: "
             f"{register.about or 'no name, no fields known'}"]  # fmt: skip
    if value is None:
        for row in rows:
            del row["value"], row["meaning"]
        names = ", ".join(f"{v.row.name} {v.covered.hi}:{v.covered.lo}" for v in values)
        lines += [f"bits {operand.bits.hi}:{operand.bits.lo}: {names or 'no field known'}"]
    else:
        lines += [v.line() for v in values]
    if register.note:
        lines.append(f"note: fields inferred: {register.note}")
    data = {"id": register.id, "name": register.printed, "title": register.name or None,
            "about": register.about, "fields": rows, "note": register.note}  # fmt: skip
    return data, lines


def _operand(operand: HwReg, chosen: Processor, args: Arguments, source: str) -> Decoded:
    file = _file(chosen, args)
    read = file.getreg(operand) if file else None
    value = args["value"] if read is None else read.value
    register, lines = _describe(operand, chosen, value)
    simm16 = operand.encode()
    data: dict[str, Any] = {
        "mcpu": chosen.name, "asm": source, "ok": True, "simm16": f"0x{simm16:04x}",
        "hwreg": operand.to_json(), "disasm": operand.text(chosen), "register": register,
    }  # fmt: skip
    head = [f"{operand.text(chosen)} = 0x{simm16:04x}: id {operand.id}, offset {operand.offset}, "
            f"size {operand.size}"]  # fmt: skip
    if value is not None:
        read = read or HwRegFile(chosen, {str(operand.id): value}).getreg(operand)
        data["effect"] = read.to_json()
        lines += read.lines()
    return Decoded(data, head + lines)


def _instructions(
    found: list[GcnInstruction], chosen: Processor, args: Arguments, source: str | None
) -> Decoded:
    file = _file(chosen, args)
    rows, lines = [], []
    for instruction in found:
        effect = file.execute(instruction) if file else None
        data, text_lines = _instruction(instruction, chosen, args["value"], effect)
        rows.append(data)
        lines += text_lines
    head = {"mcpu": chosen.name, "asm": source or rows[0]["disasm"], "ok": True}
    if len(rows) == 1:
        return Decoded(head | rows[0], lines)
    return Decoded(head | {"instructions": rows}, lines)


def _instruction(
    instruction: GcnInstruction,
    chosen: Processor,
    value: int | None,
    effect: ReadResult | Write | None,
) -> tuple[dict[str, Any], list[str]]:
    words = [f"0x{word:08x}" for word in instruction.words(chosen)]
    if isinstance(effect, ReadResult):
        value = effect.value
    elif isinstance(effect, Write):
        value = effect.after
    register, lines = _describe(instruction.hwreg, chosen, value)
    data: dict[str, Any] = {
        "bytes": instruction.encoding(chosen).hex(),
        "words": words,
        "simm16": f"0x{instruction.simm16:04x}",
        "hwreg": instruction.hwreg.to_json(),
        "sgpr_field": instruction.scalar,
        "disasm": instruction.text(chosen),
        "mnemonic": instruction.mnemonic,
        "literal": instruction.literal,
        "register": register,
    }
    head = [f"{instruction.text(chosen)}  ; {' '.join(words)}"]
    if effect is not None:
        data["effect"] = effect.to_json()
        lines += effect.lines()
    elif instruction.literal is not None:
        sets, set_lines = _sets(instruction, chosen)
        data["sets"] = sets
        lines += set_lines
    return data, head + lines


def _sets(instruction: GcnInstruction, chosen: Processor) -> tuple[list[Any], list[str]]:
    """What a literal write asks of the fields it covers."""
    operand = instruction.hwreg
    word = (instruction.literal or 0) << operand.offset & 0xFFFFFFFF
    values = chosen.registers[operand.id].decode(word, operand.bits)
    return [v.to_json() for v in values], [f"asks: {v.line().strip()}" for v in values]


def _list(chosen: Processor) -> Decoded:
    rows, lines = [], [f"{chosen.name} ({chosen.generation})"]
    for register in chosen.registers.values():
        if not register.name:
            continue
        named = register.printed != str(register.id)
        rows.append(
            {"id": register.id, "name": register.printed, "title": register.name,
             "about": register.about, "note": register.note,
             "fields": [[row.name, row.bits.hi, row.bits.lo] for row in register.fields]}
        )  # fmt: skip
        label = register.printed if named else f"{register.name} (by number only)"
        lines.append(f"{register.id:>3}  {label:<32} {register.about}")
    data = {"mcpu": chosen.name, "generation": chosen.generation, "registers": rows}
    return Decoded(data, lines)


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read(MAX_DUMP + 1)
        with Path(path).open(encoding="utf-8") as file:
            return file.read(MAX_DUMP + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text: {error.reason} at {error.start}") from error


@decoder(usage="[--mcpu gfx1010] FILE|-|NAME=VALUE...", options=(_MCPU,), words=(1, None))
def wave(args: Arguments) -> Decoded:
    """The state of a stopped wave from its register values."""
    given = all("=" in word for word in args.words)
    if not given and len(args.words) > 1:
        raise UsageError("give one file, `-`, or NAME=VALUE words", "usage: " + wave.usage)
    lines = "\n".join(args.words) if given else _read(args.words[0])
    dump = parse_dump(lines, args["mcpu"])
    if not (dump.hardware or dump.scalars or dump.wide):
        raise UsageError("no register value in the text")
    report = read_wave(dump)
    return Decoded(report.to_json(), report.lines())
