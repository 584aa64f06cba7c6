# SPDX-License-Identifier: Apache-2.0
"""The workload version is the driver of the ports that the charm keeps, and the kernel."""

import pytest
from unit.roce_qos.node import Node, compute_node


@pytest.mark.parametrize("driver", ["mlx5_core", "ice"])
def test_the_version_is_the_driver_and_the_kernel(
    monkeypatch: pytest.MonkeyPatch, versions: list[str], driver: str
) -> None:
    node = Node(compute_node(driver), monkeypatch)
    node.deploy()
    node.emit("update_status")
    assert versions == [f"{driver}, kernel 6.8.0-45-generic"]
