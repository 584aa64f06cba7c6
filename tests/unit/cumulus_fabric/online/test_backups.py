# SPDX-License-Identifier: Apache-2.0
"""Each run keeps what switches ran before and after it, outside them, and a rollback can go back to it."""

import stat
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.foreign import Ownership
from backups import folder as folders
from backups.folder import Folder
from backups.kept import Kept, compared, without_secrets
from converge import StepError
from intent.model import Dialect
from lab.nvue import merge
from lab.nvue.factory import factory
from maintenance import Maintenance
from online import Site
from output.report import Report
from tree import render
from tree.record import Record
from tree.spelled import spelled
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY, runs
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import PLAIN, RELEASES, TENANT, made_of
from unit.cumulus_fabric.online.unit import Unit, intent

NAMES = ["Spine0", "Leaf0-1", "Leaf0-2"]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "backups"))


class Kept3:
    """Three switches whose runs keep what they ran, and the charm's record of them."""

    def __init__(self, made: Rack, folder: Folder) -> None:
        self.made, self.folder = made, folder
        self.record = Record(made.site.survey().last)

    def site(self, wanted: Any) -> Site:
        return Site(wanted, self.made.site.fleet, ownership=Ownership.of(self.record), backups=self.folder)

    def apply(self, wanted: Any) -> Report:
        report = self.site(wanted).apply(policy=POLICY)
        self.record = self.record.updated(report.record).updated(self.site(wanted).survey().record)
        return report

    def lose_revisions(self) -> None:
        for server in self.made.servers.values():
            server.switch.restart(server.switch.applied, fresh=True)


@pytest.fixture(params=RELEASES)
def kept3(request: pytest.FixtureRequest, folder: Folder) -> Iterator[Kept3]:
    with rack(PLAIN, applied=True, release=request.param) as made:
        yield Kept3(made, folder)


def numbers(folder: Folder, name: str) -> list[int]:
    return [each.number for each in folder.entries(name)]


def test_a_run_keeps_every_switch_before_and_after(kept3: Kept3) -> None:
    before = deepcopy(kept3.made.applied)
    assert kept3.apply(TENANT).applied
    assert {name: len(numbers(kept3.folder, name)) for name in NAMES} == {
        "Spine0": 1,  # it did not change
        "Leaf0-1": 2,
        "Leaf0-2": 2,
    }
    (_, after), (_, first) = kept3.folder.history("Leaf0-1")
    assert (first.when, first.tree, after.when, after.tree) == (
        "before",
        without_secrets(before["Leaf0-1"]),
        "after",
        without_secrets(kept3.made.applied["Leaf0-1"]),
    )


def test_the_folder_is_its_owners_alone(kept3: Kept3) -> None:
    kept3.apply(TENANT)
    path = kept3.folder.path
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.iterdir()} == {0o600}


def test_a_run_that_changes_nothing_keeps_nothing(kept3: Kept3) -> None:
    assert kept3.apply(PLAIN).applied
    assert kept3.folder.entries() == []


def test_what_did_not_change_since_is_not_kept_again(kept3: Kept3) -> None:
    kept3.apply(TENANT)
    known = kept3.folder.entries()
    assert Maintenance(kept3.site(TENANT), "Leaf0-2", POLICY).drain().applied
    new = [each for each in kept3.folder.entries() if each not in known]
    assert [each.switch for each in new] == ["Leaf0-2", "Leaf0-2"]  # after each of the two steps


def test_nothing_is_sent_if_it_cannot_be_kept(kept3: Kept3) -> None:
    kept3.folder.path.mkdir(mode=0o755)
    kept3.made.forget()
    report = kept3.apply(TENANT)
    assert [each.sentence() for each in report.reasons] == [
        f"backups: others can use {kept3.folder.path}; make it yours alone: chmod 700 {kept3.folder.path}"
    ]
    assert kept3.made.writes() == []


SECRETS: dict[str, Any] = {
    "system": {
        "aaa": {"user": {"cumulus": {"hashed-password": "$6$abc", "role": "system-admin"}}},
        "snmp-server": {"readonly-community": {"s3cret-community": {"access": {"any": {}}}}},
        "hostname": "leaf",
    },
    "vrf": {"default": {"router": {"bgp": {"neighbor": {"swp1": {"password": "hush", "type": "numbered"}}}}}},
    "interface": {
        "swp1": {"router": {"ospf": {"authentication": {"md5-key": "k", "message-digest-key": 7}}}}
    },
}


