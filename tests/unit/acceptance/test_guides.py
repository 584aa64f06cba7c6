# SPDX-License-Identifier: Apache-2.0
"""The guides' commands run as they are written, and name what the tool has."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from acceptance.__main__ import _parser
from acceptance.measure import parse
from acceptance.measure.ladder import RUNGS
from acceptance.report.verdict import THRESHOLDS
from acceptance.sitefile import _SITE

ROOT = Path(__file__).parents[3]
STEP = (ROOT / "docs/how-to/deploy.md").read_text().partition("\n## 9. ")[2]
GUIDE = (ROOT / "docs/how-to/prove-the-cloud.md").read_text()
LADDER = (ROOT / "docs/explanation/what-the-acceptance-test-measures.md").read_text()
EXAMPLE = (ROOT / "tools/acceptance/site-example.yaml").read_text()
COMMAND = re.compile(r"^    pipx run tox -e acceptance -- ([^#\n]+)", re.MULTILINE)


def test_the_commands_run_as_they_are_written_and_the_deployment_ends_with_a_login(world):
    commands = [shlex.split(line) for line in COMMAND.findall(STEP + GUIDE)]
    assert [command[0] for command in commands] == ["openrc", "apply", "measure", "destroy"]
    (login,) = re.findall(r"^    (ssh -i ~/.ssh/id_ed25519 ubuntu@[\d.]+) +# vm1;", STEP, re.MULTILINE)
    world.site["image-file"] = "jammy-server-cloudimg-amd64.img"
    (world.folder / "jammy-server-cloudimg-amd64.img").write_bytes(b"QFI\xfb")
    (world.folder / "acceptance.yaml").write_text(yaml.safe_dump(world.site))
    world.rungs = {"host": ("tcp-8",), "vf": ("tcp-8",)}
    world.clouds.unlink()
    for command in commands:
        status, printed, err = world.typed(*command)
        assert status == 0, (command, err)
        if command[0] == "openrc":  # the entry names Keystone's address in the model; ours is elsewhere
            world.credentials(
                password=yaml.safe_load(world.clouds.read_text())["clouds"]["rdg"]["auth"]["password"]
            )
        if command[0] == "apply":
            # Neutron takes any free address for it.
            (address,) = re.findall(r"(ubuntu@[\d.]+)   # vm1", printed)
            entered = world.machines([*login.split()[:-1], address, "nproc"], "nproc", 60)
            assert (entered.status, world.machines.scripts[-1]) == (0, ("vm1", "nproc"))
    assert world.openstack.nova.servers == {}


def test_the_tables_of_openstacks_client_have_what_the_cloud_has(applied):
    rows = dict(re.findall(r"^\| (\w+) +\| (.*?) +\|$", GUIDE, re.MULTILINE))
    (port,) = applied.openstack.neutron.of("ports", name="direct_overlay1")
    assert rows["status"] == port["status"]
    for key in ("vif_type", "vnic_type"):
        assert rows[f"binding_{key}"] == port[f"binding:{key}"]
    profile = {key: "" if value is None else str(value) for key, value in port["binding:profile"].items()}
    assert rows["binding_profile"] == ", ".join(
        f"{key}='{profile[key]}'" if profile[key] else f"{key}=" for key in sorted(profile)
    )
    (flavor,) = [each for each in applied.openstack.nova.flavors.values() if each["name"] == "m1.packet"]
    assert [rows["vcpus"], rows["ram"]] == [str(flavor["vcpus"]), str(flavor["ram"])]
    specs = sorted(flavor["extra_specs"].items())
    assert rows["properties"] == ", ".join(f"{key}='{value}'" for key, value in specs)


def test_the_documents_have_every_verb_key_rung_and_check():
    (verbs,) = [action.choices for action in _parser()._actions if action.choices]
    for verb in verbs:
        assert f"`{verb}`" in GUIDE, verb
    for key in _SITE.keys:
        assert re.search(rf"^(# )?{key}:", EXAMPLE, re.MULTILINE), key
    for rung in RUNGS:
        assert f"| {rung.title} |" in LADDER, rung.title
    for check in set(THRESHOLDS) - {"reference"}:
        assert f"| `{check}` |" in LADDER, check


def test_the_guide_has_the_versions_of_tools_to_which_a_remedy_leads():
    (formats,) = re.findall(r"Formats: (.*)\.", parse.__doc__)
    guide = " ".join(GUIDE.split())
    assert [each for each in formats.split(", ") if each not in guide] == []


def test_each_threshold_has_its_source():
    assert all(each["source"] and each["what"] for key, each in THRESHOLDS.items() if key != "reference")
    keys = {(rung.key, measure) for rung in RUNGS for measure in rung.measures}
    for row in THRESHOLDS["reference"]:
        assert row["source"].startswith("RDG")
        assert (row["rung"], row["measure"]) in keys


@pytest.mark.parametrize("tier", ["unit", "type"])
def test_the_tool_is_tested_with_the_packages_that_it_runs_with(tier):
    def pins(name):
        text = (ROOT / f"tests/requirements/{name}.txt").read_text()
        return set(re.findall(r"^(?:openstacksdk|keystoneauth1|requests)==.*?(?= \\)", text, re.MULTILINE))

    assert pins("acceptance")
    assert pins("acceptance") <= pins(tier)
