"""View checks: accesses inside an allocation but outside the argument views of a launch.

A launch's views of an allocation promise together what its kernel touches there, unless the whole
buffer is passed, too, or some memory that it is given holds an address in it.  Which argument an
address was made from is not known: an access through one view that hits another's elements is
silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.device.device import DeviceBuffer
from gpudbg.device.views import DeviceView
from gpudbg.mem.lanes import pack
from gpudbg.sanitizer.findings import CheckFinding, Severity
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch
from gpudbg.sm.asynchronous.events import ByteRuns, BytesCopied

if TYPE_CHECKING:
    from gpudbg.mem.device import Allocation, DeviceMemory
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces

Places = npt.NDArray[np.int64]
_SCANNED: Final = 1 << 26
"""Most bytes of memory that are searched for addresses."""


@dataclass(frozen=True, slots=True)
class ViewBytes:
    """The bytes of a view, normalised.

    Attributes:
        low: address of the first byte; `span`: bytes up to behind the last.
        run: bytes that follow one another at every element.
        dims: (count, stride) of the rest, the largest stride first; each stride is as large as what
            is inside it, unless `marks` is there.
        marks: by byte of the span, whether it belongs to the view, where windows overlap.
    """

    low: int
    span: int
    run: int
    dims: tuple[tuple[int, int], ...]
    marks: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, view: DeviceView) -> ViewBytes:
        """The bytes of a view."""
        low, item = view.address, view.dtype.itemsize
        if not all(view.shape):
            return cls(low, 0, 0, ())
        dims: list[tuple[int, int]] = []
        for count, stride in zip(view.shape, view.strides, strict=True):
            if count == 1 or stride == 0:
                continue
            if stride < 0:
                low += (count - 1) * stride
            dims.append((count, abs(stride)))
        dims.sort(key=lambda d: -d[1])
        merged: list[tuple[int, int]] = []
        for count, stride in dims:
            if merged and merged[-1][1] == count * stride:
                count *= merged.pop()[0]
            merged.append((count, stride))
        run = item
        if merged and merged[-1][1] == item:
            run = merged.pop()[0] * item
        span, exact = run, True
        for count, stride in reversed(merged):
            exact = exact and stride >= span
            span += (count - 1) * stride
        marks = None if exact else _marks(merged, run, span)
        return cls(low, span, run, tuple(merged), marks)

    def holds(self, addresses: Places, size: int) -> npt.NDArray[np.bool_]:
        """Which accesses are inside."""
        at = addresses - self.low
        good = (at >= 0) & (at + size <= self.span)
        if self.marks is not None:
            for n in range(size):
                good &= self.marks[np.clip(at + n, 0, self.span - 1)]
            return good
        for count, stride in self.dims:
            index = at // stride
            good &= index < count
            at = at - index * stride
        found: npt.NDArray[np.bool_] = good & (at + size <= self.run)
        return found


def _marks(dims: Sequence[tuple[int, int]], run: int, span: int) -> npt.NDArray[np.bool_]:
    places = np.arange(run)
    for count, stride in dims:
        places = (np.arange(count)[:, None] * stride + places).reshape(-1)
    marks = np.zeros(span, bool)
    marks[places] = True
    return marks


@dataclass(frozen=True, slots=True)
class PromisedViews:
    """What a launch promises of one allocation: views with the names of their arguments."""

    members: tuple[tuple[str, DeviceView, ViewBytes], ...]

    def outside(self, addresses: Places, size: int) -> npt.NDArray[np.bool_]:
        """Which accesses leave all of the views."""
        good = np.zeros(len(addresses), bool)
        for _, _, bytes_ in self.members:
            good |= bytes_.holds(addresses, size)
        return ~good

    def words(self, address: int) -> str:
        """`outside x = int32[16], strides (8,): 4 B past x[15]`, of the nearest view."""

        def distance(member: tuple[str, DeviceView, ViewBytes]) -> int:
            bytes_ = member[2]
            if bytes_.low <= address < bytes_.low + bytes_.span:
                return 0
            return min(abs(address - bytes_.low), abs(address - bytes_.low - bytes_.span))

        name, view, bytes_ = min(self.members, key=distance)
        return f"outside {name} = {view.words}: {_where(name, view, bytes_, address)}"


def _where(name: str, view: DeviceView, bytes_: ViewBytes, address: int) -> str:
    if not bytes_.span:
        return f"{name} is empty"
    at = address - view.address
    if len(view.shape) == 2 and min(view.strides) > 0 and at >= 0:
        row, rest = divmod(at, view.strides[0])
        if row < view.shape[0]:
            return f"row {row}, column {rest // view.strides[1]} of {view.dtype}{list(view.shape)}"
    end = bytes_.low + bytes_.span
    if address >= end:
        return f"{address - end} B past {name}[{_last(view, True)}]"
    if address < bytes_.low:
        return f"{bytes_.low - address} B before {name}[{_last(view, False)}]"
    if len(view.shape) == 1:
        index = at // view.strides[0]
        return f"between {name}[{index}] and {name}[{index + 1}]"
    return "between its elements"


def _last(view: DeviceView, high: bool) -> str:
    """Index of the element with the highest (else lowest) address."""
    return ", ".join(
        str(n - 1 if (step > 0) == high else 0)
        for n, step in zip(view.shape, view.strides, strict=True)
    )


def promised(
    memory: DeviceMemory, args: Sequence[object], names: Sequence[str]
) -> Mapping[Allocation, PromisedViews]:
    """The promises of a launch's arguments, by allocation."""
    members: dict[Allocation, list[tuple[str, DeviceView, ViewBytes]]] = {}
    whole: set[Allocation] = set()
    for number, value in enumerate(args):
        if isinstance(value, DeviceView):
            name = names[number] if number < len(names) else f"argument {number}"
            row = (name, value, ViewBytes.of(value))
            members.setdefault(value.base.allocation, []).append(row)
        elif isinstance(value, DeviceBuffer):
            whole.add(value.allocation)
        elif isinstance(value, int | np.integer) and memory.find(int(value)) is not None:
            found = memory.find(int(value))
            if found is not None:
                whole.add(found)
    kept = {a: rows for a, rows in members.items() if a not in whole}
    if kept:
        for held in memory.allocations():
            kept = {a: rows for a, rows in kept.items() if not _points_into(held, a)}
    return {a: PromisedViews(tuple(rows)) for a, rows in kept.items()}


