# SPDX-License-Identifier: Apache-2.0
"""The exporter's metrics of a modelled host."""

import pytest
from exporter import facts
from exporter.catalogue import METRICS
from exporter.facts import Facts, Flows, PortFacts, Reboot
from hostnic.handover import AGENTS
from hostnic.netlink.measured import Health, Traffic
from hostnic.system import Link
from lab.modelled import FakeBond, FakeHost, hca
from lib.scrapes import PF, converged, exporter, scrape, tell
from prometheus_client import CollectorRegistry, generate_latest


def test_what_is_declared_stands_beside_what_is_there() -> None:
    host = converged()
    seen = scrape(exporter(host))
    assert seen["declared", PF, "vfs"] == seen["actual", PF, "vfs"] == 4
    assert (seen["actual", PF, "switchdev"], seen["actual", PF, "queues"]) == (1, 1)
    host.files.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "0")
    assert scrape(exporter(host))["actual", PF, "vfs"] == 0


def test_hooks_findings_come_with_their_age() -> None:
    host = converged()
    host.sleep(100)
    lock = Reboot(True, True, 2400, {"sriov-switchdev/3": int(host.now()) - 50}, 2)
    seen = scrape(exporter(host))
    assert seen["charm_look_age_seconds", "sriov-switchdev", "sriov-switchdev/3"] == pytest.approx(100, abs=1)
    assert seen["charm_findings", "sriov-switchdev", "blocked"] == 2
    tell(host, reboot=lock)
    seen = scrape(exporter(host))
    assert seen["maintenance", "sriov-switchdev"] == seen["reboot_needed", "sriov-switchdev"] == 1
    assert seen["reboot_lock_age_seconds", "sriov-switchdev", "sriov-switchdev/3"] == 50
    assert seen["reboot_queue", "sriov-switchdev"] == 2


def test_flows_and_connections_as_the_last_hook_has_counted_them() -> None:
    host = converged()
    tell(host, held=3, flows=Flows(40, 2, 200000, 17))
    seen = scrape(exporter(host))
    assert (seen["flows", "hardware"], seen["flows", "software"], seen["flows_limit",]) == (40, 2, 200000)
    assert seen["connections_offloaded",] == 17
    tell(host, flows=Flows(40, 2, 200000), held=2)
    assert ("connections_offloaded",) not in scrape(exporter(host))


def test_a_port_and_its_priorities() -> None:
    host = converged()
    port = host.port(PF)
    port.temperature = 61.5
    port.growth = {"rx_discards_phy": 2, "rx_global_pause_duration": 1e6, "tx_prio3_bytes": 1}
    port.reporters["fw"] = Health(False, 3, 2)
    seen = scrape(exporter(host))
    now = host.now()
    assert seen["port_received_discards_total", PF] == int(2 * now)
    assert seen["priority_pause_seconds_total", PF, "all", "received"] == pytest.approx(now, rel=0.01)
    assert seen["priority_discards_total", PF, "3"] == 0
    assert seen["port_module_temperature_celsius", PF] == 61.5
    assert (seen["port_carrier", PF], seen["port_lacp_partner", PF], seen["port_distributing", PF]) == (
        1,
        1,
        1,
    )
    assert seen["health_reporter_healthy", PF, "fw"] == 0
    assert seen["health_reporter_errors_total", PF, "fw"] == 3
    host.network.unplugged.add(PF)
    seen = scrape(exporter(host))
    assert (seen["port_carrier", PF], seen["port_distributing", PF]) == (0, 0)


def test_marks_of_a_priority_where_the_firmware_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    host = converged()
    assert ("priority_ecn_marked_total", PF, "3") not in scrape(exporter(host))
    read = host.ethtool.statistics
    monkeypatch.setattr(host.ethtool, "statistics", lambda link: {**read(link), "rx_prio3_marked": 7})
    assert scrape(exporter(host))["priority_ecn_marked_total", PF, "3"] == 7


