# SPDX-License-Identifier: Apache-2.0
"""A working directory, and a `juju` in PATH that keeps what it was told."""

import os

import pytest
from lab import vaultserver
from lab.juju import cli
from operate import private
from operate.__main__ import main
from operate.clouds import cloud
from vault import client as vault

UNITS = {
    "nova-compute": {
        "charm-name": "nova-compute",
        "units": {
            "nova-compute/0": {
                "subordinates": {"sriov-switchdev/1": {}, "nic-firmware/0": {}, "ovn-chassis/0": {}}
            },
            "nova-compute/1": {"subordinates": {"sriov-switchdev/0": {}, "nic-firmware/10": {}}},
        },
    },
    "sriov-switchdev": {"charm-name": "sriov-switchdev", "subordinate-to": ["nova-compute"]},
    "nic-firmware": {"charm-name": "nic-firmware", "subordinate-to": ["nova-compute"]},
    "roce-qos": {"charm-name": "roce-qos", "subordinate-to": ["nova-compute"]},
    "ovn-chassis": {"charm-name": "ovn-chassis", "subordinate-to": ["nova-compute"]},
    "cumulus-fabric": {"charm-name": "cumulus-fabric", "units": {"cumulus-fabric/0": {"machine": "2/lxd/0"}}},
    "vault": {"charm-name": "vault", "units": {"vault/0": {"public-address": "127.0.0.1"}}},
}
MODEL = {"spaces": {}, "status": {"applications": UNITS}, "secrets": {}, "grants": [], "config": {}}


class World:
    """The working directory, the state of the client, and a command with its output."""

    def __init__(self, folder, home, capsys):
        self.folder, self.capsys = folder, capsys
        self.snap = home / "snap/juju/common"
        self.snap.mkdir(parents=True)
        self.path = cli.install(folder / "bin", models={"maas-controller:openstack": MODEL})
        self.change(current="maas-controller:openstack")

    def change(self, **known):
        self.path.write_text(cli.json.dumps({**self.state, **known}))

    @property
    def state(self):
        return cli.state(self.path)

    @property
    def model(self):
        return self.state["models"]["maas-controller:openstack"]

    def private(self, name, text, mode=0o600):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(mode)
        return name

    def run(self, main, *words, expected=0):
        """Return the command's output; its argv and Juju's never hold a secret, and no file of it stays."""
        status = main(list(words))
        said = self.capsys.readouterr()
        assert status == expected, said
        assert list(self.snap.iterdir()) == []
        return said.out + said.err


@pytest.fixture
def world(tmp_path, tmp_path_factory, monkeypatch, capsys):
    home = tmp_path_factory.mktemp("home")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    return World(tmp_path, home, capsys)


@pytest.fixture
def adopt(world):
    """Runs the command `adopt` on one of the clouds of adopt.yaml, as a user who may only read it."""

    def run(name, *words, expected=0, version="3.6.9"):
        world.change(models={"maas-controller:openstack": cloud(name, version)}, access="read")
        return world.run(main, "adopt", *words, expected=expected)

    return run


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests(monkeypatch):
    """A secret of one test may be a word that another one reads."""
    monkeypatch.setattr(private, "_kept", set())


@pytest.fixture
def server(monkeypatch):
    """A new Vault, where the command looks for one."""
    with vaultserver.serving() as server:
        monkeypatch.setattr(vault, "PORT", server.server_port)
        yield server
