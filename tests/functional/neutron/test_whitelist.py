# SPDX-License-Identifier: Apache-2.0
"""pci-passthrough-whitelist of every bundle and overlay, and wrong ones, as Nova's own parser reads them.

What Nova refuses or does not match, the bundles' checker must find, for the same reason.
"""

import json
from pathlib import Path

import pytest
from acceptance.waiting import why
from check import checker
from lab.neutron import nova
from maas.sitefile.reader import read_site

ROOT = Path(__file__).parents[3]
BUNDLES = sorted((ROOT / "bundles").glob("*.yaml"))
OVERLAYS = sorted(
    path for path in (ROOT / "overlays").glob("*.yaml") if "pci-passthrough" in path.read_text()
)
SITE = read_site(ROOT / "tools/maas/site-example.yaml")
PORTS = {"enp63s0f0": "0000:3f:00.0", "enp63s0f1": "0000:3f:00.1"}
RENAMED = {f"{name}np{number}": address for number, (name, address) in enumerate(PORTS.items())}
"""The same ports on a kernel whose mlx5 driver names the physical port."""
FIRST, SECOND = [f"0000:3f:00.{vf}" for vf in (2, 3)], [f"0000:3f:01.{vf}" for vf in (2, 3)]
GENEVE, VLAN = {"physical_network": None}, {"physical_network": "tenantvlan"}
"""The networks of the devices for Geneve networks, and for the VLAN networks."""

WRONG = {
    "a name of another kernel": (
        [{"devname": "enp63s0f0np0", **GENEVE}, {"devname": "enp63s0f1np1", **VLAN}],
        None, "site-port",
    ),
    "address and devname": (
        [{"devname": "enp63s0f0", "address": "0000:3f:00.0"}, {"devname": "enp63s0f1"}],
        "but not both", "pci-selector",
    ),
    "no JSON": ("{'devname': 'enp63s0f0'}", "Invalid entry", "pci-json"),
    "a list in the list": ([["enp63s0f0"]], "Expecting dict", "pci-json"),
    "an ID that is no number": ([{"vendor_id": "15b3", "product_id": "ConnectX"}], "hex number", "pci-id"),
    "an ID that is too long": ([{"vendor_id": "15b3", "product_id": "1101e"}], "maximum allowable", "pci-id"),
}  # fmt: skip
"""Whitelists with Nova's words (None: it takes it and matches no VF), and the checker's rule."""


UNSERVED = {
    "no name of this host": [{"devname": "enp63s0f0np0", **GENEVE}, {"devname": "enp63s0f1np1", **VLAN}],
    "no VF for Geneve": [{"devname": "enp63s0f0", **VLAN}, {"devname": "enp63s0f1", **VLAN}],
    "a VLAN network of another name": [
        {"devname": "enp63s0f0", **GENEVE}, {"devname": "enp63s0f1", "physical_network": "physnet1"},
    ],
    "only one port": [{"devname": "enp63s0f1", **VLAN}],
}  # fmt: skip
"""Whitelists that Nova takes, and from which it has no VF for one of the two ports of a server."""


def whitelists():
    """Each option's text, by the files that have it."""
    found = {}
    for bundle in BUNDLES:
        for overlays in ([], *([overlay] for overlay in OVERLAYS)):
            paths = [bundle, *overlays]
            loaded = checker.load(paths, SITE)
            for application in loaded.of("nova-compute"):
                name = " ".join(path.stem for path in paths)
                found[name] = application.option("pci-passthrough-whitelist")
    return found


def written(whitelist):
    return whitelist if isinstance(whitelist, str) else json.dumps(whitelist)


