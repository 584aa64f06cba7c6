# SPDX-License-Identifier: Apache-2.0
"""The publishing workflow's own script; the real charmcraft's parser reads each call."""

import argparse
import json
import shlex
import shutil
import subprocess
from itertools import pairwise

import pytest
import sbom
import yaml
from charmcraft.application.commands.store import UploadCommand
from stage import ROOT, platforms

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/publish.yaml").read_text())
(UPLOAD,) = (
    step for step in WORKFLOW["jobs"]["publish"]["steps"] if step.get("name") == "Upload and release"
)
CHARMS = sorted(path.parent.name for path in ROOT.glob("charms/*/charmcraft.yaml"))
BASES = [f"ubuntu@{base}-{machine}" for base in ("22.04", "24.04") for machine in ("amd64", "arm64")]
RECORD = """#!/usr/bin/env python3
import json, sys
with open("calls", "a") as calls:
    print(json.dumps(sys.argv[1:]), file=calls)
sys.exit("refused" if "cumulus-fabric" in " ".join(sys.argv) and {refuses} else 0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder, refuses=False, **environment):
    """The exit status, and each call as the real command's parser understands it."""
    tool = folder / ".tox/pack/bin/charmcraft"
    tool.parent.mkdir(parents=True)
    tool.write_text(RECORD.format(refuses=refuses))
    tool.chmod(0o755)
    (folder / "build").mkdir()
    for charm in CHARMS:
        for base in BASES:
            (folder / f"build/{charm}_{base}.charm").touch()
    script = folder / "step.sh"
    script.write_text(UPLOAD["run"])
    # As GitHub starts a step without `shell`.
    done = subprocess.run(
        ["bash", "-e", script], cwd=folder, env={"PATH": "/usr/bin:/bin", **environment}, check=False
    )
    parser = argparse.ArgumentParser(exit_on_error=False)
    UploadCommand({"app": None, "services": None}).fill_parser(parser)
    calls = [json.loads(line) for line in (folder / "calls").read_text().splitlines()]
    assert {verb for verb, *_ in calls} == {"upload"}
    return done.returncode, [parser.parse_args(words) for _, *words in calls]


def test_each_artifact_goes_to_its_charm_and_channel_with_its_resource(folder):
    given = {
        "CHANNEL": "latest/candidate",
        "RESOURCE_NIC_FIRMWARE": "firmware:3",
        "RESOURCE_CUMULUS_FABRIC": "intent:1",
    }
    status, calls = run(folder, **given)
    assert status == 0
    said = [
        (call.name, str(call.filepath), call.release, [(each.name, each.revision) for each in call.resource])
        for call in calls
    ]
    resources = {"nic-firmware": [("firmware", 3)], "cumulus-fabric": [("intent", 1)]}
    assert said == [
        (charm, f"build/{charm}_{base}.charm", ["latest/candidate"], resources.get(charm, []))
        for charm in CHARMS
        for base in BASES
    ]


def test_without_variables_no_resource_is_named(folder):
    _, calls = run(folder, CHANNEL="latest/edge", RESOURCE_NIC_FIRMWARE="", RESOURCE_CUMULUS_FABRIC="")
    assert [call.resource for call in calls] == [[]] * 16


def test_it_ends_at_the_first_artifact_that_charmhub_refuses(folder):
    status, calls = run(folder, refuses=True, CHANNEL="latest/edge")
    assert (status, len(calls)) == (1, 1)


def test_every_resource_of_a_charm_has_its_variable():
    for charm in CHARMS:
        metadata = yaml.safe_load((ROOT / f"charms/{charm}/charmcraft.yaml").read_text())
        variable = f"RESOURCE_{charm.upper().replace('-', '_')}"
        assert (variable in UPLOAD["env"]) == bool(metadata.get("resources")), charm


