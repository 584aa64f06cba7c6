# SPDX-License-Identifier: Apache-2.0
"""The facts table: what the script derives from a folder of charms, and that the table gives it back."""

import yaml
from check import facts
from check.facts import Endpoint

METADATA = """
name: ovn-chassis
subordinate: true
series: [focal, jammy]
requires:
  ovsdb: {interface: ovsdb}
  juju-info: {interface: juju-info, scope: container}
provides:
  nova-compute: {interface: neutron-plugin, scope: container}
extra-bindings: {data: null}
"""
CONFIG = """
options:
  sriov-numvfs: {type: string, default: auto}
  enable-sriov: {type: boolean, default: false}
  untyped: {default: null}
"""


def folder(tmp_path):
    for branch, extra in {"stable_22.03": "", "stable_24.03": "peers: {ring: {interface: ring}}\n"}.items():
        path = tmp_path / "ovn-chassis" / branch
        path.mkdir(parents=True)
        (path / "metadata.yaml").write_text(METADATA + extra)
        (path / "config.yaml").write_text(CONFIG)
    return tmp_path


def test_a_folder_of_charms_becomes_facts(tmp_path):
    old, new = facts.from_folder(folder(tmp_path))
    assert (old.charm, old.track, old.subordinate) == ("ovn-chassis", "22.03", True)
    assert old.bases == {"ubuntu@20.04", "ubuntu@22.04"}
    assert old.endpoints == {
        "ovsdb": Endpoint("requires", "ovsdb", "global"),
        "juju-info": Endpoint("requires", "juju-info", "container"),
        "nova-compute": Endpoint("provides", "neutron-plugin", "container"),
    }
    assert old.options == {"sriov-numvfs": "string", "enable-sriov": "boolean", "untyped": "string"}
    assert old.bindable == {"", "data", "ovsdb", "juju-info", "nova-compute"}
    assert new.endpoints["ring"] == Endpoint("peers", "ring", "global")


def test_a_charmcraft_yaml_is_metadata_too(tmp_path):
    path = tmp_path / "ubuntu" / "stable_latest"
    path.mkdir(parents=True)
    (path / "charmcraft.yaml").write_text(
        "name: ubuntu\nplatforms: {ubuntu@22.04:amd64: }\n"
        "config: {options: {hostname: {type: string, default: ''}}}\n"
    )
    (found,) = facts.from_folder(tmp_path)
    assert (found.track, found.bases, found.options) == ("latest", {"ubuntu@22.04"}, {"hostname": "string"})


def test_branches_that_are_not_named_after_their_track(tmp_path):
    path = tmp_path / "rabbitmq-server" / "stable_jammy"
    path.mkdir(parents=True)
    (path / "metadata.yaml").write_text("name: rabbitmq-server\nseries: [jammy]\n")
    (path / "config.yaml").write_text("options: {}\n")
    assert [found.track for found in facts.from_folder(tmp_path)] == ["3.12"]


def test_the_table_gives_back_what_was_derived(tmp_path):
    derived = facts.from_folder(folder(tmp_path))
    table = facts.table(derived)
    assert table["ovn-chassis"]["only"] == {"24.03": {"peers": {"ring": "ring"}}}
    stripped = [facts.Facts(**{**vars(found), "defaults": {}}) for found in derived]
    assert facts.load(yaml.safe_load(yaml.safe_dump(table))) == stripped


def test_the_script_prints_the_table(tmp_path, capsys):
    assert facts.main([str(folder(tmp_path))]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == facts.table(facts.from_folder(tmp_path))


def test_the_script_wants_a_folder(tmp_path, capsys):
    assert facts.main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("usage:")


def test_the_committed_table_holds_the_facts_that_rules_rest_on():
    table = facts.upstream()
    chassis = table["ovn-chassis", "22.03"]
    assert chassis.subordinate
    assert chassis.endpoints["nova-compute"] == Endpoint("provides", "neutron-plugin", "container")
    assert "data" in chassis.extra_bindings
    assert chassis.options["sriov-numvfs"] == "string"
    assert table["nova-compute", "2024.1"].endpoints["neutron-plugin"].scope == "container"
    assert "ubuntu@24.04" in table["ovn-central", "24.03"].bases
    assert "ubuntu@24.04" not in table["ovn-central", "22.03"].bases


def test_own_charms_are_read_with_their_defaults():
    own = facts.own()["sriov-switchdev"]
    assert own.subordinate
    assert own.options["num-vfs"] == "int"
    assert own.defaults["num-vfs"] == 8