@pytest.fixture(scope="module")
def answers(programs, tmp_path_factory):
    """Nova's answers for the host of the bundles, and for the one whose ports are named otherwise."""
    hosts = {}
    for key, ports in (("named", PORTS), ("renamed", RENAMED)):
        sysfs = tmp_path_factory.mktemp(key)
        hosts[key] = (sysfs, nova.devices(sysfs, ports))
    texts = {**whitelists(), **{name: written(case[0]) for name, case in WRONG.items()}}
    asked = [(host, name) for host in hosts for name in texts]
    told = nova.ask(
        programs.python,
        [
            {"sysfs": str(hosts[host][0]), "devices": hosts[host][1], "whitelist": texts[name]}
            for host, name in asked
        ],
    )
    return dict(zip(asked, told, strict=True))


def test_nova_offers_the_vfs_that_each_bundle_and_overlay_means(answers):
    seen = 0
    for name in whitelists():
        told = answers["named", name]
        overlay = name.partition(" ")[2]
        gpu = told.pop("0000:b1:00.0")
        given = {address: tags for address, tags in told.items() if tags is not None}
        if overlay == "connectx-6-lx":  # by the VFs' product: both ports serve Geneve
            assert given == dict.fromkeys([*FIRST, *SECOND], GENEVE), name
        elif overlay == "two-physnets":
            assert {given[vf]["physical_network"] for vf in FIRST} == {"tenantvlan"}, name
            assert len({given[vf]["physical_network"] for vf in SECOND}) == 1, name
        else:
            assert {vf: given.get(vf) for vf in FIRST} == dict.fromkeys(FIRST, GENEVE), name
            if overlay != "single-port":
                assert {vf: given.get(vf) for vf in SECOND} == dict.fromkeys(SECOND, VLAN), name
                assert gpu is not None, name
        seen += 1
    assert seen == len(BUNDLES) * (1 + len(OVERLAYS))


def test_a_port_that_the_kernel_names_otherwise_has_no_vfs(answers):
    for name, text in whitelists().items():
        told = answers["renamed", name]
        matched = [vf for vf in (*FIRST, *SECOND) if told[vf] is not None]
        assert matched == ([] if "devname" in text else [*FIRST, *SECOND]), name
    told = answers["renamed", "a name of another kernel"]
    assert [told[vf] for vf in (*FIRST, *SECOND)] == [GENEVE, GENEVE, VLAN, VLAN]


@pytest.mark.parametrize("case", WRONG)
def test_what_nova_refuses_or_never_matches_breaks_a_rule_of_the_checker(answers, case, tmp_path):
    whitelist, said, rule = WRONG[case]
    told = answers["named", case]
    if said:
        assert said in told["refused"]
    else:
        assert [told[vf] for vf in (*FIRST, *SECOND)] == [None] * 4
    overlay = tmp_path / "overlay.yaml"
    options = {"pci-passthrough-whitelist": written(whitelist)}
    overlay.write_text(json.dumps({"applications": {"nova-compute": {"options": options}}}))
    bundle = BUNDLES[-1]
    before = {finding.rule for finding in checker.check(checker.load([bundle], SITE))}
    found = {finding.rule for finding in checker.check(checker.load([bundle, overlay], SITE))}
    assert rule in found - before


def test_a_server_gets_a_vf_for_each_port_from_every_bundle_and_from_no_wrong_whitelist(programs, tmp_path):
    """Nova's own claim; the acceptance test's sentence about its fault names the whitelist."""
    host = {"sysfs": str(tmp_path), "devices": nova.devices(tmp_path, PORTS), "ports": [None, "tenantvlan"]}
    right = {name: text for name, text in whitelists().items() if name in {path.stem for path in BUNDLES}}
    texts = {**right, **{name: written(whitelist) for name, whitelist in UNSERVED.items()}}
    said = nova.ask(programs.python, [{**host, "whitelist": text} for text in texts.values()])
    faults = dict(zip(texts, said, strict=True))
    assert [faults[name] for name in right] == [None] * len(BUNDLES)
    for name in UNSERVED:
        reason, remedy = why({"status": "ERROR", "fault": {"message": faults[name]}}, [])
        assert "aborted: Insufficient compute resources: Claim pci failed." in reason, name
        assert "pci-passthrough-whitelist names other netdevs than this node has" in reason
        assert "list-devices" in remedy
