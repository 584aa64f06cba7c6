# SPDX-License-Identifier: Apache-2.0
"""A guest is no place to start from if networkd leaves a port of netplan's files alone."""

import os
import subprocess
from pathlib import Path

from lab.guest import LEFT_ALONE

LIST = """  1 lo           loopback carrier   unmanaged
  2 enp59s0f0np0 ether    off       {}
  3 enp59s0f1np1 ether    enslaved  configured
  4 w0           ether    degraded  unmanaged
"""
"""As `networkctl list --no-legend` of systemd 249 prints it; w0 is no port of netplan's."""


def left_alone(tmp_path: Path, setup: str) -> str:
    tool = tmp_path / "networkctl"
    tool.write_text(f"#!/bin/sh\nprintf '{LIST.format(setup)}'\n")
    tool.chmod(0o755)
    for name in ("enp59s0f0np0", "enp59s0f1np1"):
        (tmp_path / f"10-netplan-{name}.network").touch()
    script = LEFT_ALONE.replace("/run/systemd/network", str(tmp_path))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", "-c", script], env=environment, text=True, capture_output=True, check=True
    ).stdout


def test_a_port_of_netplan_that_is_unmanaged_is_named(tmp_path: Path) -> None:
    assert left_alone(tmp_path, "unmanaged") == "enp59s0f0np0\n"


def test_one_that_is_configured_is_not(tmp_path: Path) -> None:
    assert left_alone(tmp_path, "configured") == ""
