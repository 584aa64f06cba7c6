# SPDX-License-Identifier: Apache-2.0
"""The modelled data centre bridging of a port: what each driver keeps, refuses and forgets.

mlx5's part does as the project's virtual card does (``tests/lab/card/dcb.c``); what differs in the other
drivers is one table. Sources as in :mod:`hostnic.netlink.dcb`.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hostnic.netlink import dcb, dcbattrs
from hostnic.netlink.dcb import App, Dcb, Ets, Pfc, dcbx_words

DEFAULT_CABLE = 7
MLX5_ETS = Ets((1, 0, 2, 3, 4, 5, 6, 7), (dcb.VENDOR,) * 8, (100,) * 8)
BLANK_ETS = Ets((0,) * 8, (dcb.STRICT,) * 8, (0,) * 8)


Changed = frozenset[str]
"""The settings that a request has changed, in the words of :attr:`Quirks.closes`."""


@dataclass(frozen=True)
class Quirks:
    """The peculiarities of a driver's dcbnl."""

    selectors: tuple[int, ...]  # of APP entries that it takes
    ets: Ets = BLANK_ETS  # traffic classes as it starts
    tsa: tuple[str, ...] = (dcb.STRICT, dcb.ETS)  # algorithms that it takes
    unshared: int = 0  # percent that it tells of a class that has no share
    # Bits of the DCBX mode as it starts; those without which it refuses
    dcbx: int | None = dcb.HOST | dcb.IEEE
    needs: int = dcb.HOST | dcb.IEEE
    takes_over: int = dcb.HOST | dcb.IEEE  # the mode to which it can be asked to change
    # An entry for the same packets takes the place of the old one; elsewhere the kernel keeps both, and says
    # EEXIST to an entry that is there and to one of priority 0 beside any other
    replaces: bool = False
    cable: bool = False  # `delay` is the cable length, and kept
    caches: bool = False  # dcbnl answers the pause frames that `ethtool -S` read last, which has them by name
    # Changes for which the driver closes the netdev and opens it again: of the priorities' `map` to classes,
    # of the number of `classes`, of any `shares`, of `apps`, `pfc` and `pause`; `restarts`: another DCBX mode
    # begins with the driver's own classes
    closes: tuple[str, ...] = ()
    toggles: bool = False  # a change of PFC takes the physical link down


QUIRKS = {
    "mlx5_core": Quirks(
        selectors=(dcb.DSCP,),
        ets=MLX5_ETS,
        tsa=(dcb.STRICT, dcb.ETS, dcb.VENDOR),
        unshared=100,
        dcbx=dcb.HOST | dcb.CEE | dcb.IEEE,
        needs=0,
        takes_over=dcb.HOST | dcb.CEE | dcb.IEEE,
        replaces=True,
        cable=True,
        caches=True,
        toggles=True,
    ),
    "bnxt_en": Quirks(selectors=(dcb.ETHERTYPE, dcb.DATAGRAM_PORT, dcb.DSCP), closes=("classes", "pause")),
    "qede": Quirks(
        selectors=(dcb.ETHERTYPE, dcb.STREAM_PORT, dcb.DATAGRAM_PORT, dcb.ANY_PORT),
        dcbx=dcb.LLD_MANAGED | dcb.IEEE,
        needs=dcb.IEEE,
        takes_over=dcb.IEEE,
        closes=("pause",),
    ),
    "mlx4_core": Quirks(selectors=(), dcbx=None, needs=0),
    "ixgbe": Quirks(
        selectors=(dcb.ETHERTYPE, dcb.STREAM_PORT, dcb.DATAGRAM_PORT, dcb.ANY_PORT, dcb.DSCP),
        dcbx=dcb.HOST | dcb.CEE,
        closes=("map", "classes", "pause", "restarts"),
    ),
    "i40e": Quirks(selectors=(dcb.ETHERTYPE, dcb.DATAGRAM_PORT), closes=("map", "apps", "pfc", "pause")),
    "ice": Quirks(
        selectors=(dcb.ETHERTYPE, dcb.DSCP),
        dcbx=None,
        needs=0,
        closes=("map", "classes", "shares", "apps", "pfc", "pause"),
    ),
    "hns3": Quirks(selectors=(dcb.DSCP,), replaces=True, closes=("map", "classes", "pfc")),
}


