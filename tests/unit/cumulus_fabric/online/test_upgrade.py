# SPDX-License-Identifier: Apache-2.0
"""Switches get another release: drained, one leaf of each rack at a time, and led on from anywhere."""

import hashlib
import threading
from collections.abc import Iterator
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from backups.folder import Folder
from converge import StepError
from converge.shape import InvalidValue
from intent import image
from intent.image import Image
from intent.model import Dialect
from lab.nvue import Fault, merge
from lab.nvue.factory import factory
from rest.images import Images
from tree import render
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import runs, shut
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import InTurn, rack
from unit.cumulus_fabric.online.unit import managed
from unit.cumulus_fabric.online.upgrades import URL, Upgrading
from upgrade import served
from upgrade.steps import Step, next_step

OLD, NEW = "5.12.1", "5.16.0"
LEAVES = ["Leaf0-1", "Leaf0-2"]
ALONE = ["swp23", "swp24"]
"""Ports of servers with a single leg, which the reference guide's first leaf has."""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "backups"))


@pytest.fixture
def three(folder: Folder) -> Iterator[Upgrading]:
    """One spine and two leaves of one rack."""
    with rack(fabric(change=managed), applied=True, release=OLD, fleet=InTurn) as made:
        yield Upgrading(made, NEW, folder)


def leaf(three: Upgrading, **given: Any) -> Any:
    return three(names=["Leaf0-2"], **given)


def expected(three: Upgrading, name: str, release: str) -> dict[str, Any]:
    """Return the intent in the words of this release."""
    switch = three.made.fabric.switch(name)
    assert switch
    return render.tree(three.made.fabric, switch, Dialect.of_release(release))


