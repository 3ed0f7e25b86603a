"""From IR text to callable code: target machine, objects cached on disk (`cache`), loading.

An object is position independent and refers to nothing outside itself, so a cached one runs in
any process on the same kind of host.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import itertools
import os
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm import RefusedModuleError, crash, for_ever, layout
from gpudbg.sm.engines.llvm.cache import folder as cache_folder
from gpudbg.sm.engines.llvm.cache import is_noted as _is_noted
from gpudbg.sm.engines.llvm.cache import note as _note
from gpudbg.sm.engines.llvm.cache import read as _read
from gpudbg.sm.engines.llvm.cache import write as _write
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost

LEAST_EFFORT = "GPUDBG_CODE_EFFORT"
"""Environment variable; "least": kernels are compiled with the least effort, whatever is asked.

What our own code does is the same at every effort: tests that ask what kernels compute, not how
fast, save most of their time.
"""
_OPTIONS: Final = ("-enable-tail-merge=0", "-disable-machine-licm")
"""Code generator flags that shorten the compile time and leave the code as fast.

No merging of equal block ends.  No hoisting: to the generator a kernel is one loop round the turns
of its warps, out of which it would take every constant.
"""
_MANY_REGISTERS: Final = ("-enable-misched=0",)
"""One more, likewise: no second ordering of instructions."""
_FEW_REGISTERS: Final = ("-pre-RA-sched=list-burr",)
"""One more for hosts whose 16 registers are few for a kernel's vectors: instructions are ordered so
that few values live at a time, not as they come in the IR.  The second ordering looks after that,
too."""
_LOCK = threading.Lock()
_LIBRARY_LOCK = threading.Lock()
# At exit take the lock for good: the compiler library is destroyed then, so work of daemon threads
# is waited for and none begins.
atexit.register(_LOCK.acquire)
Passes = Literal["none", "variables", "all"]


@dataclass(frozen=True, slots=True)
class BuildHost:
    """The host's CPU features that code is compiled for."""

    triple: str
    cpu: str
    features: str

    @property
    def fma(self) -> bool:
        """Whether fused multiply-add is an instruction."""
        return "+fma" in self.features.split(",") or not self.triple.startswith("x86_64")

    @property
    def wide_vectors(self) -> bool:
        """Whether vectors have 512 bits (AVX-512 with what every processor has since the first)."""
        return {"+avx512f", "+avx512dq"} <= set(self.features.split(","))

    @property
    def masks(self) -> MaskHost:
        """How masks are kept."""
        if self.wide_vectors:
            return MaskHost.REGISTERS
        packed = "+avx2" in self.features.split(",")
        return MaskHost.PACKED if packed else MaskHost.VECTORS

    @property
    def accesses(self) -> AccessHost:
        """What accesses of the library depend on.

        AMD's processors load lanes one by one faster than by gather instructions of AVX2: on a
        Zen 3 32 words in 11 ns and 14 ns, bytes in 10 ns and 15 ns.  Intel's, whose gathers have
        ports of their own to memory but whose insertions share one, are left with gathers.
        """
        by_lane = self.masks is MaskHost.PACKED and self.cpu.startswith("znver")
        return AccessHost(self.masks, by_lane)

    @property
    def blends(self) -> bool:
        """Whether lanes are chosen by a mask in one operation, where masks are packed: on AMD's
        processors.  Intel's take two or three for the instruction of AVX2."""
        return self.masks is MaskHost.PACKED and self.cpu.startswith("znver")

    @property
    def half_conversions(self) -> bool:
        """Whether f16 to f32 is an instruction."""
        return "+f16c" in self.features.split(",") or self.triple.startswith("aarch64")

    @property
    def directed(self) -> bool:
        """Whether conversions obey a rounding mode in a control register that IR can set."""
        return self.triple.startswith("x86_64")

    @property
    def start(self) -> str:
        """Start value method of 1/sqrt(x): a key of `reciprocal.STARTS`, "" without FMA."""
        if not self.fma:
            return ""
        if not self.triple.startswith("x86_64"):
            return "divide"
        return "wide" if self.wide_vectors else "vector"

    @property
    def options(self) -> tuple[str, ...]:
        """Flags for the code generator."""
        few = self.triple.startswith("x86_64") and not self.wide_vectors
        return (*_OPTIONS, *(_FEW_REGISTERS if few else _MANY_REGISTERS))

    @property
    def key(self) -> str:
        """Everything that object code depends on beside its IR."""
        import llvmlite

        about = (
            layout.VERSION,
            llvmlite.__version__,
            self.triple,
            self.cpu,
            self.features,
            *self.options,
        )
        return "/".join(map(str, about))