def _points_into(held: Allocation, other: Allocation) -> bool:
    """Whether one allocation holds an address into another."""
    if held.tag or held.size < 8 or held.size > _SCANNED:
        return False
    words = held.data[: held.size // 8 * 8].view(np.uint64)
    return bool(((words >= other.base) & (words < other.end)).any())


class ViewCheck(RunCheck):
    """Finds accesses outside of the views of one launch.

    Args:
        severity: of findings; None: stores and atomics are errors, loads are warnings.
    """

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        memory: DeviceMemory,
        views: Mapping[Allocation, PromisedViews],
        severity: Severity | None,
    ) -> None:
        self._findings, self._places, self._memory = findings, places, memory
        self._views, self._severity = views, severity

    def executed(self, step: ExecutedInstruction) -> None:
        for touch in step.touches:
            if touch.space == "global":
                self._touch(step, touch)
        for event in step.events:
            if isinstance(event, BytesCopied):
                for runs in event.reads:
                    self._runs(step, runs, "load", event.lane)
                for runs, _ in event.writes:
                    self._runs(step, runs, "store", event.lane)

    def _touch(self, step: ExecutedInstruction, touch: Touch) -> None:
        addresses = touch.addresses.astype(np.int64)
        for allocation, views in self._views.items():
            inside = (addresses >= allocation.base) & (addresses + touch.size <= allocation.end)
            bad = pack(inside & views.outside(addresses, touch.size)) & touch.lanes
            if bad:
                lane = (bad & -bad).bit_length() - 1
                self._add(
                    step, touch.kind, lane, int(addresses[lane]), touch.size, allocation, views,
                    bad.bit_count(),
                )  # fmt: skip

    def _runs(self, step: ExecutedInstruction, runs: ByteRuns, kind: str, lane: int) -> None:
        if runs.home is not None or not len(runs.starts):
            return
        for allocation, views in self._views.items():
            if runs.low < allocation.base or runs.high > allocation.end:
                continue
            for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
                if views.outside(np.array([start]), end - start)[0]:
                    self._add(step, kind, lane, start, end - start, allocation, views, 1)
                    break

    def _add(
        self, step: ExecutedInstruction, kind: str, lane: int, address: int, size: int,
        allocation: Allocation, views: PromisedViews, count: int,
    ) -> None:  # fmt: skip
        severity: Severity = self._severity or ("warning" if kind == "load" else "error")

        def make() -> CheckFinding:
            one = self._places.access(kind, step.pc, step.warp, lane, address=address, size=size)
            inside = f"inside {allocation.name} ({allocation.size} B at 0x{allocation.base:x})"
            text = f"{inside}, {views.words(address)}"
            return CheckFinding(
                "out_of_bounds", severity, "outside_view", "global", None, (one,),
                allocation=text, where=f"{one.place}: {_VERBS[kind]} {size} bytes {text}",
                fix="the index does not fit the shape and strides of the argument",
            )  # fmt: skip

        self._findings.add(("outside_view", step.pc, kind), make, count)


_VERBS: Final[dict[str, Any]] = {"load": "reads", "store": "writes", "atomic": "updates"}


def storage_of(array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The outermost array that an array is part of, as it lies in memory; None: it is no part of a
    larger one.

    Of arrays of other libraries (DLPack) only the elements are known: then it is what lies from the
    first to the last of them.
    """
    outer: Any = array
    while isinstance(outer.base, np.ndarray):
        outer = outer.base
    if not outer.flags.c_contiguous:
        outer = outer.T
    if not outer.flags.c_contiguous:
        return _span_of(array)
    if array.nbytes == outer.nbytes and array.flags.c_contiguous:
        return None
    if outer is array or (array.nbytes == outer.nbytes and array.flags.f_contiguous):
        return None
    return outer if isinstance(outer, np.ndarray) else None


def _span_of(array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The bytes from an array's first element to its last."""
    if not array.size:
        return None
    ends = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low, high = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
    place = array.__array_interface__["data"][0] + low
    size = high - low + array.itemsize
    made: Any = np.asarray(_Span(array, place, size))
    return made if isinstance(made, np.ndarray) else None


class _Span:
    """Memory of an array, which is kept as long as this is."""

    def __init__(self, array: npt.NDArray[Any], place: int, size: int) -> None:
        self._array = array
        self.__array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (size,),
            "data": (place, not array.flags.writeable),
        }  # fmt: skip
