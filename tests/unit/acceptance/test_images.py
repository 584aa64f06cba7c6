# SPDX-License-Identifier: Apache-2.0
"""Recipes of images hold what documents and measurements say; tests/functional/test_images.py runs them."""

import subprocess
from pathlib import Path

import pytest
import yaml
from acceptance.measure.tools import MEASURES, Run
from acceptance.sitefile import SOFTWARE

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "tests/acceptance/images").glob("*.yaml"))
RUN = Run("33.33.33.11", "33.33.33.10", 5, 20, 18)
GUIDE = (ROOT / "docs/how-to/prove-the-cloud.md").read_text()

of_each = pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)


def files(recipe: Path) -> dict[str, str]:
    return {file["path"]: file["content"] for file in yaml.safe_load(recipe.read_text())["write_files"]}


def test_each_software_has_one_recipe_that_the_guide_names():
    told = [line for path in RECIPES for line in path.read_text().splitlines() if "`software: [" in line]
    assert sorted(word for word in SOFTWARE for line in told if word in line) == sorted(SOFTWARE)
    for path in RECIPES:
        assert f"--user-data {path.relative_to(ROOT)}" in GUIDE


@of_each
def test_each_script_of_a_recipe_is_one_that_a_shell_reads(recipe):
    assert recipe.read_text().startswith("#cloud-config\n")
    scripts = [text for text in files(recipe).values() if text.startswith("#!/bin/sh\n")]
    assert scripts
    for script in scripts:
        assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


@of_each
def test_the_instance_shuts_down_only_after_all_was_checked(recipe):
    content = yaml.safe_load(recipe.read_text())
    assert content["runcmd"] == [["make-image"]]
    (mark,) = content["power_state"]["condition"][2:]
    *_, marked, said = files(recipe)["/usr/local/sbin/make-image"].splitlines()
    assert marked == f"touch {mark}"
    assert said.startswith('echo "image: ready: ')


def test_trex_and_dpdk_are_where_the_measurement_looks_for_them():
    script = files(ROOT / "tests/acceptance/images/dpdk.yaml")["/usr/local/sbin/make-image"]
    for word in ("/opt/trex", "dpdk-testpmd", "t-rex-64", "--forward-mode=5tswap"):
        assert word in script
        assert any(word in part for part in (MEASURES["dpdk"].serve(RUN), MEASURES["dpdk"].ask(RUN)))
