# SPDX-License-Identifier: Apache-2.0
"""From Juju's events to the verbs and back: events in, calls and status out."""

import errno
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ops
import pytest
from charmkit.options import check, option
from charmkit.output import MOST, Table, shortened
from charmkit.reconcile import InputError, Reconciler, Removed, answer, load_config, load_params
from converge import Disruption, Finding, Plan, Severity, Step
from converge.shape import InvalidValue
from hypothesis import given
from hypothesis import strategies as st
from ops import testing

META = {
    "name": "nic",
    "subordinate": True,
    "requires": {
        "juju-info": {"interface": "juju-info", "scope": "container"},
        "fabric": {"interface": "host_fabric"},
    },
    "peers": {"reboot": {"interface": "rolling_reboot"}},
}
FORMAT = {"type": "string", "enum": ["table", "json"]}
ACTIONS = {
    "plan": {"params": {"format": FORMAT}},
    "verify": {"params": {"format": FORMAT}},
    "burn": {"params": {"image": {"type": "string"}}},
}
OPTIONS = {
    "num-vfs": {"type": "int", "default": 8},
    "vf-lag": {"type": "string", "default": "auto"},
    "site": {"type": "string"},
}


@dataclass(frozen=True)
class Config:
    site: str
    num_vfs: int = option(8, minimum=1, maximum=127)
    vf_lag: str = option("auto", choices=("auto", "required"))

    def __post_init__(self) -> None:
        check(self)
        if self.site == "mars":
            raise ValueError("no site is on mars")


@dataclass(frozen=True)
class Image:
    image: str

    def __post_init__(self) -> None:
        if not self.image.endswith(".bin"):
            raise InvalidValue("image", self.image, "the name of a .bin file")


class Noop:
    def run(self, system: object) -> None:
        raise AssertionError("a preview writes nothing")


PLAN: Plan[Any] = Plan((Step("vfs", "create 8 VFs", "there are none", Disruption.VF_DESTROYING, Noop()),))


class Charm(ops.CharmBase):
    """A charm whose verbs write down that they ran."""

    calls: list[str]
    findings: Sequence[Finding] = ()
    unreadable: OSError | None = None

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.reconciler = Reconciler(
            self,
            converge=self.converge,
            preview=self.preview,
            verify=self.verify,
            stop=self.leave,
            whole="see elsewhere",
        )
        framework.observe(self.on.burn_action, self.burn)

    def converge(self) -> Sequence[Finding]:
        config = load_config(self, Config)
        self.calls.append(f"converge {config.num_vfs}")
        return self.findings

    def preview(self, _: object) -> Plan[Any]:
        load_config(self, Config)
        self.calls.append("preview")
        return PLAN

    def verify(self) -> Sequence[Finding]:
        self.calls.append("verify")
        if self.unreadable:
            raise self.unreadable
        return self.findings

    def leave(self) -> Removed:
        self.calls.append("stop")
        return Removed("removed; what it set stays")

    def burn(self, event: ops.ActionEvent) -> None:
        try:
            self.calls.append(f"burn {load_params(event, Image).image}")
        except InputError as error:
            event.fail(str(error))


@pytest.fixture
def charm() -> type[Charm]:
    return type("Charm", (Charm,), {"calls": [], "findings": ()})


@pytest.fixture
def context(charm: type[Charm]) -> testing.Context[Charm]:
    return testing.Context(charm, meta=META, actions=ACTIONS, config={"options": OPTIONS}, unit_id=3)


def state(**config: Any) -> testing.State:
    return testing.State(
        config={"site": "earth", **config},
        relations=[
            testing.PeerRelation("reboot", peers_data={1: {}}),
            testing.Relation("fabric"),
            testing.SubordinateRelation("juju-info"),
        ],
        unit_status=testing.UnknownStatus(),
    )