@cache
def llvm() -> Any:
    """The compiler library, initialised.

    Raises:
        ImportError: it is not installed.
    """
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def host() -> BuildHost:
    """This machine; AVX-512, where it exists, with its full width."""
    binding = llvm()
    features = binding.get_host_cpu_features()
    names = [f"{'+' if on else '-'}{name}" for name, on in sorted(features.items())]
    names.append("-prefer-256-bit")
    return BuildHost(binding.get_default_triple(), binding.get_host_cpu_name(), ",".join(names))


@cache
def _set_options() -> None:
    """Set the code generator's flags, which are those of the process."""
    for option in host().options:
        llvm().set_option("gpudbg", option)


@cache
def _machine(level: int) -> Any:
    _set_options()
    here = host()
    target = llvm().Target.from_triple(here.triple)
    return target.create_target_machine(
        cpu=here.cpu, features=here.features, opt=level, reloc="pic", codemodel="small"
    )


def object_of(text: str, level: int, passes: Passes = "none") -> bytes:
    """The object code of a module.

    Args:
        text: its IR.
        level: effort of the code generator, 0 to 3.
        passes: what to do with the IR first: nothing for kernels, which have no variables;
            "variables" into names; "all" for code with small functions.

    Raises:
        RefusedModuleError: the compiler library does not take it.
    """
    level = _effort(level, passes)
    path = _kept_at(text, level, passes)
    found = _read(path) if path is not None else None
    if found is not None:
        return found
    binding = llvm()
    context = binding.create_context()
    try:
        with _LOCK:
            module = binding.parse_assembly(text, context=context)
            # Verify first: the code generator would end the process at a use without a definition;
            # this takes a hundredth of its time.
            module.verify()
            if passes != "none":
                _optimise(module, level, passes)
            made = bytes(_machine(level).emit_object(module))
    except RuntimeError as error:
        said = " ".join(line.strip() for line in str(error).splitlines()[:2])
        raise RefusedModuleError(said) from error
    module.close()
    del context
    if path is not None:
        _write(path, made)
    return made


def at_rest() -> contextlib.AbstractContextManager[object]:
    """Context: nothing is compiled or loaded in this process."""
    return _LOCK


def is_kept(text: str, level: int) -> bool:
    """Whether the object code of a kernel's module is on disk."""
    path = _kept_at(text, _effort(level, "none"), "none")
    return path is not None and path.exists()


def note(identity: bytes) -> None:
    """Note on disk that a kernel's better code was made, by the code's identity, not its IR."""
    _note(host().key.encode() + identity)


def is_noted(identity: bytes) -> bool:
    """Whether `note` was called for it, here or in another process, and its code may be kept."""
    return _is_noted(host().key.encode() + identity)


def wants_plain() -> bool:
    """Whether the environment asks for quick code only."""
    return os.environ.get(LEAST_EFFORT) == "plain"


def _effort(level: int, passes: Passes) -> int:
    """The effort for a module; for a kernel the environment may limit it."""
    held = passes == "none" and os.environ.get(LEAST_EFFORT) in ("least", "plain")
    return 0 if held else level


def _kept_at(text: str, level: int, passes: Passes) -> Path | None:
    """Where the object code of a module is kept; None: nowhere."""
    folder = cache_folder()
    if folder is None:
        return None
    about = f"{host().key}/{level}/{passes}"
    digest = hashlib.sha256(f"{about}\0{text}".encode()).hexdigest()
    return folder / f"{digest}.o"


