# SPDX-License-Identifier: Apache-2.0
"""The modelled host counts under the names of the virtual card, which are mlx5's."""

import re
from pathlib import Path

import pytest
from lab.modelled import FakeHost
from lab.modelled.states import converged

CARD = Path(__file__).parents[2] / "lab/card/stats.c"


def table(name: str) -> list[str]:
    """The strings of an array of the card's source."""
    (body,) = re.findall(rf"\b{name}\[\] = {{(.*?)}};", CARD.read_text(), re.DOTALL)
    return re.findall(r'"([^"]+)"', body)


@pytest.mark.parametrize(("pfc", "paused"), [((), ["global"]), ((3, 5), ["prio3", "prio5"])])
def test_a_port_counts_what_the_card_counts(pfc: tuple[int, ...], paused: list[str]) -> None:
    host = FakeHost()
    port = host.cards[0].ports[0]
    port.dcb.pfc, port.pause = pfc, not pfc
    assert sorted(host.ethtool.statistics(port.netdev)) == sorted(
        [
            *table("netdev_names")[:4],
            *table("fixed_names"),
            *(name.replace("%u", str(prio)) for prio in range(8) for name in table("traffic_names")),
            *(name.replace("%s", whose) for whose in paused for name in table("pause_names")),
            *table("module_names"),
        ]
    )


@pytest.mark.parametrize(("kernel", "with_roce"), [("6.1.0-56-amd64", False), ("6.12.63-amd64", True)])
def test_a_representor_counts_its_vfs_roce_since_linux_6_4(kernel: str, with_roce: bool) -> None:
    host = converged(FakeHost(kernel=kernel))
    (name,) = (link.name for link in host.links.all() if link.port_name == "pf0vf0")
    roce = [each for each in table("vport_names") if "rdma" in each]
    assert sorted(host.ethtool.statistics(name)) == sorted(table("netdev_names") + roce * with_roce)
