# SPDX-License-Identifier: Apache-2.0
"""Servers that an administrator has Nova move to other hosts: live, or cold with a confirmation.

Source: nova/api/openstack/compute/{migrate_server,servers,migrations}.py and nova/compute/api.py of 2024.1.
"""

from lab.openstack.answer import Answer, RefusedError

USER = "a" * 32
_STATES = {"ACTIVE": "active", "PAUSED": "paused", "SHUTOFF": "stopped", "VERIFY_RESIZE": "resized"}
_LIVE, _COLD = ("active", "paused"), ("active", "stopped")


class Moving:
    """The migrations of one Nova.

    `full` hosts take no server. `looks` is how often a server is seen on its way, `ending` how often while
    its confirmed move ends. `begun` has each server that was asked to move, in order and with how it moves;
    `confirmed` has those whose move was confirmed.
    """

    def __init__(self, nova):
        self.nova, self.migrations, self.full = nova, [], set()
        self.looks = self.ending = 1
        self.begun, self.confirmed = [], []

    def act(self, server, content):
        """One of the actions of a server."""
        (action,) = content
        handler = {"os-migrateLive": self._live, "migrate": self._cold, "confirmResize": self._confirm}
        handler[action](server, action)

    def advance(self, server):
        """Do Nova's next piece of work when a server is looked at once more."""
        way = server.get("way")
        if way is None:
            return
        way["looks"] -= 1
        if way["looks"] >= 0:
            return
        server["OS-EXT-STS:task_state"] = None
        migration = way["migration"]
        del server["way"]
        if way["to"] is None:
            migration["status"] = "error"
            return
        if migration["status"] == "confirming":
            server["status"], migration["status"] = "ACTIVE", "confirmed"
            return
        server["OS-EXT-SRV-ATTR:host"] = server["OS-EXT-SRV-ATTR:hypervisor_hostname"] = way["to"]
        migration["status"] = "finished" if way["cold"] else "completed"
        server["status"] = "VERIFY_RESIZE" if way["cold"] else server["status"]

    def _live(self, server, action):
        self._require(server, action, _LIVE)
        if (to := self._free(server)) is None:
            raise _refusal(
                400, "badRequest", "No valid host was found. There are not enough hosts available."
            )
        self._begin(server, to, cold=False)

    def _cold(self, server, action):
        """The scheduler is asked later: nothing but the server's events says that it found no host."""
        self._require(server, action, _COLD)
        self._begin(server, self._free(server), cold=True)

    def _confirm(self, server, action):
        """The old host ends it later. Meanwhile only the migration tells: the server has no task."""
        self._require(server, action, ("resized",))
        found = [each for each in self.migrations if each["instance_uuid"] == server["id"]]
        finished = [each for each in found if each["status"] == "finished"]
        if not finished:
            message = "Instance has not been resized."
            raise _refusal(400, "badRequest", message)
        self.confirmed.append(server["name"])
        finished[-1]["status"] = "confirming"
        server["way"] = {
            **{"to": finished[-1]["dest_compute"], "cold": True},
            **{"looks": self.ending, "migration": finished[-1]},
        }

    def _require(self, server, action, states):
        state = _STATES.get(server["status"], server["status"].lower())
        if server.get("OS-EXT-STS:task_state"):
            raise _conflict(action, server, f"task_state {server['OS-EXT-STS:task_state']}")
        if state not in states:
            raise _conflict(action, server, f"vm_state {state}")

    def _free(self, server):
        nova = self.nova
        out = {server["OS-EXT-SRV-ATTR:host"], *self.full, *nova.down, *nova.disabled}
        if any(nova.neutron.port(each)["binding:vnic_type"] == "direct" for each in server["ports"]):
            out |= nova.without_vfs
        return min((host for host in nova.hosts if host not in out), default=None)

    def _begin(self, server, to, *, cold):
        self.begun.append((server["name"], "cold" if cold else "live"))
        server["OS-EXT-STS:task_state"] = "resize_prep" if cold else "migrating"
        migration = {
            "id": len(self.migrations) + 1,
            "uuid": f"migration-{len(self.migrations) + 1}",
            "instance_uuid": server["id"],
            "source_compute": server["OS-EXT-SRV-ATTR:host"],
            "dest_compute": to,
            "migration_type": "migration" if cold else "live-migration",
            "status": "migrating",
            "user_id": USER,
            "project_id": server["tenant_id"],
        }
        self.migrations.append(migration)
        server["way"] = {"to": to, "cold": cold, "looks": self.looks, "migration": migration}


def _refusal(status, key, message):
    return RefusedError(Answer(status, {key: {"code": status, "message": message}}))


def _conflict(action, server, state):
    message = f"Cannot '{action}' instance {server['id']} while it is in {state}"
    return _refusal(409, "conflictingRequest", message)
