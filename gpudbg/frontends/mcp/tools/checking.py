"""The tool that checks launches."""

from __future__ import annotations

from typing import Annotated, Literal

from gpudbg.api import device_for, launch_parser
from gpudbg.errors import UsageError
from gpudbg.frontends.mcp.tools.launching import Arguments, require_small
from gpudbg.frontends.mcp.tools.table import ProgramNumber, Size, about, size_text, tool
from gpudbg.frontends.mcp.workshop import ToolAnswer, Workshop
from gpudbg.launch import Opening
from gpudbg.sanitizer import DEFAULTS, CheckSettings, CheckStopper, LaunchPlan, check_plan

Check = Literal["memory", "race", "init", "sync", "leak", "hazards"]


@tool("check")
def check(
    workshop: Workshop,
    program: ProgramNumber,
    kernel: Annotated[str | None, about("its name; needed where there are several")] = None,
    grid: Annotated[Size | None, about("blocks")] = None,
    block: Annotated[Size | None, about("threads of a block")] = None,
    args: Annotated[Arguments | None, about("as for `launch`")] = None,
    shared_bytes: Annotated[int, about("dynamic shared memory", ge=0, le=1 << 20)] = 0,
    checks: Annotated[list[Check] | None, about("default: all but hazards")] = None,
    schedules: Annotated[int, about("try so many schedules", ge=1, le=1000)] = 1,
    performance: Annotated[bool, about("count bank conflicts and sectors, too")] = False,
) -> ToolAnswer:
    """Run a launch of its own and look for races, accesses out of bounds, undefined values,
    barriers that not all come to, and leaks; answers with findings by source line."""
    opened = workshop.program(program)
    if opened.program is None:
        raise UsageError(f"{opened.name} is a recording", "`check` runs launches of programs")
    words = list(opened.flags)
    for flag, size in (("--grid", grid), ("--block", block)):
        words += [flag, size_text(size)] if size else []
    words += ["--kernel", kernel] if kernel else []
    words += ["--shared", str(shared_bytes)] if shared_bytes else []
    words += [f"--arg={text}" for text in args or ()]
    opening = Opening(opened.path, launch_parser().parse_args(words))
    require_small(workshop, opening, opened)
    table = opening.table(opened.program)
    settings = CheckSettings(
        checks=checks or DEFAULTS.checks,
        schedules=schedules,
        performance=performance,
        max_instructions=workshop.limits.instructions,
    ).validated()
    loaded = device_for(opened.program, table).adopt(opened.program)
    stopper = CheckStopper()
    plan = LaunchPlan(loaded, [lambda given: given.launch_table(table)], stopper=stopper)
    with stopper.limited(workshop.limits.seconds):
        report = check_plan(plan, settings)
    return workshop.answer("\n".join(report.lines()), program=program)
