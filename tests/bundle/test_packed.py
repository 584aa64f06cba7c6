# SPDX-License-Identifier: Apache-2.0
"""The charms' metadata as charmcraft packs it is the one that the checker holds bundles against."""

import zipfile
from pathlib import Path

import pytest
import yaml
from check import facts

ROOT = Path(__file__).parents[2]
PACKED = sorted(ROOT.glob("build/*.charm"))


@pytest.mark.skipif(not PACKED, reason="No charm is packed: run tox -e pack first.")
@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_a_packed_charm_declares_what_its_charmcraft_yaml_does(path):
    name = path.name.partition("_")[0]
    if path.stat().st_mtime < (ROOT / f"charms/{name}/charmcraft.yaml").stat().st_mtime:
        pytest.skip(f"{path.name} was packed before its charmcraft.yaml changed: run tox -e pack.")
    with zipfile.ZipFile(path) as archive:
        metadata, config = (yaml.safe_load(archive.read(f"{name}.yaml")) for name in ("metadata", "config"))
    found = facts.of_charm(name, "local", metadata, config)
    declared = facts.own()[name]
    assert found.subordinate == declared.subordinate
    assert found.endpoints == declared.endpoints
    assert found.extra_bindings == declared.extra_bindings
    assert (found.options, found.defaults) == (declared.options, declared.defaults)
