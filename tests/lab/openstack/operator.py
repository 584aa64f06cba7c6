# SPDX-License-Identifier: Apache-2.0
"""The acceptance tool as an operator runs it: their files, and a simulated OpenStack with its machines."""

import contextlib
import io
import json
import logging

import pytest
import yaml
from acceptance.__main__ import Around, main
from acceptance.cloud import connect
from acceptance.measure.ladder import RUNGS

from lab.openstack.http import OpenStack
from lab.openstack.machines import Machines

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcceptance"
NODES = ["node1.maas", "node2.maas"]
SECRET = "not-a-secret"
"""Keystone's password."""


def one_sentence(err):
    """The only line on standard error, without a traceback or a secret."""
    assert "Traceback" not in err
    assert SECRET not in err
    (line,) = err.splitlines()
    return line


class Clock:
    """Time that passes only in sleep()."""

    def __init__(self):
        self.now, self.naps = 0.0, []

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.now += seconds


class World:
    """A cloud, its machines, and the operator's files; `site` is the site file, `rungs` the ladder."""

    def __init__(self, openstack, folder):
        self.openstack, self.folder = openstack, folder
        self.machines, self.clock = Machines(openstack, folder / "machines"), Clock()
        self.clouds, self.state = folder / "clouds.yaml", folder / "state/ovn-offload/acceptance/rdg"
        self.site = {
            "nodes": NODES,
            "public-key": str(folder / "id.pub"),
            "image-file": str(folder / "jammy.img"),
        }
        (folder / "id.pub").write_text(f"{KEY} operator@here\n")
        (folder / "jammy.img").write_bytes(b"QFI\xfb" * 64)
        self.rungs = {rung.key: rung.measures for rung in RUNGS}
        self.credentials(password=openstack.keystone.password)

    def credentials(self, user="admin", **auth):
        """clouds.yaml with one cloud."""
        auth = {"project_name": "admin", "project_domain_name": "admin_domain", **auth}
        auth = {"auth_url": f"{self.openstack.url}/identity/v3", **auth}
        auth = {key: value for key, value in auth.items() if value is not None}
        if "password" in auth:
            auth |= {"username": user, "user_domain_name": "admin_domain"}
        entry = {"auth": auth, "region_name": "RegionOne"}
        if "token" in auth:
            entry["auth_type"] = "v3token"
        self.clouds.write_text(yaml.safe_dump({"clouds": {"rdg": entry}}))

    def typed(self, *words):
        """Exit status, standard output and standard error of the tool with these arguments."""
        connections = []

        def connecting(name, cacert):
            connections.append(connect(name, cacert))
            return connections[-1]

        rungs = tuple(
            rung._replace(measures=self.rungs[rung.key]) for rung in RUNGS if rung.key in self.rungs
        )
        around = Around(connecting, self.machines, self.clock, rungs)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _logging_as_in_a_shell():
            status = main([*words], around)
        for connection in connections:
            connection.close()
        return status, out.getvalue(), err.getvalue()

    def run(self, verb, *options, cloud="rdg"):
        """The same for a verb, with the site file."""
        path = self.folder / "site.yaml"
        path.write_text(yaml.safe_dump(self.site))
        return self.typed(verb, "--cloud", cloud, "--site", str(path), *options)

    def run_in_pieces(self, verb, writes, lost, most):
        """Run a verb until it is done; how many runs that takes.

        Each run breaks off at that write, which may have been done if its answer is ``lost``.
        """
        for runs in range(1, most):
            self.openstack.breaks, self.openstack.loses = writes, lost
            if self.run(verb)[0] == 0:
                self.openstack.breaks = None
                return runs
        raise AssertionError(f"{verb} makes no progress")

    def result(self):
        """The last measurement, as `report --json` prints it."""
        return json.loads(self.run("report", "--json")[1])

    def writes(self):
        """Return the changes that the cloud was asked for since the last call."""
        found, self.openstack.writes[:] = list(self.openstack.writes), []
        return found


@contextlib.contextmanager
def _logging_as_in_a_shell():
    """Without pytest's handlers: what libraries warn of goes to standard error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger(), "handlers", [])
        yield


@contextlib.contextmanager
def world_in(folder, release, neutron=None):
    """A world whose files are in this folder, with a simulated Neutron or the given one."""
    with pytest.MonkeyPatch.context() as patch, OpenStack(release, neutron) as openstack:
        patch.setenv("OS_CLIENT_CONFIG_FILE", str(folder / "clouds.yaml"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.chdir(folder)
        yield World(openstack, folder)