@pytest.mark.parametrize(
    "event", ["start", "config_changed", "update_status", "upgrade_charm", "leader_elected"]
)
def test_every_lifecycle_event_reconciles_once(
    context: testing.Context[Charm], charm: type[Charm], event: str
):
    out = context.run(getattr(context.on, event)(), state())

    assert charm.calls == ["converge 8"]
    assert out.unit_status == testing.ActiveStatus()


@pytest.mark.parametrize(
    ("endpoint", "event", "calls"),
    [
        ("fabric", "relation_created", ["converge 8"]),
        ("fabric", "relation_changed", ["converge 8"]),
        ("reboot", "relation_changed", ["converge 8"]),
        ("reboot", "relation_created", []),
        ("juju-info", "relation_created", []),
        ("juju-info", "relation_changed", []),
    ],
)
def test_so_does_every_relation_that_may_tell_something(
    context: testing.Context[Charm], charm: type[Charm], endpoint: str, event: str, calls: list[str]
):
    before = state()
    remote = {"remote_unit": 1} if event == "relation_changed" else {}

    context.run(getattr(context.on, event)(before.get_relations(endpoint)[0], **remote), before)

    assert charm.calls == calls


@pytest.mark.parametrize(("endpoint", "calls"), [("fabric", ["converge 8"]), ("juju-info", [])])
def test_a_unit_whose_principal_goes_does_nothing_more(
    context: testing.Context[Charm], charm: type[Charm], endpoint: str, calls: list[str]
):
    before = state()

    context.run(context.on.relation_broken(before.get_relations(endpoint)[0]), before)

    assert charm.calls == calls


@pytest.mark.parametrize(("departing", "calls"), [(1, ["converge 8"]), (3, [])])
def test_a_unit_that_departs_itself_does_nothing_more(
    context: testing.Context[Charm], charm: type[Charm], departing: int, calls: list[str]
):
    peers = testing.PeerRelation("reboot", peers_data={1: {}})
    before = testing.State(config={"site": "earth"}, relations=[peers])

    context.run(context.on.relation_departed(peers, remote_unit=1, departing_unit=departing), before)

    assert charm.calls == calls


@pytest.mark.parametrize(("departing", "calls"), [(1, ["converge 8"] * 2), (3, [])])
def test_nor_does_it_in_the_hooks_that_follow(
    context: testing.Context[Charm], charm: type[Charm], departing: int, calls: list[str]
):
    """A relation that somebody removes departs unit by unit, too: then this unit has to look without it.

    ops' model names only units of the other application, so that one has this one's name here.
    """
    fabric = testing.Relation("fabric", remote_app_name="nic", remote_units_data={1: {}})
    before = testing.State(config={"site": "earth"}, relations=[fabric])

    left = context.run(context.on.relation_departed(fabric, remote_unit=1, departing_unit=departing), before)
    context.run(context.on.relation_broken(left.get_relation(fabric.id)), left)

    assert charm.calls == calls


def test_the_stop_hook_takes_away_and_says_what_stays(context: testing.Context[Charm], charm: type[Charm]):
    out = context.run(context.on.stop(), state())

    assert charm.calls == ["stop"]
    assert out.unit_status == testing.MaintenanceStatus("removed; what it set stays")


def test_findings_become_the_status_and_a_line_of_the_log_each(
    context: testing.Context[Charm], charm: type[Charm]
):
    charm.findings = (
        Finding(Severity.INFO, "bond0", "is fine"),
        Finding(Severity.BLOCKED, "bond0", "has three members", "remove one"),
    )

    out = context.run(context.on.update_status(), state())

    assert out.unit_status == testing.BlockedStatus("bond0: has three members; remove one")
    logged = [line.message for line in context.juju_log if line.level == "WARNING"]
    assert logged == ["blocked: bond0: has three members; remove one"]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"num-vfs": 0}, "option num-vfs: 0 is not allowed; set a whole number from 1 to 127"),
        ({"vf-lag": "maybe"}, "option vf-lag: 'maybe' is not allowed; set auto or required"),
        ({"site": "mars"}, "options: no site is on mars"),
    ],
)
def test_a_wrong_option_blocks_with_one_sentence_and_nothing_runs(
    context: testing.Context[Charm], charm: type[Charm], config: dict[str, Any], sentence: str
):
    out = context.run(context.on.config_changed(), state(**config))

    assert charm.calls == []
    assert out.unit_status == testing.BlockedStatus(sentence)
    assert not [line for line in context.juju_log if "Traceback" in line.message or line.level == "ERROR"]


