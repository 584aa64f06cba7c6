# SPDX-License-Identifier: Apache-2.0
"""16 racks, 48 switches and 256 hosts fit into the sizes that Juju takes."""

import json
from collections.abc import Iterator
from pathlib import Path

import hosts
import pytest
import yaml
from bench import fabric as bench
from charmkit.fabric import Policy
from charmkit.output import MOST
from charmkit.status import LONGEST
from intent import expand
from intent.model import Dialect
from tree import record, render
from unit.cumulus_fabric.online.test_many_hosts import HOSTS, Site, of_size, report

SIZE = (16, 32, HOSTS)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Each host reports a wrong MTU, and each switch lacks a network that is new in the intent."""
    with of_size(*SIZE, tmp_path_factory.mktemp("site")) as site:
        content = yaml.safe_load(site.options["intent"])
        content["networks"]["storage"] = {"vlan": 50}
        site.options["intent"] = json.dumps(content)
        for number in range(HOSTS):
            site.publish(number, report(number, mtu=1500))
        yield site


def test_tables_with_a_finding_for_each_host_and_a_step_for_each_switch_are_whole(full: Site) -> None:
    shown = full.emit("verify", params={}).results["findings"]
    assert shown.count("MTU 1500, the fabric expects 9000") == HOSTS
    assert len(shown.encode()) <= MOST
    assert "more lines" not in shown
    assert len(full.emit("plan", params={}).results["plan"].encode()) <= MOST
    assert full.emit("verify", params={"format": "json"}).failure == ""


def test_the_picture_of_48_switches_is_whole(full: Site) -> None:
    for form in ("text", "svg"):
        shown = full.emit("show-fabric", params={"format": form}).results["fabric"]
        assert len(shown.encode()) <= MOST
    assert shown.endswith("</svg>\n")


def test_that_of_160_is_too_large_and_the_remedy_names_no_parameter_that_it_lacks(
    full: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(full.options, "intent", bench.intent(32, 128, HOSTS))
    failure = full.emit("show-fabric", params={"format": "svg"}).failure
    assert failure.endswith(f"bytes, and Juju takes {MOST}; see all with pipx run tox -e fabric")


def test_render_of_all_has_fewer_switches_as_its_remedy(full: Site) -> None:
    failure = full.emit("render", params={"dialect": "5.14"}).failure
    assert failure.endswith(f"Juju takes {MOST}; name fewer switches, or see all with pipx run tox -e fabric")
    assert (
        len(full.emit("render", params={"dialect": "5.14", "switch": "Leaf0-1"}).results["rendered"]) < MOST
    )


def test_the_status_is_one_line_however_many_findings_there_are(full: Site) -> None:
    full.emit("config-changed")
    assert len(full.status[1]) <= LONGEST
    assert " more, see verify)" in full.status[1]


def test_hosts_can_read_the_policy_of_a_fabric_with_two_thousand_networks() -> None:
    content = json.loads(bench.intent(2, 4, 8))
    content["networks"] |= {
        f"net-{vlan}": {"vlan": vlan, "subnets": [f"10.{vlan // 256}.{vlan % 256}.0/24"]}
        for vlan in range(50, 2050)
    }
    policy = hosts.policy(expand.read(json.dumps(content)))
    assert len(policy.vlans) > 1990
    assert Policy.from_json(policy.to_json()) == policy


def test_the_record_of_200_vlans_that_are_not_adjacent_can_be_read_again() -> None:
    content = json.loads(bench.intent(*SIZE))
    content["networks"] |= {f"net{vlan}": {"vlan": vlan} for vlan in range(100, 500, 2)}
    fabric = expand.read(json.dumps(content))
    last = {each.name: render.tree(fabric, each, Dialect.UNTIL_5_14) for each in fabric.switches}
    text = record.written(record.Record(last))
    assert 50_000 < len(text) < record.MAX_CHARS
    assert record.read(text).last == last


def test_a_record_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with of_size(1, 2, 16, tmp_path) as site:
        bag = site.controller.databags[site.peers.id]["cumulus-fabric"]
        before = bag["made"] = record.written(record.Record({"Leaf0-1": {}}))
        monkeypatch.setattr(record, "MAX_CHARS", len(before))
        site.emit("verify", params={})
        assert bag["made"] == before
        assert "the record of what was made stays" in caplog.text
