# SPDX-License-Identifier: Apache-2.0
"""Changes of a port's data centre bridging.

Each is read back, since dcbnl also accepts settings that a driver does not implement.
"""

import contextlib
import errno
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from converge import StepError, cause

from hostnic.netlink.dcb import App, Dcb, Ets, Pfc, dcbx_words
from hostnic.ops import refusal
from hostnic.system import Pause, System

KEEPS = "the driver accepts the setting but does not keep it"
NO_OPERATION = "this driver or firmware does not support it; leave the port out of option devices"


@dataclass(frozen=True)
class SetEts:
    """Set traffic classes and their shares."""

    netdev: str
    ets: Ets

    def run(self, system: System) -> None:
        if read(system, self.netdev).ets == self.ets:
            return
        with _explained(self.netdev):
            system.dcb.set(self.netdev, Dcb(ets=self.ets))
        if read(system, self.netdev).ets != self.ets:
            raise StepError(f"ETS of {self.netdev} reads back differently: {KEEPS}", NO_OPERATION)


@dataclass(frozen=True)
class SetApps:
    """Make ``apps`` the only entries of the selectors ``owned``, and for the packets that ``apps`` name.

    All other entries stay.
    mlx5 replaces an entry for the same packets in place. It trusts DSCP from the first DSCP entry on, and the
    VLAN tag once the last one is deleted. With other drivers the kernel keeps both entries, or refuses the
    new one with EEXIST.
    """

    netdev: str
    owned: tuple[int, ...]
    apps: tuple[App, ...]

    def ours(self, found: Iterable[App]) -> set[App]:
        """The entries that this change may delete or add."""
        packets = {(app.selector, app.protocol) for app in self.apps}
        return {app for app in found if app.selector in self.owned or (app.selector, app.protocol) in packets}

    def run(self, system: System) -> None:
        """Delete the entries that are not wanted, and add those that are missing."""
        now, wanted = self.ours(read(system, self.netdev).apps), set(self.apps)
        if now == wanted:
            return
        stale, missing = now - wanted, wanted - now
        replaced = {(app.selector, app.protocol) for app in missing}
        with _explained(self.netdev):
            # Entries without a successor go first; each of the others stays until its successor is in place.
            self._delete(system, {app for app in stale if (app.selector, app.protocol) not in replaced})
            try:
                self._add(system, missing)
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise
                self._delete(system, stale)
                self._add(system, missing)
            self._delete(system, stale)
        if self.ours(read(system, self.netdev).apps) != wanted:
            raise StepError(f"APP entries of {self.netdev} read back differently: {KEEPS}", NO_OPERATION)

    # An entry may have come or gone with another one, or before a refusal: each change reads them again.

    def _add(self, system: System, apps: set[App]) -> None:
        if missing := sorted(apps - set(read(system, self.netdev).apps)):
            system.dcb.set(self.netdev, Dcb(apps=tuple(missing)))

    def _delete(self, system: System, apps: set[App]) -> None:
        if present := sorted(apps & set(read(system, self.netdev).apps)):
            system.dcb.delete_apps(self.netdev, present)


@dataclass(frozen=True)
class SetPfc:
    """Set the lossless priorities and the cable length of a port."""

    netdev: str  # the port
    priorities: tuple[int, ...]  # ascending
    delay: int = 0  # metres; 0 leaves the cable length as it is

    def run(self, system: System) -> None:
        now = read(system, self.netdev).pfc
        if now is not None and now.priorities == self.priorities and self.delay in (0, now.delay):
            return
        with _explained(self.netdev):
            system.dcb.set(self.netdev, Dcb(pfc=Pfc(self.priorities, self.delay)))
        now = read(system, self.netdev).pfc
        if now is None or now.priorities != self.priorities:
            raise StepError(f"PFC of {self.netdev} reads back differently: {KEEPS}", NO_OPERATION)
        if self.delay not in (0, now.delay):
            raise StepError(
                f"the cable length of {self.netdev} reads {now.delay} m after {self.delay} m was set",
                "set cable-length=0 to leave it to the driver",
            )


@dataclass(frozen=True)
class TakeDcbx:
    """Have the host, not the NIC's firmware, control data centre bridging."""

    netdev: str
    mode: int
    bits: int
    agent: str = ""  # what ends the control by this NIC's firmware, if it has a way of its own

    def run(self, system: System) -> None:
        if _has(read(system, self.netdev), self.bits):
            return
        remedy = self.agent or "switch off LLDP and DCBX in the firmware (charm nic-firmware), then reboot"
        with refusal.explained(f"the firmware keeps DCBX of {self.netdev}", remedy):
            system.dcb.set_dcbx(self.netdev, self.mode)
        now = read(system, self.netdev)
        if not _has(now, self.bits):
            words = dcbx_words(now.dcbx or 0)
            raise StepError(f"DCBX of {self.netdev} reads {words} after it was taken over", NO_OPERATION)


@dataclass(frozen=True)
class SetPause:
    """Turn global pause frames of ``netdev`` on or off; they exclude PFC."""

    netdev: str
    on: bool

    def run(self, system: System) -> None:
        with refusal.explained(f"pause frames of {self.netdev}"):
            if system.ethtool.pause(self.netdev) in (None, Pause(self.on, self.on)):
                return
            system.ethtool.set_pause(self.netdev, self.on, self.on)
            now = system.ethtool.pause(self.netdev)
        if now != Pause(self.on, self.on):
            raise StepError(f"pause frames of {self.netdev} did not turn {'on' if self.on else 'off'}")


def read(system: System, netdev: str) -> Dcb:
    """Read the settings that the driver of ``netdev`` reports.

    Raises StepError if the driver has no data centre bridging, or the netdev is gone.
    """
    with _explained(netdev):
        return system.dcb.get(netdev)


def _has(found: Dcb, bits: int) -> bool:
    return found.dcbx is None or found.dcbx & bits == bits


@contextlib.contextmanager
def _explained(netdev: str) -> Generator[None, None, None]:
    """Turn a refusal in the ``with`` block into a :class:`StepError`."""
    try:
        yield
    except OSError as error:
        raise _refused(netdev, error) from error


def _refused(netdev: str, error: OSError) -> StepError:
    words = cause(error)
    if error.errno == errno.EOPNOTSUPP:
        return StepError(f"{netdev} does not support this ({words})", NO_OPERATION)
    if error.errno == errno.EINVAL:
        return StepError(
            f"the driver of {netdev} refused: {words}",
            "see the kernel log; a common cause is that the firmware or lldpad controls DCBX; or leave the "
            "port out of option devices",
        )
    if error.errno in refusal.GONE:
        return StepError(f"{netdev} is gone ({words})", "see the kernel log for the NIC")
    return StepError(f"the kernel refused for {netdev}: {words}")