@dataclass
class FakeDcb:
    """One port's data centre bridging."""

    driver: str = "mlx5_core"  # whose quirks it has
    apps: set[App] = field(default_factory=set[App])  # what it keeps, as the driver has it
    pfc: tuple[int, ...] = ()
    # ConnectX-4: mlx5 opens all queues anew where trust changes (en_dcbnl.c: mlx5e_set_trust_state)
    headers_in_descriptors: bool = False
    firmware_agent: bool = False  # a fault: DCBX is the firmware's and stays there
    no_ops: bool = False  # a fault: the driver has no data centre bridging
    refuses: bool = False  # a fault: every setter says EINVAL
    # A fault: settings with these names (`ets`, `pfc`, `apps`) are accepted and not kept
    deaf: set[str] = field(default_factory=set[str])
    # Pause frames that the hardware has counted, by priority
    sent: list[int] = field(default_factory=lambda: [0] * 8)
    received: list[int] = field(default_factory=lambda: [0] * 8)

    def __post_init__(self) -> None:
        self.quirks = QUIRKS[self.driver]
        self.map = {dscp: dscp >> 3 for dscp in range(dcb.DSCPS)}
        self._cached = Pfc(())
        self._start()

    def _start(self) -> None:
        self.ets = self.quirks.ets
        self.cable = DEFAULT_CABLE if self.quirks.cable else 0
        self.dcbx = self.quirks.dcbx
        if self.firmware_agent:
            self.dcbx = dcb.LLD_MANAGED | (dcb.CEE if self.driver == "qede" else dcb.IEEE)

    def driver_restarts(self) -> None:
        """An eswitch mode change: mlx5 begins anew but for what the port's hardware keeps."""
        self._start()
        if self.apps:
            self.apps = {App(dcb.DSCP, dscp, priority) for dscp, priority in self.map.items()}

    def power_on(self) -> None:
        """Nothing survives."""
        self.apps, self.pfc = set(), ()
        self.map = {dscp: dscp >> 3 for dscp in range(dcb.DSCPS)}
        self._start()

    def get(self) -> Dcb:
        """IEEE_GET and GDCBX, through the bytes that the kernel would send."""
        self._need_ops("")
        told = dcbattrs.decode(dcbattrs.encode(self._kept()))
        counted = self._cached if self.quirks.caches else self._count()
        pfc = Pfc(self.pfc, self.cable, counted.sent, counted.received)
        return told._replace(pfc=pfc, dcbx=self.dcbx)

    def _count(self) -> Pfc:
        return Pfc((), 0, tuple(self.sent), tuple(self.received))

    def pauses(self) -> dict[str, int]:
        """Pause frames by the names of ``ethtool -S``, for which mlx5 reads its hardware."""
        self._cached = self._count()
        received = {f"rx_prio{priority}_pause": self.received[priority] for priority in self.pfc}
        return received | {f"tx_prio{priority}_pause": self.sent[priority] for priority in self.pfc}

    def set(self, wanted: Dcb) -> Changed:
        """IEEE_SET; what changed, in the words of :attr:`Quirks.closes`."""
        self._need_ops("")
        before = self._kept()
        self._set(wanted)
        return self._changed(before)

    def closes(self, changed: Changed) -> bool:
        """Whether the driver closes the netdev for it and opens it again."""
        closes = ("trust",) if self.headers_in_descriptors else self.quirks.closes
        return not changed.isdisjoint(closes)

    def _kept(self) -> Dcb:
        return Dcb(self.ets, Pfc(self.pfc, self.cable), tuple(sorted(self.apps)))

    def _changed(self, before: Dcb) -> Changed:
        now, old = self._kept(), before.ets or self.ets
        changes = {
            "map": old.prio_tc != self.ets.prio_tc,
            "classes": max(old.prio_tc) != max(self.ets.prio_tc),
            "shares": old != self.ets,
            "apps": before.apps != now.apps,
            "trust": _trusts_dscp(before.apps) != _trusts_dscp(now.apps),
            "pfc": before.pfc is not None and before.pfc.priorities != self.pfc,
        }
        return frozenset(name for name, changed in changes.items() if changed)

    def _set(self, wanted: Dcb) -> None:
        if wanted.ets is not None and "ets" not in self.deaf:
            self._set_ets(wanted.ets)
        if wanted.apps and "apps" not in self.deaf:
            for app in wanted.apps:
                self._set_app(app)
        if wanted.pfc is None or "pfc" in self.deaf:
            return
        self._may_set("PFC")
        self.pfc = wanted.pfc.priorities
        if self.quirks.cable and 0 < wanted.pfc.delay < 1000:
            self.cable = wanted.pfc.delay

    def delete_apps(self, apps: Sequence[App]) -> Changed:
        """IEEE_DEL; what changed, as from :meth:`set`."""
        self._need_ops("APP")
        before = self._kept()
        for app in apps:
            self._may_set("APP")
            if app not in self.apps:
                raise _error("APP", errno.ENOENT)
            self.apps.remove(app)
            if app.selector == dcb.DSCP:
                self.map[app.protocol] = 0
        return self._changed(before)

    def set_dcbx(self, mode: int) -> Changed:
        """SDCBX; the driver says no without a reason. What changed, as from :meth:`set`."""
        self._need_ops("DCBX")
        # A driver that began as the host's goes back to that, too (ixgbe_dcbnl_setdcbx: CEE).
        began = self.quirks.dcbx or 0
        accepted = (self.quirks.takes_over, *([began] if began & dcb.HOST else []))
        if self.refuses or self.firmware_agent or mode not in accepted:
            raise OSError(errno.EINVAL, f"DCBX: the driver refuses mode {dcbx_words(mode)}")
        before = self._kept()
        if "restarts" in self.quirks.closes and mode != self.dcbx:
            self.ets, self.pfc = self.quirks.ets, ()
        self.dcbx = mode
        return self._changed(before)

    def _set_ets(self, ets: Ets) -> None:
        self._may_set("ETS")
        total = sum(share for share, tsa in zip(ets.bandwidth, ets.tsa) if tsa == dcb.ETS)
        if set(ets.tsa) - set(self.quirks.tsa):
            raise _error("ETS", errno.EOPNOTSUPP)
        if (dcb.ETS in ets.tsa and total != 100) or max(ets.prio_tc) > 7:
            raise _error("ETS", errno.EINVAL)
        unshared = self.quirks.unshared
        shares = tuple(share if tsa == dcb.ETS else unshared for share, tsa in zip(ets.bandwidth, ets.tsa))
        self.ets = ets._replace(bandwidth=shares)

    def _set_app(self, app: App) -> None:
        self._may_set("APP")
        if app.selector not in self.quirks.selectors or (app.selector == dcb.DSCP and app.protocol > 63):
            raise _error("APP", errno.EINVAL)
        twins = {old for old in self.apps if (old.selector, old.protocol) == (app.selector, app.protocol)}
        if self.quirks.replaces:
            self.apps -= twins
        elif app in twins or (twins and app.priority == 0):
            raise _error("APP", errno.EEXIST)
        self.apps.add(app)
        if app.selector == dcb.DSCP:
            self.map[app.protocol] = app.priority

    def _need_ops(self, name: str) -> None:
        if self.no_ops:
            raise _error(name, errno.EOPNOTSUPP)

    def _may_set(self, name: str) -> None:
        needs = self.quirks.needs
        if self.refuses or (self.dcbx is not None and self.dcbx & needs != needs):
            raise _error(name, errno.EINVAL)


def _trusts_dscp(apps: Iterable[App]) -> bool:
    return any(app.selector == dcb.DSCP for app in apps)


def _error(name: str, code: int) -> OSError:
    words = os.strerror(code)
    return OSError(code, f"{name}: {words}" if name else words)