def test_no_secret_is_kept() -> None:
    assert without_secrets(SECRETS) == {
        "system": {"hostname": "leaf"},
        "vrf": {"default": {"router": {"bgp": {"neighbor": {"swp1": {"type": "numbered"}}}}}},
        "interface": {"swp1": {"router": {"ospf": {"authentication": {}}}}},
    }


def test_a_password_of_others_is_in_no_file_and_stays_on_the_switch(kept3: Kept3) -> None:
    theirs = {"vrf": {"default": {"router": {"bgp": {"neighbor": {"swp31": {"password": "Hush-Hush"}}}}}}}
    runs(kept3.made, merge(kept3.made.applied["Leaf0-1"], theirs), "Leaf0-1")
    kept3.apply(TENANT)
    texts = [kept3.folder.read(each.number) for each in kept3.folder.entries()]
    assert texts
    assert "Hush-Hush" not in repr(texts)
    number = numbers(kept3.folder, "Leaf0-1")[0]
    assert kept3.site(TENANT).rollback(policy=POLICY, numbers=[number], cut_off=["vlan55"]).applied
    neighbor = kept3.made.applied["Leaf0-1"]["vrf"]["default"]["router"]["bgp"]["neighbor"]["swp31"]
    assert neighbor["password"] == "Hush-Hush"


def test_only_the_last_ones_of_each_switch_stay(folder: Folder) -> None:
    for number in range(folders.MOST_EACH + 5):
        folder.keep([Kept(name, "5.9.2", number, "before", {"all": {"n": number}}) for name in NAMES])
    assert {name: len(numbers(folder, name)) for name in NAMES} == dict.fromkeys(NAMES, folders.MOST_EACH)
    assert folder.history("Spine0")[0][1].at == folders.MOST_EACH + 4


