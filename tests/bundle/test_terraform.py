# SPDX-License-Identifier: Apache-2.0
"""The Terraform modules name what the charms have: endpoints, resources, bases, options.

Terraform itself and the Juju provider are not asked here. What is read of their language is what the modules
use of it: blocks, attributes, and maps of one text a line.
"""

import re
from pathlib import Path

import pytest
import yaml
from bundle.declared import CHARMS, ROOT

SITE = ROOT / "bundles/terraform"
FILES = ("main.tf", "outputs.tf", "variables.tf", "versions.tf")
HEAD = r'^(\w+)((?: "[\w-]+")*) \{$'
PROVIDER = {
    "juju_application": {"name", "model_uuid", "config", "constraints", "units", "resources"},
    "juju_integration": {"model_uuid", "for_each", "count"},
    "juju_access_secret": {"model_uuid", "secret_id", "applications", "count"},
}
"""Attributes of the provider's resources since its version 1.0, as far as they are used."""
BUNDLE = yaml.safe_load((ROOT / "bundles/ovn-offload-jammy-yoga.yaml").read_text())


def blocks(path: Path) -> dict[tuple[str, ...], str]:
    """The text inside of each block of a file, by its kind and labels."""
    text = path.read_text()
    assert text.count("{") == text.count("}"), path
    found = {}
    for head in re.finditer(HEAD, text, re.MULTILINE):
        inside = text[head.end() : text.index("\n}\n", head.start()) + 1]
        found[(head[1], *re.findall(r'"([\w-]+)"', head[2]))] = inside
    return found


def attributes(inside: str) -> dict[str, str]:
    """Return the attributes of a block itself, without those of blocks in it."""
    return dict(re.findall(r"^  (\w+)\s+= (.+)$", inside, re.MULTILINE))


def texts(inside: str) -> set[str]:
    """The values of a map in an output."""
    return set(re.findall(r'^    \w+\s+= "([^"]+)"$', inside, re.MULTILINE))


def module(charm: str) -> Path:
    return ROOT / "charms" / charm / "terraform"


def variables(folder: Path) -> dict[str, dict[str, str]]:
    return {name: attributes(inside) for (_, name), inside in blocks(folder / "variables.tf").items()}


FOLDERS = [SITE, *(module(charm.name) for charm in CHARMS)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_module_has_the_providers_files_and_uses_each_variable_that_it_declares(folder):
    assert {path.name for path in folder.glob("*.tf")} == set(FILES)
    declared, used = variables(folder), set(re.findall(r"\bvar\.(\w+)", (folder / "main.tf").read_text()))
    assert set(declared) == used
    assert all({"description", "type"} <= set(each) for each in declared.values())
    assert [name for name, each in declared.items() if "default" not in each] == ["model_uuid"]
    assert list(declared) == sorted(declared)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_resources_have_attributes_that_the_provider_knows(folder):
    for head, inside in blocks(folder / "main.tf").items():
        if head[0] == "resource":
            assert set(attributes(inside)) <= PROVIDER[head[1]], head


@pytest.mark.parametrize("charm", CHARMS, ids=lambda charm: charm.name)
def test_a_charms_module_has_its_name_endpoints_resources_and_bases(charm):
    folder, declared = module(charm.name), charm.charmcraft
    outputs = {name: inside for (_, name), inside in blocks(folder / "outputs.tf").items()}
    for way in ("provides", "requires"):
        assert texts(outputs[way]) == set(declared.get(way) or {})
    ((_, inside),) = blocks(folder / "main.tf").items()
    assert f'    name     = "{charm.name}"\n' in inside
    assert ("resources" in attributes(inside)) == ("resources" in declared)
    assert ("units" in attributes(inside)) == (not declared.get("subordinate"))
    given = variables(folder)
    assert given["app_name"]["default"] == f'"{charm.name}"'
    for name in declared.get("resources") or ():
        assert name in given["resources"]["description"]
    bases = {platform.rpartition(":")[0] for platform in declared["platforms"]}
    allowed = blocks(folder / "variables.tf")["variable", "base"]
    assert set(re.findall(r'"(ubuntu@[\d.]+)"', allowed)) == bases


def test_the_site_relates_the_charms_as_the_bundles_do():
    inside = {head: text for head, text in blocks(SITE / "main.tf").items() if head[0] == "resource"}
    computing = inside["resource", "juju_integration", "nova_compute"]
    beside = {name.replace("_", "-") for name in re.findall(r"= module\.(\w+)$", computing, re.MULTILINE)}
    ours = [ends for ends in BUNDLE["relations"] if ends[1] == "nova-compute:juju-info"]
    assert {f"{name}:juju-info" for name in beside} == {ends[0] for ends in ours if ends[0].endswith("info")}
    fabric = inside["resource", "juju_integration", "fabric"]
    ends = re.findall(r"module\.(\w+?)(?:\[0\])?\.(?:provides|requires)\.(\w+)$", fabric, re.MULTILINE)
    assert [f"{name.replace('_', '-')}:{end}" for name, end in ends] in BUNDLE["relations"]


def test_the_site_sets_options_that_the_charms_have_as_the_bundles_do():
    text = (SITE / "main.tf").read_text()
    for charm in CHARMS:
        options = charm.charmcraft["config"]["options"]
        (row,) = re.findall(rf'^    "{charm.name}"\s+= (.+)$', text, re.MULTILINE)
        assert set(re.findall(r"([\w-]+) = ", row)) <= set(options)
        for name, value in re.findall(r'([\w-]+) = "([^"]*)"', row):
            assert BUNDLE["applications"][charm.name]["options"][name] == value
    given = re.search(r"for name, value in \{ (.+?) \}", text)[1]
    fabric = next(charm for charm in CHARMS if charm.name == "cumulus-fabric")
    assert set(re.findall(r"(\w+) = ", given)) <= set(fabric.charmcraft["config"]["options"])
