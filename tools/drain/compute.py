# SPDX-License-Identifier: Apache-2.0
"""A compute host as Nova has it: its service, the instances on it, and the calls that empty it.

Source: nova's API reference (compute services, servers, server actions, migrations), 2.53 to 2.96.
"""

from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

from acceptance.asking import asking
from acceptance.cloud import Clock
from acceptance.kinds import Object
from converge import StepError
from openstack.exceptions import NotFoundException

MARK, KEPT = "ovn-offload: emptied for a reboot", "ovn-offload: kept empty"
"""How the reason of a disabled service begins if this tool disabled it; it enables no other."""
VFS = ("direct", "direct-physical", "macvtap", "vdpa", "remote-managed", "accelerator-direct")
"""Types of ports (binding:vnic_type) that hold a device of their host, so that the instance is moved cold."""
RUNS = ("ACTIVE", "PAUSED", "REBOOT", "HARD_REBOOT", "PASSWORD", "RESCUE", "MIGRATING", "RESIZE")
"""States of an instance whose memory a reboot of its host would lose."""
_ALIAS = "pci_passthrough:alias"
_LONGER = 4 * 3600.0
"""Seconds after which a migration is left to itself: a large one takes an hour over 25 Gb/s."""
_EVERY = 5.0


class Guest(NamedTuple):
    """An instance that runs on the host."""

    number: str  # its id
    name: str
    project: str  # the id of the project that owns it
    cold: bool  # it has a device of the host: it is stopped, and starts on another host
    stays: str = ""  # why it cannot be moved; empty if it can
    moves: bool = False  # its move, or the end of one, has begun: by an interrupted run or somebody else


class Service(NamedTuple):
    """The service nova-compute of a host."""

    number: str
    host: str  # as Nova calls it, `node1.maas`
    zone: str
    enabled: bool
    up: bool
    reason: str  # why it is disabled, in the words of whoever did it

    @property
    def ours(self) -> bool:
        """This tool disabled it."""
        return not self.enabled and self.reason.startswith((MARK, KEPT))

    @property
    def kept(self) -> bool:
        """An operator had this tool empty the host for other work."""
        return not self.enabled and self.reason.startswith(KEPT)


