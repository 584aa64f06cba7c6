# SPDX-License-Identifier: Apache-2.0
"""No alert fires over what is no fault, on series of the real exporter over modelled hosts."""

from pathlib import Path
from typing import Any

import pytest
from hostnic.netlink.measured import Traffic
from lab.modelled import card

from cos import promtool
from cos.site import P0, P1, Site

RULES = promtool.injected()


def fired(site: Site, directory: Path, severities: str = "critical|warning") -> str:
    """Return promtool's words on the alerts that have fired in this time; nothing if there are none."""
    firing = f'ALERTS{{alertstate="firing",severity=~"{severities}"}}'
    query = f"sum by (alertname, juju_unit, port) (count_over_time({firing}[1d]))"
    case: dict[str, Any] = {
        "interval": "1m",
        "input_series": site.recorded(),
        "promql_expr_test": [{"expr": query, "eval_time": f"{site.minute - 1}m", "exp_samples": []}],
    }
    return promtool.test(RULES, [case], directory)


def test_a_healthy_hour(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch)
    site.run(70)
    names = {each["series"].partition("{")[0] for each in site.recorded()}
    assert len(names) > 40
    assert len(site.recorded()) > 400
    assert fired(site, tmp_path, "critical|warning|info") == ""


def test_a_rolling_reboot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch)
    site.run(10)
    site.configure(num_vfs=4)
    away = list[list[str]]()
    for _ in range(70):
        site.tick()
        away.append(site.away)
    assert {name for names in away for name in names} == {"node-0", "node-1"}
    assert max(map(len, away)) == 1
    assert [len(port.vfs) for host in site.hosts for port in host.machine.network.ports()] == [4] * 4
    assert fired(site, tmp_path) == ""


def test_hosts_that_wait_for_the_reboot_which_brings_more_vfs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = Site(monkeypatch, **{"num-vfs": 4})
    site.run(5)
    site.configure(num_vfs=8, reboot_policy="manual")
    site.run(60)
    assert [len(port.vfs) for host in site.hosts for port in host.machine.network.ports()] == [4] * 4
    assert fired(site, tmp_path) == ""


def test_a_refresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch)
    site.run(10)
    for host in site.hosts:
        site.emit(host, "upgrade_charm")
        site.emit(host, "config_changed")
        host.restarts = True
        site.tick()
    site.run(60)
    assert fired(site, tmp_path, "critical|warning|info") == ""


def test_a_link_that_is_down_for_five_seconds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch)
    site.run(10)
    machine = site.hosts[0].machine
    machine.network.flap(P0, machine.now(), time=5.0, begins=58.0)
    site.tick()
    down = promtool.series("port_carrier", "node-0", 0, port=P0)
    assert next(each["values"] for each in site.recorded() if each["series"] == down).endswith(" 0")
    site.run(60)
    assert fired(site, tmp_path, "critical|warning|info") == ""


def test_a_declared_port_that_nothing_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cards = lambda: [card("3b", total_vfs=8), card("5e", total_vfs=8)]  # noqa: E731
    site = Site(monkeypatch, 1, cards, devices=f"{P0}:8 {P1}:8 enp94s0f0np0:0 enp94s0f1np1:0")
    spare = [port.netdev for port in site.hosts[0].machine.cards[1].ports]
    site.hosts[0].machine.network.unplugged |= {*spare}
    site.run(70)
    for name in spare:
        unused = promtool.series("port_used", "node-0", 0, port=name)
        assert {
            value for each in site.recorded() if each["series"] == unused for value in each["values"].split()
        } == {"0"}
    assert fired(site, tmp_path, "critical|warning|info") == ""


def test_a_nic_that_nobody_declared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch, 1, lambda: [card("3b", total_vfs=8), card("5e", total_vfs=8)])
    foreign = site.hosts[0].machine.cards[1]
    for port in foreign.ports:
        port.silent = True
        port.growth |= {
            "rx_discards_phy": 10_000,
            "rx_crc_errors_phy": 50,
            "tx_global_pause_duration": 900_000,
        }
        site.hosts[0].machine.network.unplugged.add(port.netdev)
    site.run(70)
    names = {port.netdev for port in foreign.ports}
    assert not [each for each in site.recorded() for name in names if name in each["series"]]
    assert fired(site, tmp_path, "critical|warning|info") == ""


def test_the_same_check_sees_a_cable_that_is_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = Site(monkeypatch, 1)
    site.run(5)
    site.hosts[0].machine.network.unplugged.add(P0)
    site.run(15)
    said = fired(site, tmp_path)
    assert 'alertname="OffloadLinkDown"' in said
    assert f'port="{P0}"' in said


def test_the_same_check_sees_flows_in_software_though_the_driver_refreshes_totals_late(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Packets in software are counted at once. A billion packets have passed in hardware before."""
    site = Site(monkeypatch, 1)
    site.run(5)
    machine = site.hosts[0].machine
    machine.port(P0).vfs[0].growth |= {"packets": 40_000, "software_packets": 40_000}
    exact, late = machine.links.traffic, 0

    def traffic() -> dict[int, Traffic]:
        nonlocal late
        late = 30 - late
        return {
            index: seen._replace(packets=seen.packets + 10**9 - 40_000 * late)
            for index, seen in exact().items()
        }

    monkeypatch.setattr(machine.links, "traffic", traffic)
    site.run(40)
    assert 'alertname="OffloadFlowsInSoftware"' in fired(site, tmp_path)
