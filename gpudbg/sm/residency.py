"""Which CTAs are on which SM: placing them in order, setting up their warps, replacing them."""

from __future__ import annotations

import numpy as np

from gpudbg.mem.lanes import FULL, WARP_SIZE
from gpudbg.mem.local import LocalMemory
from gpudbg.sm import record as rec
from gpudbg.sm.barrier import Barriers
from gpudbg.sm.launch import Dim, LaunchConfig
from gpudbg.sm.sregs import virtual_id
from gpudbg.sm.state import Cta, Sm, WarpState


def coordinates(number: int, dims: Dim) -> Dim:
    """Coordinates of item `number` in a grid or block, x fastest."""
    x, y, _ = dims
    return (number % x, number // x % y, number // (x * y))


class Residency:
    """The CTAs of one launch on the SMs of a GPU.

    CTAs start in ascending order, one per SM in turn while there is room; when one ends, the
    next takes its place on the same SM (*modelled*).  State exists for resident CTAs only.

    Attributes:
        sms: the SMs.
        ring: resident warps by (SM, slot).
        started, ended: CTAs so far.
    """

    def __init__(self, config: LaunchConfig, entry: int, num_sms: int, warp_slots: int) -> None:
        self.config = config
        self.entry = entry
        self.sms = [Sm(n, warp_slots, config.ctas_per_sm) for n in range(num_sms)]
        self.ring: list[WarpState] = []
        self.started = 0
        self.ended = 0
        lanes = np.arange(config.warps * WARP_SIZE, dtype=np.uint32)
        x, y, _ = config.block
        self._tid = np.stack([lanes % x, lanes // x % y, lanes // (x * y)])

    def fill(self) -> list[Cta]:
        """Place waiting CTAs wherever there is room; the new ones."""
        placed: list[Cta] = []
        while True:
            before = len(placed)
            for sm in self.sms:
                if self.started < self.config.ctas and None in sm.ctas:
                    placed.append(self._place(sm))
            if len(placed) == before:
                break
        self._renew()
        return placed

    def retire(self, cta: Cta) -> Cta | None:
        """Take a finished CTA off its SM; the CTA that takes its place, if one waits."""
        sm = self.sms[cta.sm]
        sm.ctas[cta.slot] = None
        for warp in cta.warps:
            sm.warps[warp.slot] = None
        self.ended += 1
        following = self._place(sm) if self.started < self.config.ctas else None
        self._renew()
        return following

    def clear(self) -> None:
        """Take every CTA off and start no more."""
        for sm in self.sms:
            sm.warps = [None] * len(sm.warps)
            sm.ctas = [None] * len(sm.ctas)
        self.started = self.ended = self.config.ctas
        self._renew()

    def _renew(self) -> None:
        self.ring = [warp for sm in self.sms for warp in sm.resident()]

    def _place(self, sm: Sm) -> Cta:
        config = self.config
        number = self.started
        self.started += 1
        slot = sm.ctas.index(None)
        block = coordinates(number, config.grid)
        cta = Cta(number, block, sm.index, slot, config.shared_bytes)
        cta.barriers = Barriers(cta, config.barriers)
        sm.ctas[slot] = cta
        free = (n for n, held in enumerate(sm.warps) if held is None)
        for index in range(config.warps):
            warp = self._warp(cta, index, next(free))
            cta.warps.append(warp)
        for warp in cta.warps:
            sm.warps[warp.slot] = warp
        return cta

    def _warp(self, cta: Cta, index: int, slot: int) -> WarpState:
        config = self.config
        local = LocalMemory(config.local_bytes, config.local_low)
        warp = WarpState(cta, index, slot, config.registers, config.stack_entries, local)
        threads = min(WARP_SIZE, config.threads - index * WARP_SIZE)
        valid = FULL >> (WARP_SIZE - threads)
        warp.words[rec.VALID] = valid
        warp.words[rec.ACTIVE] = valid
        warp.words[rec.FIELDS["index"].offset // 4] = index
        place = rec.FIELDS["ctaid"].offset // 4
        for n, value in enumerate(cta.block):
            warp.words[place + n] = value
        warp.words[rec.VIRTUAL_ID] = virtual_id(warp) & FULL
        warp.tid[:] = self._tid[:, index * WARP_SIZE : (index + 1) * WARP_SIZE]
        warp.pc = self.entry if self.entry & 31 else self.entry + 8
        return warp