def _optimise(module: Any, level: int, passes: Passes) -> None:
    """Run passes of the compiler library."""
    binding = llvm()
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    builder = binding.create_pass_builder(_machine(level), tuning)
    if passes == "all":
        manager = builder.getModulePassManager()
    else:
        manager = binding.create_new_module_pass_manager()
        manager.add_sroa_pass()
    manager.run(module, builder)


class Code:
    """Loaded object code; its functions live as long as it does.

    One linker places code and constants of an object in one piece of memory: they refer to one
    another within 2 GiB, however full of large buffers the rest is.
    """

    def __init__(self, content: bytes, names: Iterable[str] = ()) -> None:
        """Args: names: of functions, where many are wanted."""
        from llvmlite.binding import orcjit

        self._name = f"code{next(_NUMBERS)}"
        # References outside the object are to C library functions, for instructions the host lacks.
        builder = orcjit.JITLibraryBuilder().add_object_img(content).add_current_process()
        for name in names:
            builder.export_symbol(name)
        with _LOCK:
            self._loaded = builder.link(_linker(), self._name)
        self._functions = dict.fromkeys(names, self._loaded)
        sections = llvm().ObjectFileRef.from_data(content).sections()
        self._size = sum(section.size() for section in sections if section.is_text())
        self._reported = False

    def address(self, name: str) -> int:
        """Where a function begins.

        Raises:
            RefusedModuleError: there is none of this name.
        """
        with _LOCK:
            found = self._functions.get(name)
            if found is None:
                try:
                    found = self._functions[name] = _linker().lookup(self._name, name)
                except RuntimeError as error:
                    raise RefusedModuleError(str(error)) from error
            found_at = int(found[name])
            if not self._reported:
                # Where in the code the function lies is unknown: cover its size both ways.
                self._reported = True
                crash.add_range(found_at - self._size, found_at + self._size)
        return found_at


_NUMBERS = itertools.count()


@cache
def _linker() -> Any:
    """The linker that all code is loaded into."""
    from llvmlite.binding import orcjit

    llvm()
    return for_ever(orcjit.create_lljit_compiler(_loader(), use_jit_link=True))


def _loader() -> Any:
    """A target machine for the linker, which takes ownership of it."""
    here = host()
    target = llvm().Target.from_triple(here.triple)
    return target.create_target_machine(
        cpu=here.cpu, features=here.features, opt=0, jit=True, reloc="pic"
    )


class Library:
    """The functions that compiled kernels call, each built when it is first wanted, and the grid
    loop."""

    def __init__(self) -> None:
        self._made: dict[str, Code] = {}
        self._making = threading.Lock()
        self.address(layout.GRID_LOOP)

    def address(self, name: str) -> int:
        """Where a function begins, by its name in IR."""
        with self._making:
            if name not in self._made:
                self._make(name)
            code = self._made[name]
        return code.address(name)

    def _make(self, name: str) -> None:
        made = _GIVEN.get(name) or library_object(name)
        code = Code(made.content, made.names)
        self._made |= dict.fromkeys(made.names, code)


class LibraryObject(NamedTuple):
    """Object code with functions of the library.

    Attributes:
        content: the code.
        names: IR names of its functions.
    """

    content: bytes
    names: tuple[str, ...]


def library_object(name: str) -> LibraryObject:
    """The object with a function of the library, by its IR name."""
    from gpudbg.sm.engines.llvm.runtime.library import module_with

    here = host()
    made = module_with(name, here.accesses, here.half_conversions, here.directed)
    return LibraryObject(object_of(made.text, 2, made.passes), made.names)


_GIVEN: Final[dict[str, LibraryObject]] = {}
"""Objects that another process has made, by the names of their functions."""


def give(made: LibraryObject) -> None:
    """Store an object made by another process for the library's first use of it."""
    for name in made.names:
        _GIVEN.setdefault(name, made)


def given() -> frozenset[str]:
    """IR names of library functions that need no compiling."""
    made = _library()._made if _library.cache_info().currsize else {}
    return frozenset(_GIVEN) | frozenset(made)


@cache
def _library() -> Library:
    return for_ever(Library())


def library() -> Library:
    """The library, once for a process, whichever threads ask first: addresses in it are kept."""
    with _LIBRARY_LOCK:
        return _library()
