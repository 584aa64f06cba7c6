# SPDX-License-Identifier: Apache-2.0
"""The recorder on a modelled host: what is noted of each operation, and when it stops."""

import json
import re

import pytest
from lab.calibrate import recorder, shell
from lab.calibrate.recorder import THEN, Recorder, error_in
from lab.calibrate.recording import RecordingError, read
from lab.calibrate.sequence import RESET, Operation, Sequence
from lab.calibrate.shell import CardError, find
from lab.calibrate.state import READ, parse
from lab.guest import Completed

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
PARTS = "0000:3b:00.2 PF0VF0\nenp59s0f0v0 NET0VF0\n"
REFUSAL = "Error: mlx5_core: Failed setting eswitch to offloads.\nkernel answers: Invalid argument\n"
CONSTANT = {
    recorder.ABOUT.lstrip("\n"): "kind real\npsid MT_0000000359\nkernel 6.8.0-45-generic\n",
    "hostname; hostname -f 2>/dev/null": "compute-7\ncompute-7.example.com\n",
}


class ModelledHost:
    """Two ports with a mode, a kernel log, and three commands: "switch", "refused", "break"."""

    def __init__(self, ports=f"{P0} enp59s0f0np0\n{P1} enp59s0f1np1\n"):
        self.ports = ports
        self.mode = "legacy"
        self.parts = ""
        self.broken = False
        self.ended = "103.756"
        self.kernel = ["mlx5_core 0000:3b:00.0: before it all"]
        self.trace = []

    def run(self, script, timeout):
        if script.endswith(shell.PORTS):
            return Completed(0, self.ports, "")
        script = script.partition(shell.FUNCTIONS)[2].lstrip("\n")
        first, *then = script.split(f"\necho {THEN}\n")
        if then:
            assert then == [shell.NAMES, READ]
            return Completed(0, f"{THEN}\n".join([self.first(first), self.parts, self.read()]), "")
        if answer := CONSTANT.get(script):
            return Completed(0, answer, "")
        marker, command = script.split(recorder.TIMED)
        self.kernel.append(re.fullmatch('echo "(calibrate .*)" >/dev/kmsg', marker)[1])
        self.trace.append(command)
        done = getattr(self, command)()
        return Completed(
            done.returncode, f"{done.stdout}\n{recorder.TOOK}\n100.250 {self.ended}", done.stderr
        )

    def first(self, script):
        if script.lstrip("\n") == RESET.lstrip("\n"):
            self.trace.append("reset")
            self.mode = "stuck" if self.broken else "legacy"
            return ""
        condition, marker = re.search("if (.*); then.*/(calibrate .*)/d'", script, re.DOTALL).groups()
        self.trace.append(condition)
        return "".join(f"{line}\n" for line in self.kernel).partition(f"{marker}\n")[2]

    def read(self):
        return "".join(f"port{port} mode {self.mode}\nport{port} master \n" for port in (0, 1))

    def switch(self):
        self.mode = "switchdev"
        self.kernel += [
            "mlx5_core 0000:3b:00.2 enp59s0f0v0: Link up",
            "mlx5_core 0000:3b:00.0: E-Switch: Enable: mode(OFFLOADS)",
            "mlx5_core 0000:3b:00.2 enp59s0f0v0: Link up",
            "br-ex: compute-7 has nothing to do with the card",
        ]
        self.parts = PARTS
        return Completed(0, "switch of compute-7 0c:42:a1:00:3b:00\n", "")

    def refused(self):
        return Completed(1, "", REFUSAL)

    def denied(self):
        return Completed(1, "", "environment: line 15: echo: write error: No such device\n")

    def breaks(self):
        self.broken = True
        return Completed(0, "", "")


def sequence(*operations, name="one"):
    return Sequence(name, "What comes of it?", operations)


SWITCH = Operation("to switchdev", "switch", "[ $mode = switchdev ]")
REFUSED = Operation("again", "refused")


