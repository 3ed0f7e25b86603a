"""The server's side of the worker: begin it, ask it, end it when it takes too long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

from gpudbg.errors import GpudbgError
from gpudbg.frontends.mcp.limits import CallLimits

GRACE_S = 15
"""Beyond a call's time, for what stops by itself."""
START_S = 120
"""For the process to begin, on a busy machine."""


class CallError(GpudbgError):
    """A call that did not succeed, in words for the client."""


class ToolProcess:
    """A process that carries out one call after the other; a new one begins where one has ended.

    Attributes:
        folder: what it may read and write.
        limits: of its calls.
    """

    def __init__(self, folder: str, limits: CallLimits) -> None:
        self.folder, self.limits = os.path.abspath(folder), limits
        self._process: subprocess.Popen[str] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a tool answers.

        Raises:
            CallError: it failed, took too long, or the process ended.
        """
        with self._lock:
            return self._asked(tool, arguments)

    def _asked(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise CallError(self._death(late=False)) from None
        line, late = self._line(self.limits.seconds + GRACE_S)
        if not line.endswith("\n"):
            raise CallError(self._death(late))
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CallError(answer["error"])
        found: dict[str, Any] = answer["answer"]
        return found

    def _line(self, seconds: float) -> tuple[str, bool]:
        """A line that the process writes, and whether it took longer and was killed."""
        assert self._process is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            return self._process.stdout.readline(), late.is_set()
        except ValueError:
            return "", late.is_set()
        finally:
            timer.cancel()

    def _started(self) -> subprocess.Popen[str]:
        """A new process, once it is ready."""
        self._scratch = tempfile.TemporaryDirectory(prefix="gpudbg-mcp-")
        words = [sys.executable, "-P", "-m", "gpudbg.frontends.mcp.worker"]
        words += [self.folder, self._scratch.name, self.limits.to_text()]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8", start_new_session=True,
        )  # fmt: skip
        self._process = process
        if not self._line(START_S)[0]:
            raise CallError(self._death(late=False))
        return process

    def _kill(self) -> None:
        """End the process with all that it started."""
        process = self._process
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                process.kill()

    def _death(self, late: bool) -> str:
        """Why there is no answer, in words; the next call gets another process."""
        assert self._process is not None
        self._kill()
        code = self._process.wait()
        self.close()
        gone = "programs and sessions of before are gone; open them again"
        if late:
            return f"the call took more than {self.limits.seconds} s and was ended; {gone}"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return (
            f"the debugger's process ended by {how}, perhaps for lack of memory "
            f"({self.limits.memory_mb} MB); {gone}"
        )

    def close(self) -> None:
        """End the process and remove its files."""
        self._kill()
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
            self._process = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
