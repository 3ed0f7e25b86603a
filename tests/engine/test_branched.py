"""Code of many short pieces, some of them in loops, is emitted once, with short traces."""

from __future__ import annotations

import pytest

from gpudbg.sm.engines.llvm import job
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from tests.engine.test_resumed import emitted


@pytest.mark.parametrize(("name", "short"), [("reduce", True), ("stencil", False)])
def test_traces_are_short_at_once_where_code_branches_often(
    name: str, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[EmitterOptions] = []
    version = job._version

    def noted(listing: KernelListing, options: EmitterOptions) -> tuple[Emitter, str]:
        made.append(options)
        return version(listing, options)

    monkeypatch.setattr(job, "_version", noted)
    assert emitted(name, (256, 1, 1)).emitter.options.short is short
    assert len(made) == 1


def test_a_loop_that_begins_with_a_bundle_has_facts_about_its_registers() -> None:
    """Its branch names the bundle, whose first instruction is the head."""
    emitter = emitted("segsort", (256, 1, 1)).emitter
    ((target, _),) = emitter.listing.loops
    head = emitter.listing.layout.first(target)
    assert head != target
    assert emitter.listing.shortest_round(head) > 24
    assert emitter.edges.facts[head] or emitter.options.wide_vectors
