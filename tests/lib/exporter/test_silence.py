# SPDX-License-Identifier: Apache-2.0
"""Hosts and charms that go silent, reads that hang and faults: each ends no scrape, and is reported."""

import errno
import os
import threading
from collections.abc import Mapping

import pytest
from exporter import facts, install, workers
from exporter.facts import Facts, PortFacts
from hostnic.handover import AGENTS
from lab.modelled import FakeHost
from lab.observed.modelled import until
from lib.scrapes import PF, converged, exporter, scrape, tell


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
    tell(host, ports=tuple(PortFacts(port.bdf, port.netdev) for port in host.network.ports()))
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
        seen = scrape(found)
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
    assert until(lambda: scrape(found)["source_up", f"counters {PF}"] == 1, 20)


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
    assert until(lambda: scrape(slow)["firmware_answers", PF] == 1, 20)
    released.clear()
    late = scrape(slow)
    assert (late["firmware_answers", PF], late["source_up", f"firmware {PF}"]) == (1, 0)
    assert scrape(slow)["firmware_answers", PF] == 0
    released.set()


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