def test_the_folder_is_bounded_in_bytes(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_BYTES", 1000)
    for number in range(12):
        folder.keep([Kept("Leaf0-1", "5.9.2", number, "before", {"all": {"n": number}})])
    assert sum(each.size for each in folder.entries()) <= 1000
    assert folder.history("Leaf0-1")[0][1].at == 11


def test_a_damaged_file_is_named_and_the_others_are_used(folder: Folder) -> None:
    for number in range(2):
        folder.keep([Kept("Leaf0-1", "5.9.2", number, "before", {"all": {"n": number}})])
    folder.entries()[1].path.write_text("{")
    assert [each.at for _, each in folder.history("Leaf0-1")] == [0]
    assert [row["run"] for row in folder.rows()] == ["before", "damaged"]
    with pytest.raises(StepError, match=r"000002\.Leaf0-1\.json is damaged"):
        folder.read(2)


def test_a_file_that_cannot_be_read_is_said_in_one_sentence(folder: Folder) -> None:
    folder.keep([Kept("Leaf0-1", "5.9.2", 1, "before", {"all": {}})])
    (folder.path / "000002.Leaf0-1.json").mkdir()
    with pytest.raises(StepError, match=r"backups: .* cannot be read: Is a directory"):
        folder.rows()


def test_rollback_works_after_the_switches_have_lost_their_revisions(kept3: Kept3) -> None:
    before = deepcopy(kept3.made.applied)
    assert kept3.apply(TENANT).applied
    kept3.lose_revisions()
    said = kept3.site(TENANT).restoration()[1].findings
    assert [each.subject for each in said if "goes back to the kept configuration" in each.what] == NAMES[1:]
    report = kept3.site(TENANT).rollback(policy=POLICY)
    assert report.verdict == "fully restored to before their last change: 2 switches changed"
    assert kept3.made.applied == before


def test_a_factory_fresh_switch_gets_back_what_is_ours_and_nothing_else(kept3: Kept3) -> None:
    """Somebody's time zone went with the installation of the image: this charm has not made it."""
    box = kept3.made.servers["Leaf0-1"].switch
    zone = {"system": {"date-time": {"timezone": "Etc/GMT"}} if box.rules.new else {"timezone": "Etc/GMT"}}
    runs(kept3.made, merge(kept3.made.applied["Leaf0-1"], zone), "Leaf0-1")
    kept3.apply(TENANT)
    fresh = factory("Leaf0-1", box.rules.new)
    box.restart(fresh, fresh=True)
    report = kept3.site(TENANT).rollback(["Leaf0-1"], policy=POLICY)
    assert report.verdict == "fully restored to before their last change: 1 switch changed"
    dialect = Dialect.of_release(box.release)
    wanted = merge(
        fresh, render.tree(TENANT, next(s for s in TENANT.switches if s.name == "Leaf0-1"), dialect)
    )
    assert kept3.made.applied["Leaf0-1"] == wanted


def test_a_second_rollback_to_what_is_kept_is_refused_as_ambiguous(kept3: Kept3) -> None:
    kept3.apply(TENANT)
    kept3.lose_revisions()
    assert kept3.site(TENANT).rollback(policy=POLICY).applied
    kept3.lose_revisions()
    report = kept3.site(TENANT).rollback(policy=POLICY)
    assert report.verdict == "nothing was sent to any switch"
    assert {each.what for each in report.reasons} == {
        "its last change was itself a rollback, so it is unclear which configuration to restore"
    }
    assert "run list-backups" in report.reasons[0].remedy


def test_an_older_one_is_restored_by_its_number_and_what_others_made_since_stays(kept3: Kept3) -> None:
    first = deepcopy(kept3.made.applied)
    kept3.apply(TENANT)
    kept3.apply(fabric(change=made_of(("tenant", 55), ("storage", 56))))
    bond = {"bond77": {"type": "bond", "bond": {"member": {"swp27": {}}}}, "swp27": {"type": "swp"}}
    runs(kept3.made, merge(kept3.made.applied["Leaf0-1"], {"interface": bond}), "Leaf0-1")
    number = numbers(kept3.folder, "Leaf0-1")[0]
    site = kept3.site(PLAIN)
    refused = site.rollback(policy=POLICY, numbers=[number])
    assert [each.subject for each in refused.reasons] == ["VLAN 55-56"]  # hosts use them
    assert site.rollback(policy=POLICY, numbers=[number], cut_off=["vlan55", "vlan56"]).applied
    assert kept3.made.applied["Leaf0-1"] == merge(first["Leaf0-1"], {"interface": bond})
    assert kept3.made.applied["Leaf0-2"] != first["Leaf0-2"]


def test_a_drained_switch_stays_drained(kept3: Kept3) -> None:
    kept3.apply(TENANT)
    assert Maintenance(kept3.site(TENANT), "Leaf0-2", POLICY).drain().applied
    number = numbers(kept3.folder, "Leaf0-2")[0]
    report = kept3.site(TENANT).rollback(policy=POLICY, numbers=[number], cut_off=["vlan55"])
    assert report.applied
    tree = kept3.made.applied["Leaf0-2"]
    assert "55" not in tree["bridge"]["domain"]["br_default"]["vlan"]
    assert tree["router"]["bgp"]["graceful-shutdown"] in ("on", "enabled")
    assert "down" in tree["interface"]["swp9"]["link"]["state"]


def test_what_others_need_is_not_taken_from_them(kept3: Kept3) -> None:
    kept3.apply(TENANT)
    address = {
        "ipv4" if kept3.made.servers["Leaf0-1"].switch.rules.new else "ip": {"address": {"10.5.5.1/24": {}}}
    }
    svi = {"vlan55": {"type": "svi", "vlan": 55, "base-interface": "br_default", **address}}
    runs(kept3.made, merge(kept3.made.applied["Leaf0-1"], {"interface": svi}), "Leaf0-1")
    kept3.made.forget()
    number = numbers(kept3.folder, "Leaf0-1")[0]
    report = kept3.site(TENANT).rollback(policy=POLICY, numbers=[number])
    assert "interface vlan55 has an address on a VLAN that would be removed" in report.reasons[0].what
    assert kept3.made.writes() == []


SETTINGS = {
    "underlay": {"bfd": {"interval": 400, "multiplier": 4}},
    "leaves.port-settings": {"swp9": {"fec": "off", "auto-negotiate": False}, "swp15": {"shut": True}},
    "switches.Leaf0-1.port-settings": {"swp31": {"address": "10.1.0.1/31"}},
    "racks.0.hosts": {"ports": "swp9-10", "stp-edge": True, "bpdu-guard": True},
    "racks.0.bonds.bond_ext": {"ports": "swp22", "local-id": 9, "description": "off"},
}


@pytest.mark.parametrize("change", [None, SETTINGS])
@pytest.mark.parametrize(
    ("old", "new"), [(Dialect.UNTIL_5_14, Dialect.FROM_5_15), (Dialect.FROM_5_15, Dialect.UNTIL_5_14)]
)
def test_the_intents_trees_are_the_same_in_the_other_dialects_words(
    old: Dialect, new: Dialect, change: Any
) -> None:
    whole = fabric(change=change)
    for switch in whole.switches:
        assert spelled(render.tree(whole, switch, old), new) == render.tree(whole, switch, new)
        assert spelled(render.tree(whole, switch, new), new) == render.tree(whole, switch, new)


def test_what_differs_is_shown_as_commands_with_the_earlier_value() -> None:
    old = {"interface": {"swp1": {"link": {"mtu": 9000}}, "swp2": {"type": "swp"}}}
    new = {"interface": {"swp1": {"link": {"mtu": 1500}}}, "evpn": {"enable": "on"}}
    assert compared(old, new) == [
        "set evpn enable on",
        "set interface swp1 link mtu 1500    # was 9000",
        "unset interface swp2",
    ]


def test_the_actions(running: Unit) -> None:
    def other(content: dict[str, Any]) -> None:
        content["networks"]["storage"] = {"vlan": 50}

    assert "No configuration is kept yet" in running.action("list-backups")["backups"]
    running.emit()
    before = deepcopy(running.rack.applied)
    running.state = replace(running.state, config={**running.state.config, "intent": intent(other)})
    assert running.action("apply")["applied"] == "true"
    listed = running.action("list-backups", switch="Leaf0-1")["backups"].splitlines()
    assert listed[0].split() == ["number", "switch", "time", "run", "release"]
    first = listed[1].split()[0]
    shown = running.action("compare-backups", backup=first)["difference"]
    assert "set bridge domain br_default vlan 50 vni 50" in shown
    other_number = listed[2].split()[0]
    assert running.action("compare-backups", backup=first, against=other_number)["difference"] == shown
    running.state = replace(running.state, config={**running.state.config, "intent": intent()})
    running.forget()
    digest = running.digest("rollback", backup=first)
    assert running.writes == []
    done = running.action("rollback", backup=first, plan=digest, **{"cut-off": "vlan50"})
    assert done["result"] == "fully restored to what is kept: 1 switch changed"
    assert running.rack.applied["Leaf0-1"] == before["Leaf0-1"]


def test_wrong_numbers_are_refused_in_one_sentence(running: Unit) -> None:
    said = "parameter backup: 'x' is not allowed; set numbers that list-backups shows, separated by spaces"
    assert said in running.failure("rollback", backup="x")
    assert "no configuration with the number 7 is kept" in running.failure("rollback", backup="7")


def test_the_command_line(shell: Shell, home: Path) -> None:
    assert shell("apply")[0] == 0
    path = home / ".local/state/ovn-offload/backups"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    status, out, _ = shell.alone("list-backups", "--intent", str(shell.directory / "intent.yaml"))
    assert (status, len(out.splitlines())) == (0, 1 + 2 * 3)
    status, out, _ = shell("compare-backups", "--backup", "2", "--against", "4")
    assert (status, out.splitlines()[0].split()[0]) == (0, "set")
    assert shell("compare-backups", "--backup", "4")[1] == "no difference\n"
    status, _, err = shell("compare-backups", "--backup", "99")
    assert (status, err) == (2, "no configuration with the number 99 is kept; list-backups shows them\n")
    status, out, _ = shell("rollback", "--backup", "1")
    assert "nothing was sent to any switch" in out
    assert "goes back to the kept configuration 1" in out
    status, _, err = shell("rollback", "--backup", "1", "--switch", "Leaf0-1")
    assert (status, err) == (2, "--backup: its number names the switch; leave --switch out\n")