def has(tree: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return merge(tree, wanted) == tree


def test_a_leaf_is_drained_installed_rebooted_compared_and_returned(three: Upgrading) -> None:
    outcome = leaf(three)
    assert (outcome.verdict, outcome.reasons) == (f"Leaf0-2 runs {NEW}", ())
    assert three.releases() == {"Spine0": OLD, "Leaf0-1": OLD, "Leaf0-2": NEW}
    tree = three.made.applied["Leaf0-2"]
    assert has(tree, expected(three, "Leaf0-2", NEW))
    assert (three.drained(), shut(three.made, "Leaf0-2")) == ([], set())
    actions = ["fetch", "install", "boot-next", "reboot"]
    assert [call for call in three.made.calls("Leaf0-2") if call in actions] == actions
    assert three.images("Leaf0-2").reboots == 1
    order = [line for line in three.lines if line.startswith("Leaf0-2: ") and "hosts" not in line]
    assert [line.partition(": ")[2] for line in order] == [step.value for step in Step]


def test_it_is_drained_before_anything_is_installed(three: Upgrading) -> None:
    seen: list[tuple[str, bool]] = []

    def announce(line: str) -> None:
        seen.append((line, "Leaf0-2" in three.drained()))

    assert not leaf(three, announce=announce).failed
    steps = {f"Leaf0-2: {step.value}" for step in Step}
    assert {drained for line, drained in seen if line in steps} == {True}


def test_a_second_run_writes_nothing(three: Upgrading) -> None:
    assert not leaf(three).failed
    three.made.forget()
    assert leaf(three).verdict == f"nothing to do: every switch runs {NEW}"
    assert three.made.writes() == []


def test_what_ran_before_and_after_is_kept(three: Upgrading, folder: Folder) -> None:
    assert not leaf(three).failed
    history = [each for _, each in folder.history("Leaf0-2")]
    assert (history[-1].release, history[-1].when) == (OLD, "before")
    assert NEW in {each.release for each in history}
    assert folder.history("Leaf0-1")


def test_the_plan_names_the_hosts_that_lose_a_leg_and_writes_nothing(three: Upgrading) -> None:
    three.made.forget()
    found = three.work(names=["Leaf0-2"], sha256="0" * 64).plan()
    assert three.made.writes() == []
    assert [each.sentence() for each in found.shown] == [
        "waves: Leaf0-2",
        f"Leaf0-2: from {OLD} to {NEW}",
        "Leaf0-2: these hosts lose a leg, and keep another one: node1-2",
        f"digest: {found.digest}; to do exactly this, run upgrade with plan={found.digest}",
    ]


def test_without_the_digest_of_the_plan_nothing_is_sent(three: Upgrading) -> None:
    three.made.forget()
    outcome = three.work(names=["Leaf0-2"]).run("p0123456789abcdef")
    assert "is not the plan with the digest p0123456789abcdef" in outcome.reasons[0].what
    assert three.made.writes() == []


def test_a_host_without_another_leg_has_to_be_named(three: Upgrading) -> None:
    three.made.wires.cut.add(("Leaf0-1", "swp9"))
    outcome = leaf(three)
    assert "node1 has no other leg" in outcome.reasons[0].what
    assert "cut-off=" in outcome.reasons[0].remedy
    assert three.releases()["Leaf0-2"] == OLD


def test_a_switch_that_does_not_run_the_intent_is_not_upgraded(three: Upgrading) -> None:
    tree = deepcopy(three.made.applied["Leaf0-2"])
    del tree["bridge"]["domain"]["br_default"]["vlan"]["10"]
    runs(three.made, tree)
    three.made.forget()
    (reason,) = leaf(three).reasons
    assert (reason.what, reason.remedy) == (
        f"runs {OLD}, and differs from the intent",
        "run plan to see how, and apply switch='Leaf0-2'; then run upgrade again",
    )
    assert three.made.writes() == []


# -- interrupted at each step, and led on


@pytest.mark.parametrize("kind", ["reset", "reset-after"])
@pytest.mark.parametrize("call", ["fetch", "install", "boot-next"])
def test_a_request_that_is_lost_ends_the_run_and_the_next_one_leads_on(
    three: Upgrading, call: str, kind: str
) -> None:
    """Also one whose answer alone is lost: the switch is still at that action when the next run begins."""
    three.made.servers["Leaf0-2"].inject(Fault(kind, call=call))
    outcome = leaf(three)
    assert (outcome.failed, outcome.left) == (True, ["Leaf0-2"])
    assert "run upgrade again" in outcome.reasons[0].remedy
    assert three.drained() == ["Leaf0-2"]
    assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"
    assert (three.drained(), three.images("Leaf0-2").reboots) == ([], 1)


@pytest.mark.parametrize("call", ["action", "reboot"])
def test_an_answer_that_is_lost_while_it_waits_ends_nothing(three: Upgrading, call: str) -> None:
    three.made.servers["Leaf0-2"].inject(Fault("reset-after", call=call))
    assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("number", range(1, 9))
def test_a_run_that_is_killed_anywhere_is_led_on(three: Upgrading, number: int) -> None:
    """After each line of its progress: two steps of the drain, four of the image, two of the return."""
    lines: list[str] = []

    def announce(line: str) -> None:
        if not line.startswith("Leaf0-2: these") and line.startswith(("applying", "Leaf0-2: ")):
            lines.append(line)
            if len(lines) == number:
                raise Killed

    with pytest.raises(Killed):
        leaf(three, announce=announce)
    three.made.clock.sleep(3600)  # an action that was begun ends, and what is not confirmed goes back
    assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"
    assert (three.drained(), shut(three.made, "Leaf0-2")) == ([], set())
    assert three.images("Leaf0-2").reboots == 1


def test_the_next_step_follows_from_what_the_switch_shows_alone() -> None:
    wanted = Image(URL.format(NEW), "new.bin", NEW)
    has = Images("1", "1", {"1": OLD}, frozenset())
    assert next_step(wanted, has) is Step.FETCH
    has = has._replace(files=frozenset({"new.bin"}))
    assert next_step(wanted, has) is Step.INSTALL
    has = has._replace(releases={"1": OLD, "2": NEW})
    assert next_step(wanted, has) is Step.BOOT_NEXT
    assert next_step(wanted, has._replace(next="2")) is Step.REBOOT


# -- a switch that comes back otherwise


def test_one_that_comes_back_factory_fresh_is_named_with_the_command_that_helps(three: Upgrading) -> None:
    three.images("Leaf0-2").comes_back = "factory"
    outcome = leaf(three)
    assert [each.sentence() for each in outcome.reasons] == [
        f"Leaf0-2: runs {NEW}, and has lost its configuration; "
        "run apply switch='Leaf0-2', which leaves it drained; then run upgrade again"
    ]
    site = three.work().site
    assert site.apply(["Leaf0-2"]).applied
    assert three.drained() == ["Leaf0-2"]
    assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"
    assert three.drained() == []


def test_one_that_comes_back_in_another_release_is_named(three: Upgrading) -> None:
    three.images("Leaf0-2").comes_back = "old"
    outcome = leaf(three)
    (reason,) = outcome.reasons
    assert (reason.subject, reason.what) == ("Leaf0-2", f"came back with {OLD} instead of {NEW}")
    assert "undrain" in reason.remedy
    assert three.drained() == ["Leaf0-2"]
    three.images("Leaf0-2").comes_back = "kept"
    assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"


def test_one_that_does_not_come_back_is_named(three: Upgrading) -> None:
    three.images("Leaf0-2").comes_back = "never"
    (reason,) = leaf(three).reasons
    assert reason.sentence() == (
        "Leaf0-2: has not answered for 1800 s since its reboot; "
        "look at its console; once it answers, run upgrade again"
    )
    three.images("Leaf0-2").boot()
    three.images("Leaf0-2").comes_back = "kept"
    assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"


def test_one_that_comes_back_with_the_factorys_password_is_named(three: Upgrading) -> None:
    server = three.made.servers["Leaf0-2"]
    box = server.switch.images
    boot = box.boot

    def forgets() -> None:
        boot()
        server.password = "cumulus"

    box.comes_back, box.boot = "factory", forgets
    (reason,) = leaf(three).reasons
    assert reason.what.startswith("after its reboot: the switch refused user cumulus")
    assert "first-password" in reason.remedy
    assert "apply switch='Leaf0-2'" in reason.remedy


def test_a_release_that_installs_no_image_is_led_on_after_onie(folder: Folder) -> None:
    with rack(fabric(change=managed), applied=True, release="5.9.2") as made:
        three = Upgrading(made, NEW, folder)
        told = [each.what for each in three.work(names=["Leaf0-2"]).plan().findings]
        assert "5.9.2 installs no image by NVUE: upgrade drains it" in told
        (reason,) = leaf(three).reasons
        assert reason.what == "its release installs no image by NVUE: 5.11 and later do"
        assert "ONIE" in reason.remedy
        assert three.drained() == ["Leaf0-2"]
        box = made.servers["Leaf0-2"].switch
        box.become(NEW)  # the operator installs it, and the configuration is gone
        box.restart(factory("cumulus", new=True), fresh=True)
        (reason,) = leaf(three).reasons
        assert "run apply switch='Leaf0-2', which leaves it drained" in reason.remedy
        assert three.work().site.apply(["Leaf0-2"]).applied
        assert leaf(three).verdict == f"Leaf0-2 runs {NEW}"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("server", "fetching the image: Failed to fetch cumulus-linux-5.16.0-mlx-amd64.bin: 404 Not Found"),
        ("disk", "installing the image: The disk is too small for a second partition"),
    ],
)
def test_what_the_switch_refuses_is_said_and_the_switch_stays_drained(
    three: Upgrading, wrong: str, said: str
) -> None:
    box = three.images("Leaf0-2")
    if wrong == "server":
        box.server.clear()
    else:
        box.partitions = {1: OLD}
    (reason,) = leaf(three).reasons
    assert (reason.subject, reason.what) == ("Leaf0-2", said)
    assert "run upgrade again" in reason.remedy
    assert three.drained() == ["Leaf0-2"]


