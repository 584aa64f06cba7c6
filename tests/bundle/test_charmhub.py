# SPDX-License-Identifier: Apache-2.0
"""What somebody sees of a charm on Charmhub, without the repository: its description, options and actions."""

import pytest
import yaml
from bundle.documents import ROOT, blocks
from check import facts

CHARMS = {name: yaml.safe_load((ROOT / f"charms/{name}/charmcraft.yaml").read_text()) for name in facts.own()}
BUNDLES = [yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob("bundles/*.yaml"))]

of_each = pytest.mark.parametrize("name", CHARMS)


def commands(name: str, file: str) -> list[str]:
    return [command.text for command in blocks(ROOT / f"charms/{name}/{file}")]


@of_each
def test_the_description_leads_from_the_deployment_to_what_one_sees(name):
    typed = commands(name, "charmcraft.yaml")
    deployed = next(command for command in typed if command.startswith("juju deploy"))
    assert deployed.startswith(f"juju deploy {name} --channel latest/stable --base ")
    assert any(command.startswith(f"juju run {name}/") for command in typed[typed.index(deployed) :])
    subordinate = CHARMS[name].get("subordinate", False)
    assert (f"juju integrate {name} nova-compute" in typed) == subordinate


@of_each
def test_the_readme_has_the_same_commands(name):
    known = commands(name, "README.md")
    assert [command for command in commands(name, "charmcraft.yaml") if command not in known] == []


@of_each
def test_all_commands_name_the_base_of_the_bundles(name):
    (base,) = {bundle["default-base"].partition("/")[0] for bundle in BUNDLES}
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
