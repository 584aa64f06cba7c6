# SPDX-License-Identifier: Apache-2.0
"""The exporter on a modelled host, and as a real process that is scraped over HTTP."""

import errno
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from exporter import facts, install, main, workers
from exporter.catalogue import METRICS
from exporter.facts import Facts, Flows, Port, Reboot
from exporter.main import Exporter
from hostnic.boot import bootcopy, units
from hostnic.handover import AGENTS
from hostnic.netlink.measured import Health, Traffic
from hostnic.system import Link, System
from hostnic.testing import FakeBond, FakeHost, card, hca
from prometheus_client import CollectorRegistry, generate_latest
from vfs import in_switchdev

PF = "enp59s0f0np0"
DECLARED = {"vfs": 4, "switchdev": 1, "hw_tc_offload": 1, "queues": 8, "vf_lag": 1}


def converged(vfs: int = 4) -> FakeHost:
    """A host in switchdev mode, and what a hook has written."""
    host = FakeHost([card("3b", total_vfs=vfs)])
    host.cards[0].rdma = True
    in_switchdev(host, vfs)
    tell(host)
    return host


def tell(host: FakeHost, **more: Any) -> None:
    ports = tuple(
        Port(port.bdf, port.netdev, "bond0", True, DECLARED, {"vf_lag": 1}) for port in host.network.ports()
    )
    given = {"findings": {"blocked": 2}, "held": 1, "ports": ports, **more}
    facts.publish(host, Facts("sriov-switchdev", "sriov-switchdev/3", int(host.now()), **given))


def exporter(host: FakeHost, deadline: float = 5.0, machine: Callable[[], System] | None = None) -> Exporter:
    return Exporter(machine or (lambda: host), deadline)


Series = Mapping[tuple[str, ...], float]


def scrape(found: Exporter) -> dict[tuple[str, ...], float]:
    """Values by the series' name, without its prefix, and its labels' values."""
    return {
        (sample.name.removeprefix("ovn_offload_"), *sample.labels.values()): sample.value
        for family in found.collect()
        for sample in family.samples
    }


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


def test_a_port_of_infiniband_in_a_bond_is_present() -> None:
    """nic-firmware sets parameters of such ports, too. Their bond has no LACP, and one port is a spare."""
    host = FakeHost([hca(lids=(4, 7))])
    netdevs = [port.netdev for port in host.network.ports()]
    host.network.bonds["bond9"] = FakeBond("bond9", "active-backup", members=netdevs)
    tell(host, ports=tuple(Port(port.bdf, port.netdev, "bond9") for port in host.network.ports()))
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


def test_a_nic_that_goes_and_comes_is_survived() -> None:
    host = converged()
    found = exporter(host)
    assert scrape(found)["source_up", f"counters {PF}"] == 1
    host.port(PF).gone = True
    seen = scrape(found)
    assert (seen["port_present", PF], seen["source_up", f"counters {PF}"]) == (0, 0)
    assert ("port_received_discards_total", PF) not in seen
    assert seen["port_present", "enp59s0f1np1"] == 1
    host.port(PF).gone = False
    assert scrape(found)["source_up", f"counters {PF}"] == 1


def test_firmware_that_answers_nothing_is_told_although_the_link_is_up() -> None:
    host = converged()
    host.port(PF).silent = True
    seen = scrape(exporter(host))
    assert (seen["firmware_answers", PF], seen["port_carrier", PF]) == (0, 1)
    assert seen["firmware_answers", "enp59s0f1np1"] == 1


def test_a_driver_without_devlink_is_no_silent_firmware() -> None:
    host = converged()
    for port in host.network.ports():
        port.driver = "ixgbe"
    tell(host, ports=tuple(Port(port.bdf, port.netdev) for port in host.network.ports()))
    seen = scrape(exporter(host))
    assert ("firmware_answers", PF) not in seen
    assert {series: up for series, up in seen.items() if series[0] == "source_up" and not up} == {}