def test_an_option_without_a_default_must_be_set(context: testing.Context[Charm], charm: type[Charm]):
    out = context.run(context.on.config_changed(), testing.State())

    assert charm.calls == []
    assert out.unit_status == testing.BlockedStatus("option site: is not set; it has no default")


def test_plan_prints_and_changes_no_status(context: testing.Context[Charm], charm: type[Charm]):
    out = context.run(context.on.action("plan"), state())

    assert charm.calls == ["preview"]
    assert context.action_results is not None
    assert context.action_results["plan"].splitlines()[1].split() == (
        ["1", "create", "8", "VFs", "there", "are", "none", "vf-destroying"]
    )
    assert out.unit_status == testing.UnknownStatus()


def test_plan_as_json(context: testing.Context[Charm]):
    context.run(context.on.action("plan", params={"format": "json"}), state())

    assert context.action_results is not None
    assert json.loads(context.action_results["plan"])["steps"][0]["disruption"] == "vf-destroying"


@pytest.mark.parametrize(
    ("severity", "verified"),
    [
        (None, "true"),
        (Severity.INFO, "true"),
        (Severity.WARNING, "true"),
        (Severity.HELD, "false"),
        (Severity.WAITING, "false"),
        (Severity.BLOCKED, "false"),
    ],
)
def test_verify_says_whether_all_holds(
    context: testing.Context[Charm], charm: type[Charm], severity: Severity | None, verified: str
):
    charm.findings = () if severity is None else (Finding(severity, "bond0", "flaps", "see the cable"),)

    context.run(context.on.action("verify", params={"format": "json"}), state())

    assert charm.calls == ["verify"]
    assert context.action_results is not None
    assert context.action_results["verified"] == verified
    assert [item["what"] for item in json.loads(context.action_results["findings"])] == ["flaps"] * len(
        charm.findings
    )


def test_verify_as_a_table(context: testing.Context[Charm], charm: type[Charm]):
    charm.findings = (Finding(Severity.HELD, "bond0", "flaps", "see the cable"),)

    context.run(context.on.action("verify"), state())

    assert context.action_results is not None
    row = context.action_results["findings"].splitlines()[1]
    assert row.split() == ["held", "bond0", "flaps", "see", "the", "cable"]


def taken(results: dict[str, Any] | None) -> bool:
    """Whether the kernel takes these results as arguments, as those of ``action-set``."""
    assert results is not None
    arguments = [f"{name}={value}" for name, value in results.items()]
    try:
        return subprocess.run(["/bin/true", *arguments], check=True).returncode == 0
    except OSError as error:
        assert error.errno == errno.E2BIG
        return False


def test_a_table_that_juju_does_not_take_is_cut_and_says_how_much_is_left_out(
    context: testing.Context[Charm], charm: type[Charm]
):
    charm.findings = [Finding(Severity.HELD, f"port {n}", "flaps … " + "x" * 200, "") for n in range(3000)]

    context.run(context.on.action("verify"), state())

    assert context.action_results is not None
    assert taken(context.action_results)
    assert context.action_results["verified"] == "false"
    *lines, note = context.action_results["findings"].splitlines()[:-4]
    left = 1 + len(charm.findings) - len(lines) - 4
    assert note == f"… {left} more lines, since Juju takes {MOST} bytes; see elsewhere"
    assert "port 2999 " in context.action_results["findings"].splitlines()[-1]
    assert left > 0 < len(lines)


