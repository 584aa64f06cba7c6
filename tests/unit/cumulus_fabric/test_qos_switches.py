# SPDX-License-Identifier: Apache-2.0
"""RoCE on the switches of Demartek's guide, typed on a command line that knows no other commands."""

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from cli import ssh
from converge import Severity, StepError
from intent.model import Dialect
from lab.sshswitch import COMWARE, ONYX, SshSwitch
from output import formats
from standalone import Script, comware, scripts
from unit.cumulus_fabric.fabrics import fabric

pytestmark = pytest.mark.usefixtures("prompt_logins")

PRINTED = Path(__file__).parent / "demartek"
PLATFORMS = {"sn2410": ONYX, "hpe5900": COMWARE}
USER, PASSWORD = "admin", "Correct-Horse-9"


def printed(name: str) -> list[str]:
    """The guide's commands for two ports with its optional part; words that its layout breaks are joined."""
    return (PRINTED / f"{name}.txt").read_text().splitlines()


def script(name: str, change=None) -> Script:
    demartek = fabric("demartek", change)
    return scripts.script_for(demartek, demartek.switch(name))


STARTUP = ["return", "startup saved-configuration RoCEConfiguration.cfg"]
"""The commands that make the guide's file the start-up configuration; ``return`` leaves the system view."""


def typed(name: str, change=None) -> list[str]:
    return [*script(name, change).typed]


def test_onyx_gets_the_guides_commands_in_its_order():
    assert typed("sn2410") == printed("sn2410")


def test_comware_gets_the_guides_commands_with_its_queue_corrected():
    """The guide marks queue 5, where its own map sends nothing, and forgets to leave the table's view.

    It saves a file, but does not make the switch boot with it.
    """
    guide = printed("hpe5900")
    start = guide.index("queue 5 low-limit 150 high-limit 1500")
    assert guide[start : start + 2] == ["queue 5 low-limit 150 high-limit 1500", "queue 5 ecn"]
    corrected = ["queue 1 low-limit 150 high-limit 1500", "queue 1 ecn", "quit"]
    assert typed("hpe5900") == [*guide[:start], *corrected, *guide[start + 2 :], *STARTUP]
    assert "import 5 export 1" in guide


def test_the_correction_is_noted():
    (note,) = script("hpe5900").notes
    assert note.startswith("Demartek's guide turns ECN on for queue 5")
    assert "queue 1 is used here" in note
    demartek = fabric("demartek")
    text = formats.write(demartek, demartek.switch("hpe5900"), Dialect.UNTIL_5_14, "nv")
    assert text.startswith(f"! {note}\nvlan 2\n")
    assert script("sn2410").notes == ()


def test_without_ets_and_ecn_the_guides_optional_part_is_left_out():
    def basic(data):
        del data["roce"]["bandwidth"], data["roce"]["ecn"], data["standalone"]["hpe5900"]["bandwidth"]

    assert not [line for line in typed("sn2410", basic) if "ets" in line or "ecn" in line]
    assert typed("hpe5900", basic) == [*printed("hpe5900")[:16], "save RoCEConfiguration.cfg", *STARTUP]
    assert script("hpe5900", basic).notes == ()


def test_another_priority_moves_everywhere():
    def four(data):
        data["roce"]["priority"] = 4

    assert [
        line.replace("pg4", "pg5").replace("priority 4", "priority 5") for line in typed("sn2410", four)
    ] == (printed("sn2410"))
    made = typed("hpe5900", four)
    assert {"priority-flow-control no-drop dot1p 4", "import 4 export 1", "import 5 export 0"} <= set(made)


def test_lossy_needs_no_flow_control():
    def lossy(data):
        data["roce"]["mode"] = "lossy"

    for name in PLATFORMS:
        made = typed(name, lossy)
        assert not [line for line in made if "priority-flow-control" in line or "lossless" in line]
        assert [line for line in made if "ecn" in line]


def test_roce_off_leaves_vlans():
    def off(data):
        data["roce"]["mode"] = "off"
        data["networks"]["storage"] = {"vlan": 7}

    assert typed("sn2410", off)[:9] == [
        *("vlan 2", "exit", "vlan 7", "exit", "interface ethernet 1/1"),
        *("switchport mode trunk", "switchport trunk allowed-vlan 2", "switchport trunk allowed-vlan add 7"),
        "exit",
    ]
    assert "port trunk permit vlan 2 7" in typed("hpe5900", off)
    assert not [line for name in PLATFORMS for line in typed(name, off) if "qos" in line or "pool" in line]


