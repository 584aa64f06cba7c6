# SPDX-License-Identifier: Apache-2.0
"""A charm's page on Charmhub, without the repository: its description, options and actions."""

import re
import textwrap

import pytest
import yaml
from bundle.documents import ROOT, blocks, markdown
from bundle.intents import audited
from check import facts
from intent import expand

CHARMS = {name: yaml.safe_load((ROOT / f"charms/{name}/charmcraft.yaml").read_text()) for name in facts.own()}
BUNDLES = [yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob("bundles/*.yaml"))]
FILES = re.compile(r"\b(examples?|docs|schema|tests|bundles|overlays)/|JSON Schema|charm's examples")

of_each = pytest.mark.parametrize("name", CHARMS)


def commands(name: str, file: str) -> list[str]:
    return [command.text for command in blocks(ROOT / f"charms/{name}/{file}")]


@of_each
def test_the_description_leads_from_the_deployment_to_what_one_sees(name):
    typed = commands(name, "charmcraft.yaml")
    deployed = next(command for command in typed if command.startswith("juju deploy"))
    assert deployed.startswith(f"juju deploy {name} --base ")
    assert any(command.startswith(f"juju run {name}/") for command in typed[typed.index(deployed) :])
    subordinate = CHARMS[name].get("subordinate", False)
    assert (f"juju integrate {name} nova-compute" in typed) == subordinate


@of_each
def test_the_first_commands_of_the_readme_work_before_the_charm_is_on_charmhub(name):
    typed = commands(name, "README.md")
    packed = typed.index(f"pipx run tox -e pack -- {name}")
    deployed = next(command for command in typed if command.startswith("juju deploy"))
    assert deployed.startswith(f"juju deploy ./build/{name}_")
    assert typed[packed + 1] == deployed


@of_each
def test_the_readme_has_the_same_commands(name):
    known = commands(name, "README.md")
    assert [command for command in commands(name, "charmcraft.yaml") if command not in known] == []


@of_each
def test_all_commands_name_the_base_of_the_bundles(name):
    base = min(bundle["default-base"].partition("/")[0] for bundle in BUNDLES)  # the one that README deploys
    told = [*commands(name, "charmcraft.yaml"), *commands(name, "README.md")]
    deployed = [command for command in told if command.startswith("juju deploy")]
    assert len(deployed) >= 3
    for command in deployed:
        assert f"--base {base} " in f"{command} " or f"./build/{name}_{base}-amd64.charm" in command


@of_each
def test_a_parameter_without_a_default_is_required_and_no_other(name):
    for action, body in CHARMS[name]["actions"].items():
        without = {key for key, schema in body.get("params", {}).items() if "default" not in schema}
        assert set(body.get("required", ())) == without, action


def test_options_that_the_fabrics_charm_cannot_do_without_say_so():
    options = CHARMS["cumulus-fabric"]["config"]["options"]
    required = {key for key, option in options.items() if option["description"].startswith("Required")}
    assert required == {"intent", "credentials"}


@of_each
def test_nothing_leads_to_a_file_that_only_the_repository_has(name):
    """Schemas, examples and documents are not packed."""
    texts = [CHARMS[name]["description"]]
    texts += [option["description"] for option in CHARMS[name]["config"]["options"].values()]
    for action in CHARMS[name]["actions"].values():
        texts += [action["description"]]
        texts += [schema["description"] for schema in action.get("params", {}).values()]
    for text in texts:
        assert not FILES.search(text)


@pytest.fixture
def shown(tmp_path):
    """The intent that the description of the fabric's charm shows, as a file."""
    text = markdown(ROOT / "charms/cumulus-fabric/charmcraft.yaml")
    (block,) = re.findall(r"^    networks:\n(?:    .*\n|\n(?=    ))+", text, re.MULTILINE)
    path = tmp_path / "site-fabric.yaml"
    path.write_text(textwrap.dedent(block))
    return path


def test_the_intent_of_the_description_passes_the_fabrics_audit(shown):
    assert audited(shown) == (0, "")


def test_the_intent_of_the_description_has_the_address_of_each_switch(shown):
    fabric = expand.read(shown.read_text(), shown.name)
    assert len(fabric.switches) == 6
    assert all(switch.management for switch in fabric.switches)
