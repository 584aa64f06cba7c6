# SPDX-License-Identifier: Apache-2.0
"""Files that the charm reads back: whatever they hold, the answer is a value or one sentence."""

import json
import string
from typing import Any

import desired
import pytest
from boot import bootfile
from config import Options
from converge import Disruption
from desired import Desired, WantedPort
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.modelled import FakeHost, card
from nic.judge import joined
from observe import observe
from selection import resolve
from survey import plan_host
from unit.sriov_switchdev.node import compute_node

NAMES = st.text(string.ascii_lowercase + string.digits + "_.-", min_size=1, max_size=15)
BDFS = st.builds(
    "{:04x}:{:02x}:{:02x}.{}".format,
    st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7),
)  # fmt: skip
MACS = st.binary(min_size=6, max_size=6).map(lambda octets: octets.hex(":"))
PORTS = st.builds(
    WantedPort, BDFS, NAMES, st.integers(1, 0xFFFF), st.none() | NAMES, st.booleans(), st.none() | MACS,
    st.none() | BDFS.map(lambda bdf: bdf.rpartition(".")[0]), st.lists(NAMES | BDFS, max_size=2).map(tuple),
)  # fmt: skip
DESIRED = st.builds(
    Desired,
    st.lists(PORTS, unique_by=lambda port: port.bdf, max_size=4).map(tuple),
    st.sampled_from([None, "smfs", "dmfs"]),
    st.booleans(),
    st.integers(0, 1024),
    st.lists(PORTS, max_size=2).map(tuple),
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(DESIRED)
def test_a_desired_state_survives_its_file(wanted: Desired) -> None:
    assert bootfile.from_json(wanted.to_json()) == wanted


@given(DESIRED.filter(lambda wanted: bool(wanted.ports)), st.data())
def test_a_field_of_another_type_is_refused_or_changes_nothing_else(
    wanted: Desired, data: st.DataObject
) -> None:
    content = json.loads(wanted.to_json())
    target = data.draw(st.sampled_from([content, content["ports"][0]]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JSON)
    try:
        read = bootfile.from_json(json.dumps(content))
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert bootfile.from_json(read.to_json()) == read


def test_a_field_of_a_later_revision_is_ignored() -> None:
    content = json.loads(Desired((WantedPort("0000:3b:00.0", "p0", 8),)).to_json())
    content["later"] = content["ports"][0]["later"] = True
    assert bootfile.from_json(json.dumps(content)).ports[0].num_vfs == 8


@pytest.mark.parametrize("bdf", ["10000:01:00.0", "ffffffff:ff:1f.7"])
def test_a_pci_domain_of_more_than_four_digits_survives_its_file(bdf: str) -> None:
    wanted = Desired((WantedPort(bdf, "p0", 8),))
    assert bootfile.from_json(wanted.to_json()) == wanted


def test_a_port_that_is_there_twice_is_refused() -> None:
    content = json.loads(Desired((WantedPort("0000:3b:00.0", "p0", 8),)).to_json())
    content["ports"] *= 2
    with pytest.raises(ValueError, match=r"^ports: \['0000:3b:00\.0', .* expected each port once$"):
        bootfile.from_json(json.dumps(content))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the document: .* expected JSON that is nested less deeply$"):
        bootfile.from_json("[" * 60_000)
    with pytest.raises(ValueError, match=r"^the document: .* expected at most 65536 characters"):
        bootfile.from_json("[" * 100_000)


def test_a_name_that_cannot_be_printed_is_refused() -> None:
    content = json.loads(Desired((WantedPort("0000:3b:00.0", "p0", 8),)).to_json())
    content["ports"][0]["netdev"] = "p\ud800"
    with pytest.raises(ValueError, match=r"^ports\[0\]\.netdev: 'p\\ud800' is not allowed"):
        bootfile.from_json(json.dumps(content))


NETWORK = "[Match]\nName=enp59s0f1np1\nPermanentMACAddress=0c:42:a1:00:3b:01\n[Network]\nBond=bond0\n"


@given(st.text() | st.text("=[]#:\n bondNameBond", max_size=60).map(lambda text: NETWORK + text))
@settings(max_examples=60)
def test_whatever_networkd_and_netplan_files_hold_the_host_is_read(text: str) -> None:
    host = compute_node()
    before = Desired(tuple(WantedPort(port.bdf, port.netdev, 8, "bond0") for port in host.network.ports()))
    host.disk.install(desired.PATH, before.to_json().encode(), 0o644)
    host.links.set_master("enp59s0f1np1", None)
    written = ("/run/systemd/network/10-netplan-x.network", "/etc/netplan/99-x.yaml")
    for path in (*written, "/proc/net/route", "/proc/net/ipv6_route"):
        host.disk.install(path, text.encode("utf-8", "replace"), 0o600)
    seen = observe(host)
    assert set(seen.declared_bonds) <= {"0000:3b:00.1"}
    assert {writer.path for writer in seen.vf_writers} <= {"/etc/netplan/99-x.yaml"}


HOSTS = st.builds(
    lambda vfs, modes, counts, mode, bonded: arranged(vfs, modes, counts, mode, bonded),
    st.integers(0, 12),
    st.tuples(*[st.sampled_from(["legacy", "switchdev"])] * 2),
    st.tuples(*[st.integers(0, 12)] * 2),
    st.sampled_from(["802.3ad", "active-backup", "balance-rr", "broadcast"]),
    st.booleans(),
)


def arranged(vfs: int, modes: tuple[str, ...], counts: tuple[int, ...], mode: str, bonded: bool) -> FakeHost:
    host = compute_node(cards=[card(total_vfs=vfs)], bonded=bonded)
    for port, eswitch, count in zip(host.network.ports(), modes, counts):
        port.autoprobe = False
        if min(count, vfs):
            host.files.write(f"/sys/bus/pci/devices/{port.bdf}/sriov_numvfs", str(min(count, vfs)))
        port.eswitch_mode = eswitch
    for bond in host.network.bonds.values():
        bond.mode = mode
    return host


@given(HOSTS, st.booleans(), st.sampled_from(["auto", "required", "disabled"]), st.integers(1, 12))
@settings(max_examples=60)
def test_from_any_state_a_plan_is_ordered_and_never_cuts_without_permission(
    host: FakeHost, allow_live: bool, vf_lag: str, count: int
) -> None:
    options = Options(num_vfs=count, vf_lag=vf_lag, allow_live=allow_live)
    observed = observe(host)
    wanted, findings = resolve(options, observed, "sriov-switchdev")
    nics = joined(wanted, observed)
    made = plan_host(nics, wanted, observed, findings, allow_live).plan
    keys = [step.key for step in made.steps]
    assert len(set(keys)) == len(keys)
    for step in made.steps:
        assert allow_live or step.disruption <= Disruption.LINK_FLAP
    assert not (made.blocked and made.steps)
    cut = [n for n, step in enumerate(made.steps) if step.disruption > Disruption.LINK_FLAP]
    if cut:
        armed = [n for n, key in enumerate(keys) if key.endswith("/arm")]
        confirmed = [n for n, key in enumerate(keys) if key.endswith("confirm")]
        assert armed[0] < cut[0] <= cut[-1] < confirmed[-1]
    assert plan_host(nics, wanted, observed, findings, allow_live).plan == made