def test_comware_gets_at_most_ten_vlans_or_ranges_in_one_command():
    def many(data):
        data["networks"] |= {f"odd{vlan}": {"vlan": vlan} for vlan in range(11, 51, 2)}
        data["provider-vlans"] = {"vlans": "100-199,300", "vni-base": 10000}
        data["standalone"]["hpe5900"]["networks"] = [*data["networks"], "provider-vlans"]

    made = script("hpe5900", many)
    permitted = [line.split(" vlan ")[1] for line in made.typed if line.startswith("port trunk permit vlan ")]
    assert permitted == 2 * [
        "2 11 13 15 17 19 21 23 25 27",
        "29 31 33 35 37 39 41 43 45 47",
        "49 100 to 199 300",
    ]
    with SshSwitch(COMWARE, "hpe5900") as switch:
        ssh.push_config("comware", "127.0.0.1", made, login(switch))
    assert switch.shell.refused == []


@pytest.mark.parametrize(("percent", "weights"), [(87, (2, 13)), (90, (1, 9)), (50, (1, 1)), (99, (1, 15))])
def test_weights_of_queues_are_closest_to_the_percentage(percent, weights):
    assert comware.weights(percent) == weights


def test_yaml_and_json_are_for_nvue_only():
    demartek = fabric("demartek")
    with pytest.raises(formats.FormatError, match="sn2410 runs onyx, which takes commands only"):
        formats.write(demartek, demartek.switch("sn2410"), Dialect.UNTIL_5_14, "yaml")


# Typed on a command line.


@pytest.fixture(autouse=True)
def somewhere(monkeypatch, tmp_path):
    """Where ``login`` may keep its host keys."""
    monkeypatch.chdir(tmp_path)


def login(*known, password=PASSWORD) -> ssh.Login:
    """To the first of these switches, or to all at its port."""
    Path("known_hosts").write_text("".join(switch.known_host for switch in known))
    return ssh.Login(USER, password, "known_hosts", known[0].port, timeout=60.0)


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_switch_that_knows_no_other_command_takes_all_of_them(name):
    made = script(name)
    with SshSwitch(PLATFORMS[name], name) as switch:
        ssh.push_config(_platform(name), "127.0.0.1", made, login(switch))
    assert switch.shell.refused == []
    configured = [line for _, line in switch.shell.taken]
    leaving = ("exit", "quit")
    views = ("interface ethernet 1/1", "interface ethernet 1/2")
    sent = [line for line in made.lines if line not in leaving and line not in views]
    sent = [line for line in sent if not line.startswith("interface Ten-GigabitEthernet")]
    assert configured == [*sent, made.save, *STARTUP[1:] * (name == "hpe5900")]
    ports = {at for at, line in switch.shell.taken if "trunk" in line}
    assert len(ports) == 2


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_refused_command_stops_the_script_unsaved(name):
    made = script(name)
    middle = made.lines[len(made.lines) // 2]
    with SshSwitch(PLATFORMS[name], name, broken=[middle]) as switch, pytest.raises(StepError) as caught:
        ssh.push_config(_platform(name), "127.0.0.1", made, login(switch))
    assert caught.value.reason.startswith(f"127.0.0.1 refused '{middle}': % Operation failed")
    assert "nothing was saved" in caught.value.remedy
    assert switch.shell.refused == [middle]
    assert made.save not in [line for _, line in switch.shell.taken]


def test_comware_boots_with_the_file_that_was_saved():
    with SshSwitch(COMWARE, "hpe5900") as switch:
        assert switch.shell.boots == "startup.cfg"
        ssh.push_config("comware", "127.0.0.1", script("hpe5900"), login(switch))
        assert switch.shell.boots == "RoCEConfiguration.cfg"


def test_a_start_up_configuration_that_was_not_changed_is_an_error():
    made = script("hpe5900")
    other = replace(made.startup, command="startup saved-configuration other.cfg")
    with SshSwitch(COMWARE, "hpe5900") as switch, pytest.raises(StepError) as caught:
        ssh.push_config("comware", "127.0.0.1", replace(made, startup=other), login(switch))
    said = "the saved configuration is not the one that it boots with: The specified file does not exist."
    assert (caught.value.reason, caught.value.remedy) == (said, f"run {other.command} on the switch")


def test_a_refused_start_up_configuration_is_an_error():
    made = script("hpe5900")
    with SshSwitch(COMWARE, "hpe5900", broken=[STARTUP[1]]) as switch, pytest.raises(StepError) as caught:
        ssh.push_config("comware", "127.0.0.1", made, login(switch))
    assert caught.value.reason == "the configuration could not be saved: % Operation failed: startup"


def test_a_misspelled_command_is_refused_in_the_switchs_words():
    wrong = Script(("vlan 2", "exit", "traffic-clas 2 bind switch-priority 5"), "config write to RoCEconfig")
    with SshSwitch(ONYX, "sn2410") as switch, pytest.raises(StepError, match="% Unrecognized command"):
        ssh.push_config("onyx", "127.0.0.1", wrong, login(switch))
    assert switch.shell.taken == [("", "vlan 2")]


def test_a_wrong_password_is_named_and_not_shown():
    with SshSwitch(ONYX, "sn2410") as switch, pytest.raises(StepError) as caught:
        ssh.push_config("onyx", "127.0.0.1", script("sn2410"), login(switch, password="Wrong-Donkey-1"))
    assert caught.value.reason == "127.0.0.1 refused the login of admin"
    assert "Donkey" not in f"{caught.value!r}{caught.value.remedy}{caught.value.__context__!r}"


def test_an_unknown_host_key_is_refused():
    with SshSwitch(ONYX, "sn2410") as switch, SshSwitch(ONYX, "other") as other:
        wrong = replace(login(other), port=switch.port)
        with pytest.raises(StepError, match="a host key that differs from the known one"):
            ssh.push_config("onyx", "127.0.0.1", script("sn2410"), wrong)
    assert switch.shell.taken == []


def test_a_switch_that_does_not_answer():
    with SshSwitch(ONYX, "sn2410") as switch:
        gone = login(switch)
    with pytest.raises(StepError, match=r"127\.0\.0\.1 cannot be configured"):
        ssh.push_config("onyx", "127.0.0.1", script("sn2410"), gone)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("MOST", 200, "sends more than 200 bytes"),
        ("SESSION_S", 1e-3, "does not finish its answer within 0.001 s"),
    ],
)
def test_a_session_has_a_limit_of_bytes_and_of_time(monkeypatch, limit, value, said):
    monkeypatch.setattr(ssh, limit, value)
    made = script("sn2410")
    with SshSwitch(ONYX, "sn2410") as switch, pytest.raises(StepError, match=said):
        ssh.push_config("onyx", "127.0.0.1", made, login(switch))
    assert made.save not in [line for _, line in switch.shell.taken]


