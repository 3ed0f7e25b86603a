"""From IR text to callable code: target machine, objects cached on disk (`cache`), loading.

An object is position independent and refers to nothing outside itself, so a cached one runs in
any process on the same kind of host.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from gpudbg.sm.engines.llvm import CompileError, layout
from gpudbg.sm.engines.llvm.cache import folder as cache_folder
from gpudbg.sm.engines.llvm.cache import read as _read
from gpudbg.sm.engines.llvm.cache import write as _write

_LOCK = threading.Lock()
_LIBRARY_LOCK = threading.Lock()
Passes = Literal["none", "variables", "all"]


@dataclass(frozen=True, slots=True)
class Host:
    """What code is compiled for."""

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
    def start(self) -> str:
        """How 1/sqrt(x) begins here: a key of `reciprocal.STARTS`, "" without FMA."""
        if not self.fma:
            return ""
        if not self.triple.startswith("x86_64"):
            return "divide"
        return "wide" if self.wide_vectors else "vector"

    @property
    def key(self) -> str:
        """Everything that object code depends on beside its IR."""
        import llvmlite

        return f"{layout.VERSION}/{llvmlite.__version__}/{self.triple}/{self.cpu}/{self.features}"


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
def host() -> Host:
    """This machine; AVX-512, where it exists, with its full width."""
    binding = llvm()
    features = binding.get_host_cpu_features()
    names = [f"{'+' if on else '-'}{name}" for name, on in sorted(features.items())]
    names.append("-prefer-256-bit")
    return Host(binding.get_default_triple(), binding.get_host_cpu_name(), ",".join(names))


@cache
def _machine(level: int) -> Any:
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
        CompileError: the compiler library does not take it.
    """
    about = f"{host().key}/{level}/{passes}"
    digest = hashlib.sha256(f"{about}\0{text}".encode()).hexdigest()
    folder = cache_folder()
    path = folder / f"{digest}.o" if folder is not None else None
    found = _read(path) if path is not None else None
    if found is not None:
        return found
    binding = llvm()
    context = binding.create_context()
    try:
        module = binding.parse_assembly(text, context=context)
        with _LOCK:
            if passes != "none":
                _optimise(module, level, passes)
            made = bytes(_machine(level).emit_object(module))
    except RuntimeError as error:
        raise CompileError(str(error).splitlines()[-1]) from error
    module.close()
    del context
    if path is not None:
        _write(path, made)
    return made


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
    """Loaded object code; its functions live as long as it does."""

    def __init__(self, content: bytes) -> None:
        binding = llvm()
        with _LOCK:
            module = binding.parse_assembly("", context=_loader_context())
            self._engine = binding.create_mcjit_compiler(module, _loader())
            self._engine.add_object_file(binding.ObjectFileRef.from_data(content))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function begins."""
        return int(self._engine.get_function_address(name))


@cache
def _loader_context() -> Any:
    """The context of the empty modules that loaded code hangs on; it must outlive them all."""
    return llvm().create_context()


def _loader() -> Any:
    """A target machine for an engine, which takes it over."""
    here = host()
    target = llvm().Target.from_triple(here.triple)
    return target.create_target_machine(
        cpu=here.cpu, features=here.features, opt=0, jit=True, reloc="pic"
    )


class Library:
    """The functions that compiled kernels call, and the grid loop."""

    def __init__(self) -> None:
        from gpudbg.sm.engines.llvm.library import CONTROL, control_text, library_text

        self._control = Code(object_of(control_text(), 2, "all"))
        self._rest = Code(object_of(library_text(host().wide_vectors), 2, "variables"))
        self._in_control = CONTROL

    def address(self, name: str) -> int:
        """Where a function begins."""
        code = self._control if name in self._in_control else self._rest
        return code.address(name)


@cache
def _library() -> Library:
    return Library()


def library() -> Library:
    """The library, once for a process, whichever threads ask first: addresses in it are kept."""
    with _LIBRARY_LOCK:
        return _library()