@pytest.mark.parametrize("ref", ["tag", "by hand"])
def test_a_tag_goes_to_candidate_and_nothing_goes_to_stable(ref):
    on = WORKFLOW[True]  # YAML reads the key `on` as true
    if ref == "tag":
        assert on["push"] == {"tags": ["v*"]}
        assert UPLOAD["env"]["CHANNEL"] == "${{ inputs.channel || 'latest/candidate' }}"
    else:
        channel = on["workflow_dispatch"]["inputs"]["channel"]
        assert channel["default"] in channel["options"]
        assert not [option for option in channel["options"] if "stable" in option]


def test_each_artifact_is_attested_before_any_is_released():
    jobs = WORKFLOW["jobs"]
    assert (jobs["attest"]["needs"], jobs["publish"]["needs"]) == ("pack", "attest")
    matrix = jobs["attest"]["strategy"]["matrix"]
    assert (matrix["charm"], matrix["base"]) == (CHARMS, BASES)
    declared = {
        platform.name.replace(":", "-") for charm in CHARMS for platform in platforms(ROOT / "charms" / charm)
    }
    assert declared == set(BASES)


def test_provenance_is_attested_of_artifact_and_bill_and_the_bill_of_the_artifact():
    attested = [
        step["with"]
        for step in WORKFLOW["jobs"]["attest"]["steps"]
        if step["uses"].startswith("actions/attest@")
    ]
    name = "build/${{ matrix.charm }}_${{ matrix.base }}"
    assert attested == [
        {"subject-path": f"{name}.*"},
        {"subject-path": f"{name}.charm", "sbom-path": f"{name}{sbom.SUFFIX}"},
    ]


def test_all_jobs_take_what_one_job_packed():
    """The released artifact is the attested one: nothing is packed a second time."""
    packing = [name for name, job in WORKFLOW["jobs"].items() if "tox -e pack\n" in yaml.safe_dump(job)]
    taking = [name for name, job in WORKFLOW["jobs"].items() if "download-artifact" in yaml.safe_dump(job)]
    assert (packing, taking) == (["pack"], ["attest", "publish"])


SECURITY = (ROOT / "SECURITY.md").read_text().splitlines()
VERIFY = [shlex.split(line) for line in SECURITY if line.startswith("gh attestation verify ")]


@pytest.mark.parametrize(
    "remote",
    [
        "https://forge.example/someone/charmed-ovn-offload",
        "https://user@forge.example:8443/someone/charmed-ovn-offload.git/",
        "git@forge.example:someone/charmed-ovn-offload.git",
        "ssh://git@forge.example/someone/charmed-ovn-offload.git",
    ],
)
def test_the_documented_command_reads_the_repositorys_name_from_a_clone(tmp_path, remote):
    (command,) = [line for line in SECURITY if line.startswith("export REPOSITORY=")]
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=tmp_path, check=True)
    script = f'{command}; echo "$REPOSITORY"'
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "someone/charmed-ovn-offload\n"


def test_the_documented_commands_ask_for_what_the_workflow_attests():
    """The types are those that actions/attest writes. gh asks for provenance when no type is named."""
    provenance, bill = (dict(pairwise(words[4:])) for words in VERIFY)
    assert {words[3].removesuffix(".charm") for words in VERIFY} <= {
        f"{c}_{b}" for c in CHARMS for b in BASES
    }
    signer = provenance["--signer-workflow"].removeprefix(provenance["--repo"] + "/")
    assert "attest" in yaml.safe_load((ROOT / signer).read_text())["jobs"]
    assert bill["--repo"] == provenance["--repo"] == "$REPOSITORY"
    assert "--predicate-type" not in provenance
    assert bill["--predicate-type"] == "https://cyclonedx.org/bom"


@pytest.mark.skipif(not shutil.which("gh"), reason="GitHub's client is not installed.")
@pytest.mark.parametrize("words", VERIFY, ids=["provenance", "sbom"])
def test_githubs_client_has_every_documented_option(words):
    shown = subprocess.run([*words[:3], "--help"], capture_output=True, text=True, check=False).stdout
    assert [word for word in words if word.startswith("--") and word not in shown] == []