def test_what_a_vf_sends_by_path_and_what_its_roce_suffers() -> None:
    host = converged()
    vf = host.port(PF).vfs[2]
    vf.growth = {"packets": 100, "bytes": 5000, "software_packets": 10, "software_bytes": 500}
    vf.growth |= {"vport_out_of_sequence": 1}
    seen = scrape(exporter(host))
    now = host.now()
    assert seen["vf_packets_total", PF, "2", "software"] == int(10 * now)
    assert seen["vf_packets_total", PF, "2", "hardware"] == int(100 * now) - int(10 * now)
    assert seen["vf_bytes_total", PF, "2", "software"] == int(500 * now)
    assert seen["vf_roce_out_of_sequence_total", PF, "2"] == int(now)
    assert seen["vf_roce_out_of_sequence_total", PF, "1"] == 0
    host.rdma.vports = False  # neither firmware nor kernel
    assert not [name for name in scrape(exporter(host)) if name[0].startswith("vf_roce")]


def test_what_passes_in_hardware_never_falls_though_the_driver_refreshes_the_total_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = converged()
    index = next(link.ifindex for link in host.links.all() if link.port_name == "pf0vf2")
    counted = [  # in all, and of it in software: 900 passed in hardware, then all in software, then a reload
        ((1000, 100), 900),
        ((1000, 150), 900),
        ((1050, 160), 900),
        ((1200, 160), 1040),
        ((30, 10), 20),
    ]
    found, seen = exporter(host), list[float]()
    for (packets, software), _ in counted:
        traffic = Traffic(packets, 9 * packets, software, 9 * software)
        monkeypatch.setattr(host.links, "traffic", lambda told=traffic: {index: told})
        series = scrape(found)
        seen.append(series["vf_packets_total", PF, "2", "hardware"])
        assert series["vf_bytes_total", PF, "2", "hardware"] == 9 * seen[-1]
        assert series["vf_packets_total", PF, "2", "software"] == software
    assert seen == [value for _, value in counted]


def test_memory_of_the_host() -> None:
    host = converged()
    pages = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB"
    for path, text in {
        f"{pages}/nr_hugepages": "64\n",
        f"{pages}/free_hugepages": "3\n",
        "/proc/sys/net/netfilter/nf_conntrack_count": "70\n",
        "/proc/sys/net/netfilter/nf_conntrack_max": "100\n",
    }.items():
        host.disk.install(path, text.encode(), 0o444)
    seen = scrape(exporter(host))
    assert (seen["huge_pages", "1", "1048576"], seen["huge_pages_free", "1", "1048576"]) == (64, 3)
    assert (seen["connections_tracked",], seen["connections_limit",]) == (70, 100)


def test_a_kernel_that_tracks_without_a_limit_has_none() -> None:
    host = converged()
    for name, text in ("count", "70\n"), ("max", "0\n"):
        host.disk.install(f"/proc/sys/net/netfilter/nf_conntrack_{name}", text.encode(), 0o444)
    seen = scrape(exporter(host))
    assert seen["connections_tracked",] == 70
    assert ("connections_limit",) not in seen


def test_a_transceiver_that_was_pulled_has_neither_temperature_nor_limit() -> None:
    """The driver keeps the sensor, which then shows 0: as hot as its limit, to OffloadModuleHot."""
    host = converged()
    host.port(PF).temperature = 0.0
    told = [series for series in scrape(exporter(host)) if series[0].startswith("port_module_temperature")]
    assert told == []


@pytest.mark.parametrize(
    ("now", "card", "slot", "limit"),
    [("8", "16", "16", 16), ("8", "16", "8", 8), ("16", "16", None, 16)],
    ids=["trained down", "a slot of eight lanes", "a slot that does not tell"],
)
def test_a_pcie_link_stands_beside_what_card_and_slot_can_do(
    now: str, card: str, slot: str | None, limit: int
) -> None:
    host, at = converged(), "/sys/bus/pci/devices/0000:3b:00.0"
    for path, text in {
        f"{at}/current_link_width": now,
        f"{at}/max_link_width": card,
        f"{at}/current_link_speed": "8.0 GT/s PCIe",
        f"{at}/max_link_speed": "16.0 GT/s PCIe",
        **({f"{at}/../max_link_width": slot} if slot else {}),
    }.items():
        host.disk.install(path, f"{text}\n".encode(), 0o444)
    seen = scrape(exporter(host))
    assert (seen["port_pci_lanes", PF], seen["port_pci_lanes_limit", PF]) == (int(now), limit)
    assert (seen["port_pci_gigatransfers", PF], seen["port_pci_gigatransfers_limit", PF]) == (8, 16)


