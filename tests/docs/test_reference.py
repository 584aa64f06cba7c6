# SPDX-License-Identifier: Apache-2.0
"""The reference's parts from charmcraft.yaml and from the code, and the names that are refused in a page."""

import re
from pathlib import Path

import bundle_rules
import gallery_page
import metrics_page
import names
import pytest
from messages import Message, messages
from reference import ROOT, page

CODE = """
REMEDY = "reboot"

def check(port, late):
    what = f"{port.netdev} has no link" if late else "no port"
    yield Finding(Severity.BLOCKED, port.bdf, what, remedy="see the cable")
    raise StepError(f"{port.netdev}: " + REMEDY, REMEDY)

def other(what):
    return Finding(Severity.INFO, "", what), Ignored("not a message")
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "module.py").write_text(CODE)
    return tmp_path


def test_facts_and_remedies_are_followed_through_variables(code: Path) -> None:
    assert sorted(messages(code)) == [
        Message("no port", "see the cable"),
        Message("… has no link", "see the cable"),
        Message("…: reboot", "reboot"),
    ]


BRANCHES = """
def check(port, late):
    what, remedy = "no link", "see the cable"
    if late:
        what = "a late link"
        remedy = "wait"
    elif port.other:
        what += " here"
    yield Finding(Severity.BLOCKED, port.bdf, what, remedy)
    what = "no driver"
    yield Finding(Severity.BLOCKED, port.bdf, what, "load it")
"""
FUNCTIONS = """
def why(port):
    if port.mac:
        return "another card", "accept it"
    return f"no card: {port.state}", "put one in"

def word(many):
    return "ports" if many else "port"

def check(port, many):
    blocked = partial(Finding, Severity.BLOCKED, port.bdf)
    yield blocked(f"no {word(many)}", "see the kernel log")
    yield Finding(Severity.BLOCKED, port.bdf, *why(port))
    what, remedy = why(port)
    yield Finding(Severity.BLOCKED, port.bdf, f"{port.netdev}: {what}", remedy)
"""


def test_what_branches_assign_together_stays_together(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(BRANCHES)
    assert sorted(messages(tmp_path)) == [
        Message("a late link", "wait"),
        Message("no driver", "load it"),
        Message("no link", "see the cable"),
        Message("no link here", "see the cable"),
    ]


def test_what_functions_return_and_partials_leave_open_is_followed(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(FUNCTIONS)
    assert sorted(messages(tmp_path)) == [
        Message("another card", "accept it"),
        Message("no card: …", "put one in"),
        Message("no port", "see the kernel log"),
        Message("no ports", "see the kernel log"),
        Message("…: another card", "accept it"),
        Message("…: no card: …", "put one in"),
    ]


@pytest.mark.parametrize("charm", ["nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric"])
def test_a_page_has_each_option_each_action_and_messages(charm: str) -> None:
    import yaml

    declared = yaml.safe_load((ROOT / f"charms/{charm}/charmcraft.yaml").read_text())
    text = page(ROOT / "charms" / charm)
    for name in declared["config"]["options"]:
        assert f"### `{name}`\n" in text
    for name in declared["actions"]:
        assert f"### `{name}` (action)\n" in text
    assert text.count("\n| ``") > 20


@pytest.mark.parametrize(
    ("literal", "name"), [("reboot-policy=manual", "reboot-policy"), ("approve-reboot", "approve-reboot")]
)
def test_names_of_options_and_actions_are_known_with_and_without_a_value(literal: str, name: str) -> None:
    found = names.WORD.fullmatch(literal)
    assert found
    assert found[1] == name
    assert name in names.known()


def test_a_value_is_known_from_the_description_of_its_option() -> None:
    assert "when-idle" in names.known()


def test_a_misspelled_option_is_found() -> None:
    assert list(names.unknown("Set `reboot-polcy=manual` and `num-vfs`.")) == ["reboot-polcy"]


@pytest.mark.parametrize("readme", sorted(ROOT.glob("charms/*/README.md")), ids=lambda path: path.parent.name)
def test_a_charms_readme_names_only_what_there_is(readme: Path) -> None:
    assert list(names.unknown(readme.read_text())) == []


def test_every_rule_for_bundles_has_a_row() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", bundle_rules.page(), re.MULTILINE)
    assert rows == sorted(rule.name for rule in bundle_rules.RULES)


def test_the_gallery_has_every_site_with_each_of_its_tools():
    shown = gallery_page.page()
    sites = gallery_page.gallery.sites()
    runs = sum(tool in gallery_page.gallery.TOOLS for site in sites for tool in site.expected)
    assert f"There are {len(sites)} sites and {runs} runs of tools on them." in shown
    named = sum(
        each.get("severity", "info") != "info"
        for site in sites
        for tool in site.expected.keys() - {"about"}
        for each in site.expected[tool].get("findings", ())
    )
    assert f"{named} findings of a warning or worse are expected, and are no alarms" in shown
    assert sites
    for site in sites:
        assert f"- **{site}**: {site.expected['about']}" in shown
        for tool in set(site.expected) - {"about"}:
            assert f"| {site} | {tool} | " in shown


def test_every_metric_of_the_exporter_has_its_row_by_the_name_that_queries_use() -> None:
    rows = re.findall(r"^\| `(ovn_offload_[a-z_]+)` \|", metrics_page.page(), re.MULTILINE)
    assert rows == [metric.series for metric in (metrics_page.HOST | metrics_page.FABRIC).values()]
    assert "ovn_offload_port_carrier_changes_total" in rows


def test_a_message_without_a_remedy_says_why_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def f(x):\n"
        "    Finding(Severity.INFO, x, 'left alone')\n"
        "    Finding(Severity.WAITING, x, 'waits for the leader')\n"
        "    Finding(Severity.BLOCKED, x, 'names no port')\n"
        "    Finding(Severity.BLOCKED, x, 'no link', 'see the cable')\n"
        "    raise StepError('did not turn on')\n"
    )
    assert {message.what: message.without for message in messages(tmp_path)} == {
        "left alone": "Nothing to do: it is for your information.",
        "waits for the leader": "Nothing to do: it ends by itself.",
        "names no port": "The message itself says what has to change.",
        "no link": "",
        "did not turn on": "The next hook tries again; the kernel's log may say more.",
    }


@pytest.mark.parametrize("code", ["lib", "charms", "tools"])
def test_a_remedy_that_names_tox_can_be_typed_as_it_stands(code: str) -> None:
    remedies = [message.remedy for message in messages(ROOT / code)]
    assert [remedy for remedy in remedies if re.search(r"(?<!pipx run )\btox -", remedy)] == []
