# SPDX-License-Identifier: Apache-2.0
"""The bill of materials says what is in the artifact, and nothing else."""

import hashlib
import json
import re
import subprocess
import zipfile

import pytest
import sbom
from stage import ROOT
from test_artifact import GOOD, SITE, packed

PACKED = sorted(ROOT.glob("build/*.charm"))
NOON = 1_700_000_000


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def licensed(*lines):
    """The good artifact, whose package says this of its licence."""
    head = "Metadata-Version: 2.4\n" + GOOD[f"{SITE}/outside-1.dist-info/METADATA"]
    return {**GOOD, f"{SITE}/outside-1.dist-info/METADATA": head + "\n".join(lines) + "\n"}


MIT = licensed("License-Expression: MIT")


def billed(tmp_path, files=MIT):
    artifact = packed(tmp_path, files)
    bill = sbom.write(artifact, NOON)
    return artifact, bill, json.loads(bill.read_text())


def test_a_bill_has_the_charm_its_packages_and_each_file(tmp_path):
    artifact, bill, content = billed(tmp_path)
    assert bill.name == "roce-qos_demo.cdx.json"
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert content["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    charm = content["metadata"]["component"]
    assert (charm["name"], charm["version"]) == ("roce-qos", "1.2.3+git.0123456789ab")
    assert charm["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    whole = hashlib.sha256(artifact.read_bytes()).hexdigest()
    assert charm["hashes"] == [{"alg": "SHA-256", "content": whole}]
    (package,) = content["components"]
    assert (package["name"], package["version"], package["purl"]) == ("outside", "1", "pkg:pypi/outside@1")
    assert package["licenses"] == [{"license": {"id": "MIT"}}]
    of_package = {item["name"]: item["hashes"] for item in package["components"]}
    of_charm = {item["name"]: item["hashes"] for item in charm["components"]}
    assert not of_package.keys() & of_charm.keys()
    assert of_package.keys() == {name for name in MIT if name.startswith(SITE)}
    assert of_package | of_charm == {
        name: [{"alg": "SHA-256", "content": sha256(text)}] for name, text in MIT.items()
    }
    assert sbom.faults(artifact, bill) == []


@pytest.mark.parametrize(
    ("lines", "choice"),
    [
        (["License-Expression: MIT OR Apache-2.0"], {"expression": "MIT OR Apache-2.0"}),
        (["License: Apache-2.0"], {"license": {"id": "Apache-2.0"}}),
        (
            ["Classifier: License :: OSI Approved :: Apache Software License"],
            {"license": {"id": "Apache-2.0"}},
        ),
    ],
)
def test_a_licence_is_named_as_spdx_does(lines, choice, tmp_path):
    artifact, bill, content = billed(tmp_path, licensed(*lines))
    assert content["components"][0]["licenses"] == [choice]
    assert sbom.faults(artifact, bill) == []


@pytest.mark.parametrize("lines", [[], ["License: what the authors like"]])
def test_a_package_without_a_known_licence_is_a_fault(lines, tmp_path):
    artifact, bill, _ = billed(tmp_path, licensed(*lines))
    assert sbom.faults(artifact, bill) == ["its SBOM has no SPDX licence for outside 1"]


def test_two_bills_of_one_artifact_are_the_same(tmp_path):
    _, bill, _ = billed(tmp_path)
    first = bill.read_bytes()
    billed(tmp_path)
    assert bill.read_bytes() == first


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        (MIT | {"src/more.py": ""}, ["its SBOM has no file src/more.py"]),
        (
            {name: text for name, text in MIT.items() if name != "src/plan.py"},
            ["its SBOM has the file src/plan.py, which it lacks"],
        ),
        (MIT | {"src/plan.py": "# other\n"}, ["its SBOM has another hash of src/plan.py"]),
        (
            {name: text for name, text in MIT.items() if "outside" not in name},
            [
                "its SBOM has the package outside 1, which it lacks",
                *(
                    f"its SBOM has the file {SITE}/{name}, which it lacks"
                    for name in (
                        "outside-1.dist-info/METADATA",
                        "outside-1.dist-info/RECORD",
                        "outside/__init__.py",
                    )
                ),
            ],
        ),
        (
            MIT
            | {
                f"{SITE}/hidden-2.dist-info/METADATA": "Name: hidden\nVersion: 2\n",
                f"{SITE}/hidden-2.dist-info/RECORD": "",
            },
            [
                "its SBOM has no package hidden 2",
                f"its SBOM has no file {SITE}/hidden-2.dist-info/METADATA",
                f"its SBOM has no file {SITE}/hidden-2.dist-info/RECORD",
            ],
        ),
        (
            MIT | {"version": "1.2.4+git.0123456789ab\n"},
            ["its SBOM has another hash of version", "its SBOM has another version of the charm"],
        ),
    ],
)
def test_an_artifact_that_differs_from_its_bill_is_found(files, faults, tmp_path):
    _, bill, _ = billed(tmp_path)
    found = sbom.faults(packed(tmp_path, files), bill)
    whole = "its SBOM has another hash of the artifact"
    assert whole in found
    assert [fault for fault in found if fault != whole] == faults


def test_the_documented_command_tells_whether_the_artifact_is_the_one_described(tmp_path):
    lines = (ROOT / "SECURITY.md").read_text().splitlines()
    (command,) = (line for line in lines if line.startswith("jq ") and "sha256sum" in line)
    artifact = packed(tmp_path, MIT)
    (named,) = re.findall(r"\S+\.cdx\.json", command)
    artifact = artifact.rename(tmp_path / named.replace(sbom.SUFFIX, ".charm"))
    sbom.write(artifact, NOON)

    def checked():
        return subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert (checked().returncode, checked().stdout) == (0, f"{artifact.name}: OK\n")
    artifact.write_bytes(artifact.read_bytes() + b"more")
    assert (checked().returncode, checked().stdout) == (1, f"{artifact.name}: FAILED\n")


@pytest.mark.skipif(not PACKED, reason="No charm is packed: run tox -e pack first.")
@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_every_packed_charm_equals_its_bill(path):
    assert sbom.faults(path, sbom.beside(path)) == []
    content = json.loads(sbom.beside(path).read_text())
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    owners = [content["metadata"]["component"], *content["components"]]
    assert sorted(item["name"] for owner in owners for item in owner["components"]) == sorted(names)
    folders = {name.split("/")[4] for name in names if ".dist-info/" in name}
    assert len(content["components"]) == len(folders) > 0
