"""Which CTAs are on which SM: placing them in order, setting up their warps, replacing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpudbg.mem.pages import address_of, zeroed
from gpudbg.mem.windows import RANK_SHIFT
from gpudbg.sm.barriers.phase import Barriers
from gpudbg.sm.clusters.cluster import Cluster
from gpudbg.sm.launch import Dim, LaunchConfig
from gpudbg.sm.residency.arena import LINE, RANK, Arena, ArenaPlace, Edits
from gpudbg.sm.state import Cta, Sm, WarpState


def coordinates(number: int, dims: Dim) -> Dim:
    """Coordinates of item `number` in a grid or block, x fastest."""
    x, y, _ = dims
    return (number % x, number // x % y, number // (x * y))


def number_of(place: Dim, dims: Dim) -> int:
    """The inverse of `coordinates`."""
    return place[0] + dims[0] * (place[1] + dims[1] * place[2])


class Residency:
    """The CTAs of one launch on the SMs of a GPU.

    CTAs start in ascending order, one per SM in turn while there is room; when one ends, the
    next takes its place on the same SM (*modelled*).  State exists for resident CTAs only.

    Attributes:
        sms: the SMs.
        ring: resident warps by (SM, slot).
        started: number of the first CTA that nobody has taken.
        returned: numbers below it that a host thread took and gave back, ascending.
        finished_ctas: how many so far.
        placed: CTAs that Python has placed so far.
        issued: instructions issued by SM, as compiled code on the caller's thread counts them.
        edits: changes of warps and blocks from outside.
    """

    def __init__(self, config: LaunchConfig, entry: int, num_sms: int, warp_slots: int) -> None:
        self.config = config
        self.entry = entry
        self.sms = [Sm(n, warp_slots, config.ctas_per_sm) for n in range(num_sms)]
        self.ring: list[WarpState] = []
        self.started = 0
        self.returned: list[int] = []
        self.finished_ctas = self.placed = 0
        self._cleared: list[list[Cta | None]] = []
        self.edits = Edits()
        counts = zeroed(8 * num_sms + LINE)
        self.issued = counts.data.cast("q")
        self._issued_at = address_of(counts)

    def ctas(self) -> Iterator[Cta]:
        """Resident CTAs by (SM, slot)."""
        return (cta for sm in self.sms for cta in sm.ctas if cta is not None)

    @property
    def waiting(self) -> int:
        """CTAs that have not begun."""
        return self.config.ctas - self.started + len(self.returned)

    def hand_out(self) -> range:
        """A run of consecutive numbers out of those given back."""
        if not self.returned:
            return range(0)
        first = self.returned[0]
        row = [number for n, number in enumerate(self.returned) if number == first + n]
        del self.returned[: len(row)]
        return range(first, first + len(row))

    def hand_back(self, numbers: range) -> None:
        """Give back numbers from `hand_out` or the count that have not begun."""
        self.returned = sorted([*self.returned, *numbers])

    def _next(self) -> int:
        """The number of the CTA that begins now."""
        if self.returned:
            return self.returned.pop(0)
        self.started += 1
        turn = self.started - 1
        return turn if self.config.cluster_size == 1 else self._number(turn)

    def _number(self, turn: int) -> int:
        """The number of the CTA that begins as the `turn`th: cluster by cluster, x fastest."""
        config = self.config
        which, rank = divmod(turn, config.cluster_size)
        x, y, z = config.grid
        cx, cy, cz = config.cluster
        corner = coordinates(which, (x // cx, y // cy, z // cz))
        inside = coordinates(rank, config.cluster)
        place = [a * size + b for a, size, b in zip(corner, config.cluster, inside, strict=True)]
        return place[0] + x * (place[1] + y * place[2])

    def fill(self) -> list[Cta]:
        """Place waiting CTAs wherever there is room; the new ones.  Clusters are placed whole."""
        free = [[n for n, held in enumerate(sm.ctas) if held is None] for sm in self.sms]
        most = max(len(slots) for slots in free)
        chosen = [
            (sm, slots[n]) for n in range(most) for sm, slots in enumerate(free) if n < len(slots)
        ]
        count = min(len(chosen), self.waiting)
        placed = self._placed(chosen[: count - count % self.config.cluster_size])
        self._renew()
        return placed

    def retire(self, cta: Cta) -> list[Cta]:
        """Take a finished CTA off its SM; the CTAs that take the place, if any wait."""
        self.take_off([cta])
        self.finished_ctas += 1
        if not self.waiting:
            return []
        if self.config.cluster_size > 1:
            return self.fill()
        sm = self.sms[cta.sm]
        following = self._placed([(sm.index, sm.ctas.index(None))])
        self._renew()
        return following

    def take_off(self, ctas: Iterable[Cta]) -> None:
        """Free the places of CTAs that have ended."""
        for cta in ctas:
            sm = self.sms[cta.sm]
            sm.ctas[cta.slot] = None
            first, count = cta.warps[0].slot, len(cta.warps)
            sm.warps[first : first + count] = [None] * count
            cta.part()
        self._renew()

    def clear(self) -> None:
        """Take every CTA off and start no more."""
        for sm in self.sms:
            self._cleared.append(sm.ctas)
            sm.warps = [None] * len(sm.warps)
            sm.ctas = [None] * len(sm.ctas)
        self.started = self.finished_ctas = self.config.ctas
        self.returned.clear()
        self.ring = []

    def put_back(self, ctas: Sequence[Cta]) -> None:
        """Restore the launch's initial CTAs as resident."""
        size = self.config.warps
        self._cleared.clear()
        for cta in ctas:
            sm = self.sms[cta.sm]
            sm.ctas[cta.slot] = cta
            sm.warps[cta.slot * size : (cta.slot + 1) * size] = cta.warps
        for sm in self.sms:
            sm.issued = sm.clock_base = 0
        self.ring = [warp for cta in ctas for warp in cta.warps]
        self.started, self.finished_ctas = len(ctas), 0

    def dispose(self) -> None:
        """Remove every CTA and take it apart; none may be used afterwards."""
        self.clear()
        for ctas in self._cleared:
            for cta in ctas:
                if cta is not None:
                    cta.part()
        self._cleared.clear()

    def _renew(self) -> None:
        # CTA slot order is also warp slot order: all CTAs of a launch have equally many warps.
        ctas = [cta for sm in self.sms for cta in sm.ctas if cta is not None]
        self.ring = [warp for cta in ctas for warp in cta.warps]

    def _placed(self, chosen: list[tuple[int, int]]) -> list[Cta]:
        """The next CTAs at places given as SM and CTA slot."""
        if not chosen:
            return []
        config = self.config
        places = [ArenaPlace(self._next(), sm, slot) for sm, slot in chosen]
        home = Arena(config, self.entry, places, self._issued_at, self.edits)
        made = []
        diverges = not config.layout.has_control_words
        for n, (number, index, slot) in enumerate(places):
            sm = self.sms[index]
            cta = Cta(number, coordinates(number, config.grid), index, slot, home=home, place=n)
            cta.barriers = Barriers(config.barriers)
            # All CTAs have equally many warps, so that a CTA's warp slots are consecutive.
            at = slot * config.warps
            cta.warps = [
                WarpState(
                    cta,
                    w,
                    at + w,
                    config.registers,
                    config.stack_entries,
                    has_groups=diverges,
                )
                for w in range(config.warps)
            ]
            sm.ctas[slot] = cta
            sm.warps[at : at + config.warps] = cta.warps
            made.append(cta)
        size = config.cluster_size
        for n in range(0, len(made) if size > 1 else 0, size):
            cluster = Cluster(made[n : n + size])
            for rank, cta in enumerate(cluster.ctas):
                cta.shared_cluster = cluster
                cta.descriptor[RANK // 8] = rank << RANK_SHIFT
        self.placed += len(made)
        return made