# -- several switches


def test_one_leaf_of_each_rack_at_a_time_and_each_spine_alone_the_canary_first(folder: Folder) -> None:
    with rack(fabric(), applied=True, release=OLD, fleet=InTurn) as made:
        six = Upgrading(made, NEW, folder)
        found = six.work(canary="Leaf1-2", cut_off=ALONE).plan()
        assert [list(wave) for wave in found.waves] == [
            ["Leaf1-2"],
            ["Spine0"],
            ["Spine1"],
            ["Leaf0-1", "Leaf1-1"],
            ["Leaf0-2"],
        ]
        at_once: list[set[str]] = []

        def announce(_: str) -> None:
            away = {n for n, s in made.servers.items() if s.switch.images.down or n in six.drained()}
            at_once.extend([away] if away and away not in at_once else [])

        outcome = six(canary="Leaf1-2", cut_off=ALONE, announce=announce)
        assert (outcome.reasons, outcome.left) == ((), [])
        assert set(six.releases().values()) == {NEW}
        assert six.drained() == []
        racks = [{name[:5] for name in away} for away in at_once]
        assert all(len(names) == len(away) for names, away in zip(racks, at_once, strict=True))


def test_it_ends_at_the_first_finding_and_the_rest_stays_in_use(three: Upgrading) -> None:
    three.images("Leaf0-1").comes_back = "never"
    outcome = three(canary="Leaf0-1", names=LEAVES)
    assert (list(outcome.done), list(outcome.left)) == ([], ["Leaf0-1", "Leaf0-2"])
    assert three.releases()["Leaf0-2"] == OLD
    assert three.drained() == ["Leaf0-1"]
    assert outcome.verdict.startswith("not yet upgraded: Leaf0-1, Leaf0-2; run upgrade again when")