def test_a_login_does_not_show_its_password():
    secret = ssh.Login(USER, PASSWORD)
    assert PASSWORD not in f"{secret}{secret!r}"
    assert json.dumps({"user": secret.user})


def _platform(name: str) -> str:
    return fabric("demartek").switch(name).platform


# Both of them, as apply does it.


@pytest.fixture
def pair():
    """The guide's two switches at addresses of their own, and one port for both."""
    with ExitStack() as stack:
        one = stack.enter_context(SshSwitch(ONYX, "sn2410"))
        yield one, stack.enter_context(SshSwitch(COMWARE, "hpe5900", address="127.0.0.2", port=one.port))


def managed(data):
    data["standalone"]["sn2410"]["management"] = "127.0.0.1"
    data["standalone"]["hpe5900"]["management"] = "127.0.0.2"


def apply(pair, names=(), told=None):
    """Configure these switches of the guide, or both."""
    demartek = fabric("demartek", managed)
    announce = (told if told is not None else []).append
    return ssh.apply(demartek, scripts.switches(demartek, names), lambda _: login(*pair), announce)


def test_both_are_configured_and_the_correction_is_reported(pair):
    told = []
    found = apply(pair, told=told)
    assert [(each.severity, each.subject) for each in found] == [(Severity.INFO, "hpe5900")]
    assert found[0].what == script("hpe5900").notes[0]
    assert told == ["sn2410: typing 58 commands", "hpe5900: typing 54 commands"]
    assert all(switch.shell.refused == [] and switch.shell.taken for switch in pair)


def test_a_switch_that_refuses_a_command_does_not_stop_the_other(pair):
    pair[0].shell.broken = ("vlan 2",)
    found = apply(pair)
    assert [(each.severity, each.subject) for each in found][:1] == [(Severity.BLOCKED, "sn2410")]
    assert "refused 'vlan 2'" in found[0].what
    assert pair[1].shell.taken


def test_only_the_named_switch_is_changed(pair):
    apply(pair, ["hpe5900"])
    assert not pair[0].shell.taken
    assert pair[1].shell.taken


def test_a_switch_without_an_address_is_named():
    demartek = fabric("demartek")
    found = ssh.apply(demartek, [demartek.switch("sn2410")], lambda _: ssh.Login(USER, PASSWORD), print)
    assert [(each.subject, each.remedy) for each in found] == [
        ("sn2410", "give standalone.sn2410.management")
    ]