def test_a_kernel_without_devlink_has_no_silent_firmware(monkeypatch: pytest.MonkeyPatch) -> None:
    host = converged()

    def no_family(*_: object) -> object:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

    for call in "info", "health":
        monkeypatch.setattr(host.devlink, call, no_family)
    seen = scrape(exporter(host))
    assert ("firmware_answers", PF) not in seen
    assert seen["source_up", f"health {PF}"] == seen["source_up", f"firmware {PF}"] == 1


@pytest.mark.parametrize(
    "error", [KeyError, ValueError], ids=["a fault of its own", "a text that is no text"]
)
def test_a_fault_of_the_exporter_is_told_as_such_and_ends_no_source(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = converged()
    info, found = host.devlink.info, exporter(host)

    def fails(bdf: str) -> object:
        raise error(bdf)

    monkeypatch.setattr(host.devlink, "info", fails)
    seen = scrape(found)
    assert seen["source_up", f"firmware {PF}"] == 0
    assert ("firmware_answers", PF) not in seen
    assert f"{error.__name__}: " in capsys.readouterr().err
    monkeypatch.setattr(host.devlink, "info", info)
    assert scrape(found)["firmware_answers", PF] == 1


def test_a_read_that_hangs_holds_up_nothing_and_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    host = converged()
    released = threading.Event()
    hang = threading.Event()
    read = host.ethtool.statistics

    def statistics(link: str) -> Mapping[str, int]:
        if link == PF and hang.is_set():
            released.wait(20)
        return read(link)

    monkeypatch.setattr(host.ethtool, "statistics", statistics)
    found = exporter(host, deadline=0.5)
    before = scrape(found)
    hang.set()
    for _ in range(2):
        began = time.monotonic()
        seen = scrape(found)
        assert time.monotonic() - began < 2
        assert seen["source_up", f"counters {PF}"] == 0
        assert seen["source_up", "counters enp59s0f1np1"] == 1
    age = seen["source_age_seconds", f"counters {PF}"]
    assert age >= 0.5
    assert seen["port_crc_errors_total", PF] == before["port_crc_errors_total", PF]
    asked = threading.active_count()
    scrape(found)
    assert threading.active_count() == asked  # no second thread for what hangs
    hang.clear()
    released.set()
    time.sleep(0.2)
    assert scrape(found)["source_up", f"counters {PF}"] == 1


def hanging(host: FakeHost, monkeypatch: pytest.MonkeyPatch, door: str, call: str) -> threading.Event:
    """Have a call about the first port wait until the event that is returned is set."""
    released, read = threading.Event(), getattr(getattr(host, door), call)
    about = {PF, host.port(PF).bdf}

    def waits(what: str) -> object:
        if what in about:
            released.wait(20)
        return read(what)

    monkeypatch.setattr(getattr(host, door), call, waits)
    return released


def test_a_read_that_hangs_from_the_first_scrape_on_grows_old_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a refresh or a boot while the driver hangs: OffloadSourceSilent asks for the age alone."""
    host = converged()
    released = hanging(host, monkeypatch, "ethtool", "statistics")
    found = exporter(host, deadline=0.2)
    ages = [scrape(found)["source_age_seconds", f"counters {PF}"] for _ in range(2)]
    released.set()
    assert 0.2 <= ages[0] < ages[1]


def test_a_late_answer_of_the_firmware_is_no_silence_but_one_that_never_comes_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a host whose processors are busy all of a scrape is slow; OffloadFirmwareSilent is critical."""
    host = converged()
    found = exporter(host)
    assert scrape(found)["firmware_answers", PF] == 1
    released = hanging(host, monkeypatch, "devlink", "info")
    slow = exporter(host, deadline=0.2)
    assert ("firmware_answers", PF) not in scrape(slow)
    assert scrape(slow)["firmware_answers", PF] == 0
    released.set()
    assert slow_until(slow, lambda seen: seen["firmware_answers", PF] == 1)
    released.clear()
    late = scrape(slow)
    assert (late["firmware_answers", PF], late["source_up", f"firmware {PF}"]) == (1, 0)
    assert scrape(slow)["firmware_answers", PF] == 0
    released.set()


def slow_until(found: Exporter, holds: Callable[[Mapping[tuple[str, ...], float]], bool]) -> bool:
    """Whether something comes to hold in a few scrapes."""
    return any(holds(scrape(found)) for _ in range(50))


def test_a_port_without_a_netdev_is_no_read_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel answers at once that there is none; OffloadPortGone says so, and only for a port in use."""
    now = 0.0
    monkeypatch.setattr(workers, "monotonic", lambda: now)
    host = converged()
    found = exporter(host)
    scrape(found)
    host.port(PF).gone = True
    now = 900.0
    seen = scrape(found)
    assert seen["port_present", PF] == 0
    assert {series: age for series, age in seen.items() if series[0] == "source_age_seconds" and age} == {}


def test_only_declared_ports_have_series() -> None:
    host = converged()
    ports = (Port("0000:3b:00.1", "enp59s0f1np1"),)
    facts.publish(host, Facts("sriov-switchdev", "sriov-switchdev/3", int(host.now()), ports=ports))
    assert not [series for series in scrape(exporter(host)) if PF in series]


def test_facts_that_others_could_have_written_are_left_out_and_named() -> None:
    host = converged()
    host.disk.give(facts.path_of("sriov-switchdev"), 1000)
    seen = scrape(exporter(host))
    assert ("charm_findings", "sriov-switchdev", "blocked") not in seen
    assert seen["source_up", "facts sriov-switchdev"] == 0
    tell(host)
    seen = scrape(exporter(host))
    assert ("charm_findings", "sriov-switchdev", "blocked") in seen, "its charm replaces the file"
    assert ("source_up", "facts sriov-switchdev") not in seen


def test_a_unit_that_juju_has_removed_without_its_stop_hook_is_told_of_no_more() -> None:
    host = converged()
    host.disk.install(f"{AGENTS}/unit-sriov-switchdev-3/agent.conf", b"", 0o600)
    facts.publish(host, Facts("roce-qos", "roce-qos/3", int(host.now()), {"blocked": 1}))
    seen = scrape(exporter(host))
    assert ("charm_look_age_seconds", "sriov-switchdev", "sriov-switchdev/3") in seen
    assert not [series for series in seen if "roce-qos" in series]


def test_a_charm_whose_agent_has_not_come_back_since_the_boot_is_silent_since_then() -> None:
    host = FakeHost()
    install.install(host, "roce-qos")
    install.install(host, "nic-firmware")
    host.disk.install(f"{AGENTS}/unit-roce-qos-3/agent.conf", b"", 0o600)
    host.disk.install(f"{AGENTS}/unit-sriov-switchdev-3/agent.conf", b"", 0o600)
    install.install(host, "sriov-switchdev")
    newer = b'{"version": 2}'  # of a revision that this exporter does not know
    host.disk.install(facts.path_of("sriov-switchdev"), newer, 0o644)
    host.sleep(4000)
    ages = {series[1:]: age for series, age in scrape(exporter(host)).items() if "age_seconds" in series[0]}
    assert ages == {("roce-qos", "roce-qos/3"): pytest.approx(host.now(), abs=1)}


def test_a_damaged_file_of_a_hook_stops_nothing() -> None:
    host = converged()
    host.disk.install(facts.path_of("roce-qos"), b'{"version": 1, "at": []', 0o644)
    seen = scrape(exporter(host))
    assert seen["port_present", PF] == 1
    assert not [series for series in seen if "roce-qos" in series]


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
    registry.register(exporter(host))
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


CODE = """
import sys
from exporter import main, facts, catalogue
from hostnic.testing import FakeHost
host = FakeHost()
facts.publish(host, facts.Facts("roce-qos", "roce-qos/0", int(host.now())))
catalogue.PORT = main.PORT = int(sys.argv[1])
main.main(sys.argv[2:], lambda: host)
"""


def served_at(address: str, port: str) -> str:
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


@contextmanager
def process(port: str, *more: str, code: str = CODE) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A real exporter that serves, and what it prints from then on."""
    command = [sys.executable, "-c", code, port, *more]
    library = Path(main.__file__).parents[1]
    with subprocess.Popen(command, cwd=library, stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            addresses = ", ".join(("127.0.0.1", *more))
            assert served.stdout.readline() == f"serving on {addresses} port {port}\n"
            yield served, served.stdout
        finally:
            served.kill()


def test_a_real_process_answers_a_real_scrape_on_loopback() -> None:
    port = "19570"
    with process(port) as (served, _):
        text = served_at("127.0.0.1", port)
        with pytest.raises(urllib.error.URLError):
            served_at("127.0.0.2", port)
        status = Path(f"/proc/{served.pid}/status").read_text()
    assert 'ovn_offload_charm_look_age_seconds{charm="roce-qos",unit="roce-qos/0"}' in text
    assert "# HELP ovn_offload_threshold What rules compare with, by name." in text
    kilobytes = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    assert kilobytes < 64 * 1024


def test_a_real_process_also_serves_the_address_that_it_is_given() -> None:
    port = "19571"
    with process(port, "127.0.0.2"):
        for address in "127.0.0.1", "127.0.0.2":
            assert "ovn_offload_threshold" in served_at(address, port)
        with pytest.raises(urllib.error.URLError):
            served_at("127.0.0.3", port)


STUCK = "threading.Thread(target=threading.Event().wait).start()"
"""A thread that nothing ends, such as one that waits for a driver, keeps the process."""


def test_a_stopped_exporter_leaves_its_port_to_the_next_although_a_thread_keeps_its_process() -> None:
    port = 19572
    code = CODE.replace("lambda: host", f"lambda: {STUCK} or host")
    with process(str(port), code=f"import threading{code}print('stopped', flush=True)") as (served, prints):
        served.terminate()
        assert prints.readline() == "stopped\n"
        assert served.poll() is None
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_the_archive_runs_on_the_systems_python_alone(tmp_path: Path) -> None:
    path = tmp_path / "exporter.pyz"
    path.write_bytes(bootcopy.archive(install.copy_of("roce-qos")))
    isolated = [sys.executable, "-I", "-S"]
    done = subprocess.run([*isolated, str(path), "nonsense"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (5, "usage: exporter.pyz [ADDRESS ...]\n")
    script = "import sys; sys.path.insert(0, sys.argv[1]); import prometheus_client, exporter.sources"
    done = subprocess.run([*isolated, "-c", script, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


UNIT = install.UNIT


def runs(host: FakeHost) -> str:
    """The charm whose copy the unit would start now."""
    return next(charm for charm in install.CHARMS if host.files.exists(install.copy_of(charm).path))


@pytest.mark.parametrize("first", install.CHARMS)
@pytest.mark.parametrize("second", install.CHARMS)
def test_the_preferred_copy_runs_whatever_came_first(first: str, second: str) -> None:
    if first == second:
        return
    host = FakeHost()
    install.install(host, first)
    install.install(host, second)
    preferred = min(first, second, key=install.CHARMS.index)
    assert runs(host) == preferred
    host.trace.clear()
    host.spawned.clear()
    for charm in (first, second):
        install.install(host, charm)
    assert (host.trace, host.spawned) == ([], [])
    install.remove(host, preferred)
    other = second if preferred == first else first
    assert runs(host) == other
    assert host.trace[-1] == f"run systemctl restart {UNIT}"
    assert units.enabled(host, UNIT)
    install.remove(host, other)
    assert not units.installed(host, ("ovn-offload",))
    assert not units.enabled(host, UNIT)
    assert not [path for path in host.disk.content if "exporter" in path]


def test_the_unit_serves_another_address_only_while_it_is_given_one() -> None:
    host = FakeHost()
    install.install(host, "roce-qos", "10.0.0.7")
    path = units.path(UNIT)
    assert "exporter.pyz 10.0.0.7; done'" in host.disk.content[path].decode()
    host.trace.clear()
    install.install(host, "roce-qos", "10.0.0.7")
    assert host.trace == []
    install.install(host, "roce-qos")
    assert "exporter.pyz; done'" in host.disk.content[path].decode()
    assert host.trace[-1] == f"run systemctl restart {UNIT}"


def test_the_unit_is_limited() -> None:
    text = install.unit_text()
    for line in ("DynamicUser=yes", "MemoryMax=64M", "CapabilityBoundingSet=CAP_NET_ADMIN"):
        assert f"\n{line}\n" in text
    assert "ReadWritePaths" not in text
    assert "\nRuntimeDirectory=" not in text
