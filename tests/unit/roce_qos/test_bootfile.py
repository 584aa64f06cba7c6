# SPDX-License-Identifier: Apache-2.0
"""The file that hooks leave for boot: it comes back as it was, and any other text is one sentence."""

import json
from typing import Any

import pytest
from boot import bootfile, files
from charmkit.fabric import STRICT, Marking, Qos
from converge import StepError
from converge.shape import InvalidValue
from desired import Desired
from lab.modelled import FakeHost

WANTED = Desired(
    ("0000:3b:00.0", "10000:01:00.1"),
    Qos("dscp", (3,), Marking(26, 3), Marking(48, 6), {0: 50, 3: 50, 6: STRICT}),
    vlans=((2, 5),),
    cc_params=(("rp_ai_rate", 5),),
    encap_tos="inherit",
    devices="auto",
    macs=(("0000:3b:00.0", "b8:3f:d2:00:00:00"),),
)


def changed(path: str, value: object) -> str:
    content: Any = json.loads(bootfile.to_json(WANTED))
    here = content
    *parents, last = path.split(".")
    for name in parents:
        here = here[name]
    here[last] = value
    return json.dumps(content)


def test_it_comes_back_as_it_was() -> None:
    assert bootfile.from_json(bootfile.to_json(WANTED)) == WANTED


def test_a_field_of_a_later_revision_is_passed_over() -> None:
    assert bootfile.from_json(changed("later", True)) == WANTED


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("ports", ["3b:00.0"], "ports[0]: '3b:00.0' is not allowed; expected a PCI address with domain"),
        ("ports", ["0000:3b:00.0"] * 2, "each port once"),
        ("qos", None, "qos: an empty value is not allowed; expected a mapping with the keys trust"),
        ("qos.pfc", [8], "qos.pfc[0]: 8 is not allowed; expected a whole number from 0 to 7"),
        ("qos.ets", {"0": 99}, "qos.ets: {'0': 99} is not allowed; expected a share for class 0, and"),
        ("cable", 1000, "cable: 1000 is not allowed; expected a whole number from 0 to 999"),
        ("tos", True, "tos: true is not allowed; expected a whole number from 0 to 255"),
        ("mode", "v3", "mode: 'v3' is not allowed; expected v1 or v2"),
        ("macs", [["0000:3b:00.0", "x"]], "macs[0][1]: 'x' is not allowed; expected a permanent MAC address"),
        ("vlans", [[2]], "vlans[0]: [2] is not allowed; expected a list of a VLAN and its PCP"),
        ("vlans", [[0, 5]], "vlans[0][0]: 0 is not allowed; expected a VLAN from 1 to 4094"),
        ("vlans", [[2, 8]], "vlans[0][1]: 8 is not allowed; expected a PCP from 0 to 7"),
        ("cc_params", [["../x", 1]], "cc_params[0][0]: '../x' is not allowed; expected a parameter as"),
        ("cc_params", [["rp_ai_rate", 1 << 32]], "cc_params[0][1]: 4294967296 is not allowed"),
        ("ecn", 1, "ecn: 1 is not allowed; expected true or false"),
        ("takeover", "no", "takeover: 'no' is not allowed; expected true or false"),
        ("version", 2, "version: 2 is not allowed; expected 1"),
    ],
)
def test_a_wrong_field_is_one_sentence(path: str, value: object, sentence: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        bootfile.from_json(changed(path, value))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"mode": "v3"}, "mode: 'v3' is not allowed"),
        ({"ports": ("0000:3b:00.0", "0000:3b:00.0")}, "ports: "),
        ({"devices": "x" * 70_000}, "at most 65536 characters"),
    ],
)
def test_a_state_that_could_not_be_read_again_is_a_failed_step(
    wrong: dict[str, object], sentence: str
) -> None:
    host = FakeHost()
    steps = files.install_steps(WANTED._replace(**wrong), files.look(host))  # pyright: ignore[reportArgumentType]
    (step,) = (step for step in steps if step.key == bootfile.PATH)

    with pytest.raises(StepError, match=r"^cannot write .*: it could not be read again: ") as failed:
        step.op.run(host)

    assert sentence in failed.value.reason
    assert not host.files.exists(bootfile.PATH)
