"""The process in which calls are carried out: `python -P -m gpudbg.frontends.mcp.worker`.

A request is a line of JSON on standard input (tool, arguments), the answer a line of JSON on
standard output.  What compiled kernels, compilers or a lack of memory do to this process does not
reach the client: the server begins another one.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from gpudbg.answers import data_of
from gpudbg.api import cache_answer
from gpudbg.errors import GpudbgError, error_for_user
from gpudbg.frontends.mcp.limits import CallLimits, limit_memory
from gpudbg.frontends.mcp.sandbox import Sandbox
from gpudbg.frontends.mcp.tools import families
from gpudbg.frontends.mcp.workshop import Workshop


def answered(workshop: Workshop, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, or its error in words."""
    function, _ = families.TOOLS[request["tool"]]
    try:
        return {"answer": function(workshop, **request["arguments"])}
    except GpudbgError as error:
        return {"error": str(error)}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return {"error": str(error_for_user(error))}


def main(arguments: list[str]) -> None:
    """Answer requests until there are no more."""
    folder, scratch, limits = arguments[0], arguments[1], CallLimits.from_text(arguments[2])
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What anything else prints must not come between the answers, nor read the requests.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder)
    sandbox = Sandbox(folder, scratch)
    held = sandbox.confine(_kept())
    limit_memory(limits.memory_mb)
    workshop = Workshop(sandbox, limits, held)
    answers.write("ready\n")
    answers.flush()
    for line in requests:
        answers.write(json.dumps(answered(workshop, json.loads(line))) + "\n")
        answers.flush()


def _kept() -> list[str]:
    """Where compiled code is kept between runs."""
    where = data_of(cache_answer()).get("folder")
    return [str(where)] if where else []


if __name__ == "__main__":
    main(sys.argv[1:])