@pytest.mark.parametrize(("text", "told"), [("100000", True), ("-1", False)], ids=["up", "without a link"])
def test_the_speed_of_a_link(text: str, told: bool) -> None:
    host = converged()
    host.disk.install(f"/sys/class/net/{PF}/speed", f"{text}\n".encode(), 0o444)
    assert scrape(exporter(host)).get(("port_speed_megabits", PF)) == (100000 if told else None)


def test_a_port_of_infiniband_in_a_bond_is_present() -> None:
    """nic-firmware sets parameters of such ports, too. Their bond has no LACP, and one port is a spare."""
    host = FakeHost([hca(lids=(4, 7))])
    netdevs = [port.netdev for port in host.network.ports()]
    host.network.bonds["bond9"] = FakeBond("bond9", "active-backup", members=netdevs)
    tell(host, ports=tuple(PortFacts(port.bdf, port.netdev, "bond9") for port in host.network.ports()))
    seen = scrape(exporter(host))
    for netdev in netdevs:
        assert (seen["port_present", netdev], seen["port_carrier", netdev]) == (1, 1)
        assert ("port_lacp_partner", netdev) not in seen


def test_the_units_of_the_machine_which_a_reboot_takes_away() -> None:
    host = converged()
    for agent in (
        "unit-sriov-switchdev-3",
        "unit-nova-compute-3",
        "unit-opentelemetry-collector-12",
        "machine-7",
    ):
        host.disk.install(f"{AGENTS}/{agent}/agent.conf", b"", 0o600)
    found = {series[1] for series in scrape(exporter(host)) if series[0] == "machine_unit"}
    assert found == {"sriov-switchdev/3", "nova-compute/3", "opentelemetry-collector/12"}


def test_only_declared_ports_have_series() -> None:
    host = converged()
    ports = (PortFacts("0000:3b:00.1", "enp59s0f1np1"),)
    facts.publish(host, Facts("sriov-switchdev", "sriov-switchdev/3", int(host.now()), ports=ports))
    assert not [series for series in scrape(exporter(host)) if PF in series]


def test_reads_only() -> None:
    host = converged()
    host.trace.clear()
    host.spawned.clear()
    scrape(exporter(host))
    assert (host.trace, host.spawned) == ([], [])


def test_a_scrape_asks_three_times_for_all_netdevs_however_many_ports_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, asked = converged(), 0
    every = host.links.all

    def count() -> list[Link]:
        nonlocal asked
        asked += 1
        return every()

    monkeypatch.setattr(host.links, "all", count)
    seen = scrape(exporter(host))
    assert (seen["actual", PF, "vf_lag"], seen["actual", "enp59s0f1np1", "vf_lag"]) == (1, 1)
    assert asked == 3


def test_every_series_is_in_the_catalogue_and_127_vfs_on_two_ports_stay_within_2500() -> None:
    host = converged(127)
    registry = CollectorRegistry()
    registry.register(exporter(host, deadline=60.0))
    text = generate_latest(registry).decode()
    series = [line for line in text.splitlines() if not line.startswith("#")]
    named = {line.partition("{")[0].partition(" ")[0] for line in series}
    assert named <= {metric.series for metric in METRICS.values()}
    of_vfs = [line for line in series if 'vf="' in line]
    assert len(of_vfs) == 2 * 127 * 8
    assert len(series) <= 2500


def test_what_says_nothing_new_is_written_again_only_when_it_is_old() -> None:
    host = FakeHost()
    host.trace.clear()
    assert facts.publish(host, Facts("roce-qos", "roce-qos/0", int(host.now())))
    host.sleep(facts.FRESH - 1)
    assert not facts.publish(host, Facts("roce-qos", "roce-qos/0", int(host.now())))
    host.sleep(1)
    assert facts.publish(host, Facts("roce-qos", "roce-qos/0", int(host.now())))
    assert facts.publish(host, Facts("roce-qos", "roce-qos/0", int(host.now()), held=1))
    assert host.disk.mode[facts.path_of("roce-qos")] == 0o644
    flows = Flows(1, 2, 3)
    assert not facts.publish(host, Facts("roce-qos", "roce-qos/0", int(host.now()), held=1, flows=flows))