class Compute:
    """Nova and Neutron of a cloud, as an administrator sees them."""

    def __init__(self, connection: Any, clock: Clock, wait: float = _LONGER) -> None:
        self._nova, self._neutron = connection.compute, connection.network
        self._user = connection.current_user_id
        self._clock, self._wait = clock, wait

    def services(self) -> list[Service]:
        """Every host's. Raises StepError if the cloud does not say."""
        with asking("the list of compute services"):
            return [
                Service(
                    str(each.id),
                    each.host,
                    each.availability_zone or "",
                    each.status == "enabled",
                    each.state == "up",
                    each.disabled_reason or "",
                )
                for each in self._nova.services(binary="nova-compute")
            ]

    def guests(self, host: str) -> list[Guest]:
        """The instances of all projects that run on a host, by name."""
        with asking("the list of instances"):
            listed = self._nova.servers(all_projects=True, compute_host=host)
            servers: list[Object] = [each.to_dict() for each in listed]
        if not any(each["status"] in RUNS for each in servers):
            return []
        with asking("the list of ports"):
            ports = self._neutron.ports(**{"binding:host_id": host})
            with_vf = {each.device_id for each in ports if each.binding_vnic_type in VFS}
        found = [_guest(each, with_vf) for each in servers if each["status"] in (*RUNS, "VERIFY_RESIZE")]
        return sorted(found, key=lambda each: (each.name, each.number))

    def unconfirmed(self, host: str) -> list[Guest]:
        """Instances that this user moved away cold, and whose move is not confirmed yet.

        The host itself ends a confirmation, so that it has to be there until then. Other people's resizes are
        theirs to confirm or to revert.
        """
        mine: dict[str, bool] = {}
        with asking("the list of migrations"):
            for status in ("finished", "confirming"):
                found = self._nova.migrations(source_compute=host, status=status, migration_type="migration")
                mine |= {
                    each.server_id: status == "confirming" for each in found if each.user_id == self._user
                }
        kept = [server for number in sorted(mine) if (server := self._server(number))]
        waiting = [each for each in kept if each["status"] == "VERIFY_RESIZE"]
        return [_guest(each, {*mine})._replace(moves=mine[each["id"]]) for each in waiting]

    def disable(self, service: Service, mark: str) -> None:
        """Have Nova place no new instance on the host; read back."""
        reason = f"{mark}, {date.fromtimestamp(self._clock.time()).isoformat()}"
        with asking():
            self._nova.update_service(service.number, status="disabled", disabled_reason=reason)
        self._read_back(service, enabled=False)

    def enable(self, service: Service) -> None:
        """Have Nova place instances on the host again; read back."""
        with asking():
            self._nova.update_service(service.number, status="enabled")
        self._read_back(service, enabled=True)

    def _read_back(self, service: Service, *, enabled: bool) -> None:
        now = next((each for each in self.services() if each.number == service.number), None)
        if now is None or now.enabled != enabled:
            raise StepError(
                f"Nova's service on {service.host} is still {'disabled' if enabled else 'enabled'}"
            )

    def move(self, guest: Guest, host: str) -> None:
        """Move an instance away from a host, and wait until it is elsewhere.

        Raises StepError if Nova refuses, leaves it there, or takes longer than the limit.
        """
        with asking():
            if guest.cold and not guest.moves:
                self._nova.migrate_server(guest.number)
            elif not guest.moves:
                self._nova.live_migrate_server(guest.number, host=None, force=False, block_migration="auto")
        now = self._settled(guest, lambda each: each["compute_host"] != host)
        if now and now["status"] == "VERIFY_RESIZE":
            mine = {each.number: each for each in self.unconfirmed(host)}
            if guest.number in mine:
                self.confirm(mine[guest.number])

    def confirm(self, guest: Guest) -> None:
        """Confirm a cold move, which frees what the instance had on its old host."""
        if not guest.moves:
            with asking():
                self._nova.confirm_server_resize(guest.number)
        self._settled(guest, lambda each: each["status"] != "VERIFY_RESIZE", "confirming the move")

    def _settled(self, guest: Guest, moved: Callable[[Object], bool], untold: str = "") -> Object | None:
        """The instance once Nova has ended its task; None if its owner deleted it meanwhile.

        Args:
            guest: the instance.
            moved: whether Nova has done what it was asked for.
            untold: the task that Nova has without telling it; without it, one that has no task is at rest.

        """
        end = self._clock.time() + self._wait
        while now := self._server(guest.number):
            told, status = now["task_state"], now["status"]
            if not told and status == "ERROR":
                fault: Object = now["fault"] or {"message": "it gives no reason"}
                words = str(fault["message"]).rstrip(".")
                raise StepError(f"{guest.name} is in ERROR: {words}", _events(guest))
            if not told and moved(now):
                return now
            task = told or untold
            if not task:
                raise StepError(f"Nova left {guest.name} where it was", _events(guest))
            if self._clock.time() >= end:
                why = f"{guest.name} is still at {task} after {self._wait / 60:.0f} min"
                raise StepError(why, "it goes on; run this again later")
            self._clock.sleep(_EVERY)
        return None

    def _server(self, number: str) -> Object | None:
        with asking("an instance"):
            try:
                return self._nova.get_server(number).to_dict()
            except NotFoundException:
                return None


def _events(guest: Guest) -> str:
    return f"see: openstack server event list {guest.number}"


def _guest(server: Object, with_vf: set[str]) -> Guest:
    flavor: Object = server["flavor"] or {}
    cold = server["id"] in with_vf or _ALIAS in (flavor.get("extra_specs") or {})
    moves = str(server["task_state"] or "").startswith(("migrating", "resize_"))
    stays = "" if moves else _stays(server)
    return Guest(server["id"], server["name"], server["project_id"], cold, stays, moves)


def _stays(server: Object) -> str:
    """Why Nova does not move this instance now; empty if it can."""
    if server["task_state"]:
        return f"Nova is at it: {server['task_state']}"
    if server["status"] == "VERIFY_RESIZE":
        return "its owner has to confirm or revert a resize"
    return "" if server["status"] in ("ACTIVE", "PAUSED") else f"its state is {server['status']}"
