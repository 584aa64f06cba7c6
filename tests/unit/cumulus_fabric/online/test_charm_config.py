# SPDX-License-Identifier: Apache-2.0
"""Options: ten wrong values each give one sentence, a blocked unit, and not one call to a switch."""

from collections.abc import Iterator
from typing import Any

import pytest
from charmkit.output import Output
from config import Options, Rendering, Showing, Switches
from lab.nvue import Certificate
from unit.cumulus_fabric.online.unit import METADATA, Unit, site

F = "9F" * 32
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
WRONG: dict[str, list[Any]] = {
    "ca-certificate": [
        "yes", "ca.pem", "MIIB", "-----BEGIN CERTIFICATE-----", PEM.replace("END", "FIN"),
        PEM.replace("CERTIFICATE", "KEY"), f"{PEM}rest", f"subject\n{PEM}", PEM.replace("II", "§"), " ",
    ],
    "pinned-certificates": [
        "Leaf0-1", "Leaf0-1=", F, f"={F}", f"Leaf0-1={F[:-1]}", f"Leaf0-1={F}00", f"Leaf0-1={'g' * 64}",
        f"Leaf0-1={F} Leaf0-1={F}", f"Leaf0_1={F}", f"Leaf0-1:{F}",
    ],
    "apply-policy": ["", "yes", "Auto", "auto ", "on", "never", "always", "manually", "true", "manual,auto"],
    "apply-order": ["", "All", "roles", "rack", "canary", "leaf", "spine", "one", "all ", "role,all"],
    "canary": ["Leaf0-1 Leaf0-2", "Leaf0_1", "-leaf", "leaf/1", "leaf.1", "é", "a" * 64, "l;", "lea f", "*"],
    "request-timeout": [0, -1, 301, 3600, 10**9, -30, 302, 1000, 65536, -(2**31)],
    "settle-timeout": [0, 4, -1, 901, 3600, 10**9, 1, 2, 65536, -(2**31)],
    "confirm-timeout": [0, 59, -1, 3601, 86400, 10**9, 60, 120, 239, -(2**31)],
    "parallel": [0, -1, 257, 1000, 10**9, -64, 512, 65536, 300, -(2**31)],
}  # fmt: skip


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def unit(certificate: Certificate, patch: pytest.MonkeyPatch) -> Iterator[Unit]:
    with site(certificate, patch) as unit:
        yield unit


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_one_sentence_a_blocked_unit_and_no_call(unit: Unit, name: str, value: Any) -> None:
    before = unit.state
    status = unit.configure(**{name: value}).emit()
    assert status.name == "blocked"
    assert f"option {name}: " in status.message
    assert "\n" not in status.message
    assert "Traceback" not in unit.log
    assert all(not server.calls for server in unit.rack.servers.values())
    unit.state = before


INTENTS = [
    "", "   ", "[]", "networks", "networks: {}", "networks: [oam]", "networks: {oam: {vlan: 0}}",
    "networks: {oam: {vlan: ten}}", "networks: {oam: {vlan: 9}}\nnetworks: {}", "nets: {}",
]  # fmt: skip


@pytest.mark.parametrize("text", INTENTS)
def test_a_wrong_intent_names_its_path(unit: Unit, text: str) -> None:
    before = unit.state
    status = unit.configure(intent=text).emit()
    assert status.name == "blocked"
    assert "intent" in status.message
    assert "Traceback" not in unit.log
    unit.state = before


@pytest.mark.parametrize(
    "value", ["", "text", "TABLE", "xml", "csv", "table ", "0", "none", "toml", "json,nv"]
)
@pytest.mark.parametrize("cls", [Output, Rendering, Showing])
def test_a_wrong_format_is_refused(cls: type, value: str) -> None:
    if cls is Showing and value == "text":
        return
    with pytest.raises(ValueError, match=r"^format: .* is not allowed; expected "):
        cls(format=value)


def test_a_confirmation_is_waited_for_as_long_as_a_wave_may_take() -> None:
    said = "confirm-timeout: 259 is not allowed; expected at least 260, twice settle-timeout and 60 s"
    with pytest.raises(ValueError, match=f"^{said}$"):
        Options(settle_timeout=100, confirm_timeout=259)
    assert Options(settle_timeout=100, confirm_timeout=260)


@pytest.mark.parametrize("value", ["", "5.9", "old", "5.14.0", "new", "AUTO", "5", "5.16", "both", "v5.15"])
def test_a_wrong_dialect_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"^dialect: .* is not allowed; expected auto, 5.14 or 5.15$"):
        Rendering(dialect=value)


def test_names_of_switches_may_be_separated_by_spaces_or_commas() -> None:
    assert Switches("Leaf0-1, Leaf0-2 Spine0").names == ("Leaf0-1", "Leaf0-2", "Spine0")


def test_options_and_charmcraft_yaml_agree() -> None:
    declared = METADATA["config"]["options"]
    defaults = {name.replace("-", "_"): option.get("default") for name, option in declared.items()}
    assert defaults == vars(Options())
