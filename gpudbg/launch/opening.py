"""What a session was opened with: a path and launch flags, by which its next start goes."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.formats.launch_text import split_name
from gpudbg.launch.flags import flags_over, read_table, table_over
from gpudbg.loading.programs import open_program
from gpudbg.options import JOBS
from gpudbg.toolchain.options import flag_options

if TYPE_CHECKING:
    from gpudbg.device.module import LoadedModule
    from gpudbg.formats.launch import Launch
    from gpudbg.formats.program import Kernel, Program
    from gpudbg.launch.form import LaunchForm
    from gpudbg.launch.prepare import IdleLaunch, ProgramLaunch

WHAT_TO_DO = (
    "`info launch` shows what is there and what is missing; `launch` takes what it proposes, "
    "`run --kernel NAME --grid N --block N --arg NAME=VALUE` yours"
)
"""How a launch that cannot begin is completed in a session."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session was opened with; its next start launches what this says.

    Attributes:
        path: the program's.
        flags: the launch flags given so far (`gpudbg.launch.flags`).
        base: the table below the flags, where there is no file of one (sessions from Python).
    """

    path: str
    flags: argparse.Namespace
    base: Launch | None = None

    def with_flags(self, words: Sequence[str], fresh: bool = False) -> Opening:
        """With more flags; errors as `flags_over`."""
        return replace(self, flags=flags_over(self.flags, words, fresh))

    def without_arguments(self) -> Opening:
        """Without the arguments that flags give."""
        flags = copy.copy(self.flags)
        flags.arg = []
        return replace(self, flags=flags)

    def with_form(self, form: LaunchForm) -> Opening:
        """With a form's values in place of the flags of kernel, sizes and arguments."""
        bare = copy.copy(self.flags)
        bare.kernel = bare.grid = bare.block = bare.shared = None
        bare.arg = []
        return replace(self, flags=flags_over(bare, form.flags()))

    def named_arguments(self) -> set[str]:
        """Names of arguments that flags give by name."""
        return {name for text in self.flags.arg if (name := split_name(text)[0])}

    def table(self, program: Program | None = None) -> Launch:
        """The launch table with the flags over it."""
        if self.base is not None:
            return table_over(self.base, self.flags, program)
        return read_table(self.path, self.flags, program)

    def loaded(self, now: LoadedModule) -> LoadedModule:
        """The program with the kernel that the flags name, on the same device.

        A file of many cubins has a program for each; another one is loaded when it is needed.
        """
        from gpudbg.launch.prepare import kernel_name

        name = self.flags.kernel
        if name is None or self.base is not None:
            return now
        if kernel_name(now.program, name) in now.program.kernels:
            return now
        program = open_program(self.path, self.table(), now.device.arch, flag_options(self.flags))
        if kernel_name(program, name) not in program.kernels:
            return now
        held = dict.fromkeys((*now.program.kernels, *now.program.elsewhere, *program.elsewhere))
        others = tuple(k for k in held if k not in program.kernels)
        return now.device.adopt(replace(program, elsewhere=others))

    def kernel(self, program: Program) -> Kernel:
        """The kernel to look at: the one that is named, else the first.

        Raises:
            UsageError: the program has no kernel of that name.
        """
        from gpudbg.formats.launch import pick_kernel
        from gpudbg.launch.prepare import kernel_name

        name = self.table().kernel
        if name is None:
            return next(iter(program.kernels.values()))
        return pick_kernel(program, kernel_name(program, name))

    def trouble(self, program: Program) -> UsageError | None:
        """Why a launch cannot begin, and what to do; None where it can."""
        from gpudbg.formats.launch import bind, check_geometry, pick_kernel
        from gpudbg.launch.prepare import kernel_name
        from gpudbg.sm.launch import limits_of

        try:
            table = self.table(program)
            kernel = pick_kernel(program, kernel_name(program, table.kernel))
            most = limits_of(program.arch).cta_shared
            check_geometry(kernel, table.grid, table.block, table.shared_bytes, most)
            bind(kernel, table.args)
        except UsageError as error:
            return type(error)(error.message, WHAT_TO_DO)
        return None

    def launch(self, loaded: LoadedModule) -> ProgramLaunch:
        """The launch, with its buffers on the device.

        Raises:
            UsageError: what is missing, or does not fit, and what to do.
            LoadError: a data file that cannot be read.
        """
        from gpudbg.launch.prepare import prepare

        trouble = self.trouble(loaded.program)
        if trouble is not None:
            raise trouble
        table = self.table(loaded.program)
        gpu = loaded.device.gpu
        for name in ("num_sms", "seed", "stack_bytes"):
            value = getattr(table.sm, name)
            if value is not None:
                setattr(gpu, name, value)
        gpu.fixed_sms = gpu.fixed_sms or table.sm.num_sms is not None
        gpu.engine = getattr(self.flags, "engine", gpu.engine)
        gpu.jobs = getattr(self.flags, JOBS.name, gpu.jobs)
        loaded.use_machine(table)
        return prepare(loaded, table)

    def idle(self, loaded: LoadedModule) -> IdleLaunch:
        """What stands for the launch while there is none."""
        from gpudbg.launch.prepare import IdleLaunch

        return IdleLaunch(loaded, self.kernel(loaded.program))

    def form(self, program: Program, kernel: Kernel) -> LaunchForm:
        """The launch of a kernel as texts: what is given, and a proposal for the rest."""
        from gpudbg.launch.form import filled, form_of, propose

        proposed = propose(program, kernel)
        chosen = replace(self, flags=flags_over(self.flags, ["--kernel", kernel.name]))
        try:
            table = chosen.table(program)
        except UsageError:
            # Some arguments are given by name: those go over the proposed ones.
            try:
                table = table_over(proposed, chosen.flags, program)
            except UsageError:
                table = proposed
        proposal = form_of(program, kernel, proposed)
        made = filled(form_of(program, kernel, table), proposal)
        if self._has_table():
            return made
        given = self.flags
        return replace(
            made,
            grid=made.grid if given.grid else proposal.grid,
            block=made.block if given.block else proposal.block,
        )

    def _has_table(self) -> bool:
        from gpudbg.formats.launch_toml import beside

        return self.base is not None or bool(self.flags.launch) or beside(self.path) is not None
