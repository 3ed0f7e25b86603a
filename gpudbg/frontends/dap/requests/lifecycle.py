"""The life of a connection: initialize, launch, attach, restart, terminate, disconnect."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gpudbg.errors import CommandError, GpudbgError
from gpudbg.frontends.dap.adapter import EngineRun
from gpudbg.frontends.dap.launching import open_configured
from gpudbg.frontends.dap.protocol import Body
from gpudbg.frontends.dap.registry import request

if TYPE_CHECKING:
    from gpudbg.frontends.dap.adapter import Adapter

SUPPORTED = """
ConfigurationDoneRequest FunctionBreakpoints ConditionalBreakpoints HitConditionalBreakpoints
EvaluateForHovers StepBack SetVariable RestartRequest GotoTargetsRequest CompletionsRequest
ExceptionInfoRequest TerminateDebuggee DelayedStackTraceLoading LoadedSourcesRequest LogPoints
SetExpression TerminateRequest DataBreakpoints ReadMemoryRequest WriteMemoryRequest
DisassembleRequest CancelRequest BreakpointLocationsRequest SteppingGranularity
InstructionBreakpoints ValueFormattingOptions RestartFrame ClipboardContext
StepInTargetsRequest
""".split()
CAPABILITIES: Body = {f"supports{name}": True for name in SUPPORTED} | {
    "supportTerminateDebuggee": True,
    "completionTriggerCharacters": [".", "$", " "],
}


@request("initialize", running="ok")
def initialize(adapter: Adapter, arguments: Body) -> Body:
    """What client and adapter can do.

    Raises:
        CommandError: the client writes paths in another way than the host.
    """
    if (form := arguments.get("pathFormat") or "path") != "path":
        raise CommandError(
            f"paths of pathFormat {form!r} are not understood", 'they are the host\'s: "path"'
        )
    adapter.client = arguments
    adapter.writer.first_line = int(arguments.get("linesStartAt1") is not False)
    return dict(CAPABILITIES)


@request("launch", running="ok")
def launch(adapter: Adapter, arguments: Body) -> None:
    """Open a program; it begins when the client has sent its breakpoints."""
    if adapter.session is not None:
        raise CommandError("a program is open already", "restart begins it again")
    shown = bool(adapter.client.get("supportsProgressReporting"))
    if shown:
        title = {"progressId": "launch", "title": "The program is opened"}
        adapter.writer.event("progressStart", title)
    try:
        session = open_configured(arguments)
    finally:
        if shown:
            adapter.writer.event("progressEnd", {"progressId": "launch"})
    adapter.session, adapter.configuration = session, arguments
    session.settings.set("addresses", "code")
    session.settings.set("gather", "on")
    session.output.listeners.append(lambda text: adapter.say(text, "stdout"))
    session.breakpoints.print_listeners.append(adapter.say)
    adapter.afterwards.append(lambda: adapter.writer.event("initialized"))
    adapter.afterwards.append(lambda: _begin(adapter))


@request("attach", running="ok")
def attach(adapter: Adapter, arguments: Body) -> None:
    """As `launch`, and the program stands before its first instruction.

    There is no process to attach to: the machine is this one's own.  A recording (`.gpurec`) is
    opened this way, too.
    """
    launch(adapter, {"stopOnEntry": True, **arguments})


@request("configurationDone", running="ok")
def configuration_done(adapter: Adapter, arguments: Body) -> None:
    """Breakpoints are set: go."""
    adapter.configured = True
    adapter.afterwards.append(lambda: _begin(adapter))


def _begin(adapter: Adapter) -> None:
    """Run when the program is open and the client is ready, whichever came last."""
    if adapter.session is None or not adapter.configured or adapter.begun:
        return
    adapter.begun = True
    session = adapter.session
    process = {"name": session.kernel.name, "isLocalProcess": True, "startMethod": "launch"}
    adapter.writer.event("process", process)
    if adapter.configuration.get("noDebug"):
        adapter.start(EngineRun(session.run))
    elif adapter.configuration.get("stopOnEntry"):
        adapter.tell_stop(session.stop, "entry")
        return
    else:
        adapter.start(EngineRun(session.cont, again=True))
    adapter._after()


@request("restart", running="ok")
def restart(adapter: Adapter, arguments: Body) -> None:
    """Launch from the beginning."""
    session = adapter.opened()
    adapter.halt()
    session.restart()
    adapter.handles.forget()
    adapter.ids.clear()
    adapter.begun = False
    adapter.afterwards.append(lambda: _begin(adapter))


@request("terminate", running="ok")
def terminate(adapter: Adapter, arguments: Body) -> None:
    """End the program; the client disconnects afterwards."""
    adapter.halt()
    if adapter.session is not None:
        with suppress(GpudbgError):
            adapter.session.kill()
    adapter.afterwards.append(lambda: adapter.writer.event("terminated"))


@request("disconnect", running="ok")
def disconnect(adapter: Adapter, arguments: Body) -> None:
    """The client leaves."""
    adapter.halt()
    adapter.exiting = True


@request("cancel", running="ok")
def cancel(adapter: Adapter, arguments: Body) -> None:
    """Give up what a progress tells of: a run stops where it is."""
    adapter.pause()
