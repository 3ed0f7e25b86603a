"""`gpudbg check --dask`: programs, checks and schedules on many machines.

Every launch's checks and schedules are tasks of their own.  Dask does again what a lost worker was
doing; a launch that loses too many is one that could not be judged.  Workers read programs by
their paths, so these must be the same everywhere.
"""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from gpudbg.errors import ModelGap, UsageError
from gpudbg.frontends.verbs.check_units import stopped_report
from gpudbg.sanitizer import CheckReport, merged

Part = tuple[str, argparse.Namespace]
"""A program, and the flags of one part of its check."""
Checked = Callable[[str, argparse.Namespace], CheckReport]

SCHEDULES: Final = 4
"""Schedules of a task at most."""


def parts_of(path: str, args: argparse.Namespace, checks: Sequence[str]) -> list[Part]:
    """A program's check in parts: a check each, and some schedules each."""
    found = []
    for check in checks:
        for begin in range(0, max(args.schedules - 1, 1), SCHEDULES):
            part = copy.copy(args)
            part.checks, part.quick = check, False
            part.schedules = 1 + min(SCHEDULES, args.schedules - 1 - begin)
            part.first_schedule = 1 + begin
            # Of the whole, rules and known findings are applied by every part alike.
            part.performance = args.performance and check == checks[0] and not begin
            found.append((path, part))
    return found


def fanned_out(
    units: Sequence[Part],
    checks: Sequence[str],
    checked: Checked,
    done: Callable[[int, int], None],
) -> list[CheckReport]:
    """Reports of launches, by tasks on a cluster.

    Args:
        units: programs, and the flags of a launch of each.
        checked: makes the report of a part; a function that workers can import.
        done: called with how many tasks of how many have ended.
    """
    tasks = [
        (unit, part)
        for unit, (path, args) in enumerate(units)
        for part in parts_of(path, args, checks)
    ]
    found: list[list[CheckReport]] = [[] for _ in units]
    with _client(units[0][1].dask) as client:
        distributed = _library()
        futures: dict[Any, int] = {
            client.submit(checked, *part, pure=False, retries=2): unit for unit, part in tasks
        }
        over: set[Any] = set()
        try:
            for number, future in enumerate(distributed.as_completed(futures), 1):
                unit = futures[future]
                over.add(future)
                found[unit].append(_result(future, units[unit][0]))
                done(number, len(tasks))
        except KeyboardInterrupt:
            # What has been found stands; the rest did not end.
            client.cancel(list(futures), force=True)
            for future, unit in futures.items():
                if future not in over:
                    found[unit].append(stopped_report(units[unit][0]))
    return [merged(reports) for reports in found]


def _result(future: Any, path: str) -> CheckReport:
    """What a task gave; a task that never came to its end could not judge."""
    error = future.exception()
    if error is None:
        report: CheckReport = future.result()
        return report
    if isinstance(error, UsageError):
        raise error
    text = f"a worker was lost or failed: {type(error).__name__}: {error}"
    return CheckReport(gap=text, program={"file": path, "arch": ""})


def _library() -> Any:
    try:
        import distributed
    except ImportError:
        raise UsageError("--dask needs Dask", "pip install 'gpudbg[dask]'") from None
    return distributed


@contextmanager
def _client(where: str) -> Iterator[Any]:
    """A client of a cluster at an address, or of one on this machine."""
    distributed = _library()
    if where != "local":
        try:
            client = distributed.Client(where, timeout="10s")
        except (OSError, ValueError) as error:
            raise UsageError(f"--dask {where}: no scheduler answers: {error}") from None
        with client:
            yield client
        return
    with _local(distributed) as cluster, distributed.Client(cluster) as client:
        yield client


def _local(distributed: Any) -> Any:
    """A cluster of this machine's processors.

    Raises:
        ModelGap: its processes did not come up.
    """
    workers = os.cpu_count() or 1
    try:
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ModelGap(
            f"--dask local: the workers did not start: {error}", "check with --jobs instead"
        ) from None