def test_a_finding_that_was_not_there_before_ends_it(three: Upgrading) -> None:
    """A cable of the upgraded leaf is out afterwards."""
    box = three.images("Leaf0-2")
    boot = box.boot

    def loses_a_cable() -> None:
        boot()
        three.made.wires.cut.add(("Leaf0-2", "swp10"))

    box.boot = loses_a_cable
    outcome = three(canary="Leaf0-2", names=LEAVES)
    assert outcome.failed
    assert any("Leaf0-2 bond2" in each.subject or "swp10" in each.sentence() for each in outcome.reasons)
    assert three.releases()["Leaf0-1"] == OLD


def test_a_run_may_take_one_wave(three: Upgrading) -> None:
    outcome = three(canary="Leaf0-2", names=LEAVES, most=1)
    rest = "not yet upgraded: Leaf0-1; run upgrade again for the next ones"
    assert outcome.verdict == f"Leaf0-2 runs {NEW}; {rest}"


# -- the image


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://host/cumulus-linux-5.15.0-mlx-amd64.bin", "an http or https address"),
        ("http://host/latest.bin", "one whose file name has the release"),
        ("http://host/cumulus-linux-5.15.0?token=secret", "one whose file name has the release"),
    ],
)
def test_what_is_no_image_is_refused_in_one_sentence(url: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said) as refused:
        image.read("image", url)
    assert "secret" not in str(refused.value)


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if "moved" in self.path else 200)
        self.send_header("Location", "http://192.0.2.9/other.bin")
        self.end_headers()
        self.wfile.write(b"an image")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def operators_server() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_image_on_the_server_is_compared_with_its_checksum(operators_server: str) -> None:
    right = hashlib.sha256(b"an image").hexdigest()
    served.check(Image(f"{operators_server}/a.bin", "a.bin", NEW, right))
    with pytest.raises(StepError, match=f"has the SHA-256 {right}, not {'0' * 64}"):
        served.check(Image(f"{operators_server}/a.bin", "a.bin", NEW, "0" * 64))
    with pytest.raises(StepError, match="the server answers 302"):
        served.check(Image(f"{operators_server}/moved.bin", "moved.bin", NEW, right))


def test_nothing_is_drained_for_another_image(three: Upgrading) -> None:
    def check(_: Image) -> None:
        raise StepError("has another one", "put the right image there")

    three.made.forget()
    (reason,) = leaf(three, sha256="0" * 64, check=check).reasons
    assert (reason.subject, reason.what) == ("image", "has another one")
    assert three.made.writes() == []


# -- the action and the verb


def test_the_action_upgrades_one_wave(certificate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from unit.cumulus_fabric.online.unit import site

    with site(certificate, monkeypatch, applied=True, release=OLD) as unit:
        for server in unit.rack.servers.values():
            server.switch.images.server = {URL.format(NEW): NEW}
        unit.configure(canary="Leaf0-2").emit()
        given = {"image": URL.format(NEW), "switch": " ".join(LEAVES)}
        assert "Leaf0-2; then Leaf0-1" in unit.action("upgrade", **given)["plan"]
        assert unit.writes == []
        done = unit.action("upgrade", plan=unit.digest("upgrade", **given), **given)
        assert (done["upgraded"], done["left"]) == ("Leaf0-2", "Leaf0-1")
        assert unit.rack.servers["Leaf0-2"].switch.release == NEW
        said = unit.failure("upgrade", image="nothing")
        assert said.startswith("parameter image: 'nothing' is not allowed; set an http or https address")


def test_the_verb(shell: Shell) -> None:
    for name, server in shell.rack.servers.items():
        server.switch.become(OLD)
        server.switch.images.partitions[1] = OLD
        server.switch.images.server = {URL.format(NEW): NEW}
        assert name
    assert shell("apply")[0] == 0
    status, out, _ = shell("upgrade", "--image", URL.format(NEW), "--switch", "Leaf0-2")
    assert (status, out.splitlines()[-1]) == (0, "nothing was sent to any switch")
    digest = out.rpartition("--plan ")[2].split()[0]
    status, out, _ = shell("upgrade", "--image", URL.format(NEW), "--switch", "Leaf0-2", "--plan", digest)
    assert (status, out) == (0, f"Leaf0-2 runs {NEW}\n")
    status, _, err = shell("upgrade", "--image", "x")
    assert (status, err.startswith("--image: 'x' is not allowed; give an http or https address")) == (2, True)


def test_a_switch_that_is_silent_is_no_switch_that_runs_the_release(shell: Shell, three: Upgrading) -> None:
    shell.rack.servers["Leaf0-2"].password = "another"
    status, out, _ = shell("upgrade", "--image", URL.format(NEW), "--switch", "Leaf0-2")
    assert status == 1
    assert "the switch refused user cumulus" in out
    assert "nothing to do" not in out
    three.made.servers["Leaf0-2"].password = "another"
    assert leaf(three).verdict == "nothing was done"