def test_what_is_no_table_is_whole_or_the_action_fails(context: testing.Context[Charm], charm: type[Charm]):
    charm.findings = [Finding(Severity.HELD, f"port {n}", "x" * 200, "") for n in range(3000)]

    with pytest.raises(
        testing.ActionFailed, match=r"the result findings has \d+ bytes, and Juju takes 100000; see"
    ):
        context.run(context.on.action("verify", params={"format": "json"}), state())


class Asked:
    """An action's event, and what was answered."""

    def __init__(self, style: str) -> None:
        self.params = {"format": style}
        self.results: dict[str, str] = {}
        self.failure = ""

    def set_results(self, results: dict[str, str]) -> None:
        self.results = results

    def fail(self, why: str) -> None:
        self.failure = why


@pytest.mark.parametrize(
    ("style", "is_cut"), [("table", True), ("text", True), ("svg", False), ("json", False)]
)
def test_lines_are_left_out_of_tables_and_text_alone(style: str, is_cut: bool):
    event: Any = Asked(style)

    assert answer(event, lambda: {"fabric": "x" * 99 + "\n" * 2 * MOST}) is is_cut
    assert ("more lines" in event.results.get("fabric", ""), "Juju takes" in event.failure) == (
        is_cut,
        not is_cut,
    )


def test_a_line_that_just_fits_is_kept():
    end = "a\nb\nc\nd"
    note = len(f"… 2 more lines, since Juju takes {MOST} bytes\n{end}\n".encode())
    line = "x" * (MOST - note - 1)

    assert shortened(f"{line}\ny\n{end}", "").startswith(f"{line}\n… 1 more lines")
    assert shortened(f"{line}x\ny\n{end}", "").startswith("… 2 more lines")


def test_a_table_of_one_row():
    assert Table([{"port": "p0"}], "none").text().split() == ["port", "p0"]
    assert Table([], "none").text() == "none"


@given(st.integers(MOST - 40, MOST + 40), st.integers(1, 300), st.text(min_size=0, max_size=20))
def test_a_result_is_as_long_as_juju_takes(size: int, width: int, last: str):
    text = "\n".join(["é" * width] * (size // (2 * width + 1))) + f"\n{last}"

    assert len(shortened(text, "see elsewhere").encode()) <= MOST
    assert shortened(text, "").endswith(f"\n{last}")


def test_an_action_with_a_wrong_option_fails_with_the_same_sentence(context: testing.Context[Charm]):
    with pytest.raises(testing.ActionFailed, match="option num-vfs: 0 is not allowed"):
        context.run(context.on.action("plan"), state(**{"num-vfs": 0}))


@pytest.mark.parametrize("action", ["plan", "verify"])
def test_a_format_that_nobody_offers(context: testing.Context[Charm], charm: type[Charm], action: str):
    sentence = "parameter format: 'yaml' is not allowed; set table or json"
    with pytest.raises(testing.ActionFailed, match=sentence):
        context.run(context.on.action(action, params={"format": "yaml"}), state())

    assert charm.calls == []


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "parameter image: is not set; it has no default"),
        ({"image": "fw.txt"}, "parameter image: 'fw.txt' is not allowed; set the name of a .bin file"),
    ],
)
def test_a_wrong_action_parameter(context: testing.Context[Charm], params: dict[str, str], sentence: str):
    with pytest.raises(testing.ActionFailed, match=sentence):
        context.run(context.on.action("burn", params=params), state())


def test_a_tool_s_last_words_fail_an_action_in_one_printable_line(
    context: testing.Context[Charm], charm: type[Charm]
):
    """Others would be no argument of Juju's command."""
    charm.unreadable = OSError("mstconfig failed (3): \0\ud800\nno device")

    with pytest.raises(testing.ActionFailed) as failed:
        context.run(context.on.action("verify"), state())

    assert failed.value.message == "mstconfig failed (3): \ufffd\ufffd no device"
