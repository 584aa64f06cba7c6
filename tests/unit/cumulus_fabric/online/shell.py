# SPDX-License-Identifier: Apache-2.0
"""The command line in front of simulated switches, at the addresses of its intent."""

import os
from pathlib import Path
from typing import Any

import pytest
from cli import __main__ as cli
from unit.cumulus_fabric.online.site import PASSWORD, USER, Rack
from unit.cumulus_fabric.online.unit import intent

NET = f"127.{64 + os.getpid() % 64}.{os.getpid() // 64 % 250}"
"""Addresses of this machine that no other run of these tests uses: all listen at NVUE's own port."""

ADDRESSES = {"Spine0": f"{NET}.1", "Leaf0-1": f"{NET}.11", "Leaf0-2": f"{NET}.12"}


def here(content: dict[str, Any]) -> None:
    content["spines"]["management"] = ADDRESSES["Spine0"]
    content["leaves"]["management"] = ADDRESSES["Leaf0-1"]


class Shell:
    """A directory with an intent and credentials, and the command line."""

    def __init__(self, directory: Path, ca: Path, rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self.ca, self.rack, self._capsys = directory, ca, rack, capsys
        (directory / "intent.yaml").write_text(intent(here))
        self.credentials = directory / "credentials"
        self.credentials.write_text(f"{USER}:{PASSWORD}\n")
        self.credentials.chmod(0o600)

    def __call__(self, verb: str, *arguments: str) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        common = ["--intent", str(self.directory / "intent.yaml"), "--credentials", str(self.credentials)]
        return self.alone(verb, *common, "--ca", str(self.ca), *arguments)

    def alone(self, *arguments: str) -> tuple[int, str, str]:
        """The same of a command without credentials."""
        status = cli.main(list(arguments), self.rack.clock)
        out, err = self._capsys.readouterr()
        assert PASSWORD not in out + err
        return status, out, err