def test_each_operation_is_noted_with_what_the_host_answered():
    host = ModelledHost()
    recording = Recorder(find(host)).record([sequence(SWITCH, REFUSED)])
    switched, refused = recording.sequences["one"]
    assert (switched.status, switched.errno, switched.message) == (0, "", [])
    assert switched.output == ["switch of HOST MAC"]
    assert switched.log == [
        "mlx5_core PF0: E-Switch: Enable: mode(OFFLOADS)",
        "mlx5_core PF0VF0 NET0VF0: Link up",
    ]
    assert switched.state == {port: {"mode": "switchdev", "master": ""} for port in ("port0", "port1")}
    assert (refused.status, refused.errno) == (1, "EINVAL")
    assert refused.message == REFUSAL.splitlines()
    assert refused.log == []
    assert (switched.seconds, refused.seconds) == (3.51, 3.51)  # by the host's clock, not the connection's
    assert recording.initial["port0"]["mode"] == "legacy"
    assert recording.card == {"kind": "real", "psid": "MT_0000000359", "kernel": "6.8.0-45-generic"}


def test_bashs_line_number_is_left_out_of_a_message():
    recording = Recorder(find(ModelledHost())).record([sequence(Operation("write", "denied"))])
    (denied,) = recording.sequences["one"]
    assert (denied.errno, denied.message) == ("ENODEV", ["echo: write error: No such device"])


def test_the_card_is_put_back_before_the_first_sequence_and_after_each():
    host = ModelledHost()
    Recorder(find(host)).record([sequence(SWITCH), sequence(REFUSED, name="two")])
    assert host.trace == ["reset", "switch", SWITCH.until, "reset", "refused", "true", "reset"]


def test_nothing_more_is_run_on_a_card_that_cannot_be_put_back():
    host = ModelledHost()
    sequences = [sequence(Operation("break it", "breaks")), sequence(SWITCH, name="two")]
    with pytest.raises(CardError, match="one left the card in another state than it found"):
        Recorder(find(host)).record(sequences)
    assert "switch" not in host.trace


def test_each_operation_is_told_before_it_is_run():
    told = []
    Recorder(find(ModelledHost()), told.append).record([sequence(SWITCH, REFUSED)])
    assert told == ["one: to switchdev", "one: again"]


@pytest.mark.parametrize("ports", ["", f"{P0} enp59s0f0np0\n", f"{P0} a\n0000:5e:00.0 b\n"])
def test_a_host_without_a_card_of_two_ports_is_refused(ports):
    with pytest.raises(CardError, match="mlx5_core has no card with two ports"):
        find(ModelledHost(ports))


def test_of_two_cards_the_first_with_two_ports_is_taken():
    card = find(ModelledHost("0000:3b:00.0 a\n0000:5e:00.1 c\n0000:5e:00.0 b\n"))
    assert (card.addresses, card.netdevs) == (("0000:5e:00.0", "0000:5e:00.1"), ("b", "c"))


@pytest.mark.parametrize(
    ("message", "symbol"),
    [
        ("bash: line 9: echo: write error: Device or resource busy", "EBUSY"),
        ("RTNETLINK answers: Operation not supported", "EOPNOTSUPP"),
        ("netlink error: Numerical result out of range", "ERANGE"),
        ("something else went wrong", ""),
    ],
)
def test_the_error_is_read_from_the_tools_words(message, symbol):
    assert error_in(message) == symbol


def test_a_state_has_an_empty_value_where_nothing_was_said():
    assert parse("port0 mode legacy inline-mode none\nport0 master") == {
        "port0": {"mode": "legacy inline-mode none", "master": ""}
    }


def test_netdevs_are_in_the_order_of_their_ports():
    state = parse("port0 netdevs pf0vf10 p0 pf0vf2")
    assert state["port0"]["netdevs"] == "p0 pf0vf2 pf0vf10"


def test_a_recording_is_the_same_after_writing_and_reading(tmp_path):
    recording = Recorder(find(ModelledHost())).record([sequence(SWITCH, REFUSED)])
    file = tmp_path / "new" / "recording.json"
    recording.write(file)
    assert read(file) == recording
    for told in ("compute-7", "3b:00", "enp59s0", "0c:42"):
        assert told not in file.read_text()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("no JSON", "is no recording: "),
        ("[]", "is no recording of format 1: its format is None"),
        (json.dumps({"format": 2}), "its format is 2"),
        (json.dumps({"format": 1}), "is no complete recording: 'sequences'"),
        (
            json.dumps({"format": 1, "card": {}, "initial": {}, "sequences": {"a": [{}]}}),
            "no complete recording",
        ),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path, content, words):
    file = tmp_path / "recording.json"
    file.write_text(content)
    with pytest.raises(RecordingError, match=re.escape(words)) as refused:
        read(file)
    assert str(file) in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RecordingError, match="cannot be read: No such file"):
        read(tmp_path / "recording.json")
