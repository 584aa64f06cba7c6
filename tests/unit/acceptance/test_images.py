# SPDX-License-Identifier: Apache-2.0
"""Recipes of images hold what documents and measurements say; tests/functional/test_images.py runs them."""

import hashlib
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from acceptance.measure.script import Run
from acceptance.measure.tools import MEASURES
from acceptance.sitefile import SOFTWARE

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "tools/acceptance/images").glob("*.yaml"))
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
    script = files(ROOT / "tools/acceptance/images/dpdk.yaml")["/usr/local/sbin/make-image"]
    assert "dpdk-devbind.py" in script
    assert "dpdk-devbind.py" in MEASURES["testpmd"].tools
    for word in ("/opt/trex", "dpdk-testpmd", "t-rex-64", "--forward-mode=5tswap"):
        assert word in script
        assert any(word in part for part in (MEASURES["dpdk"].serve(RUN), MEASURES["dpdk"].ask(RUN)))


@pytest.mark.parametrize(
    ("digest", "has", "said"),
    [
        (
            "own",
            ("t-rex-64", "automation/trex_control_plane/interactive/trex/stl.py"),
            "ready: DPDK 21.11, TRex",
        ),
        ("", (), "not ready: TREX_SHA256 is not set in the recipe; here, URL has the SHA-256 OWN"),
        ("0" * 64, (), f"not ready: URL has the SHA-256 OWN, not {'0' * 64}"),
        ("own", ("README",), "not ready: URL has no t-rex-64"),
        ("own", ("t-rex-64",), "not ready: URL has no Python interface"),
    ],
    ids=["TRex", "no digest", "another digest", "another archive", "no interface"],
)
def test_only_the_archive_with_the_operators_digest_is_unpacked(digest, has, said, tmp_path):
    with tarfile.open(tmp_path / "trex.tar.gz", "w:gz") as archive:
        for name in has:
            member = tarfile.TarInfo(f"v2.87/{name}")
            member.mode = 0o755
            archive.addfile(member)
    own, url = (
        hashlib.sha256((tmp_path / "trex.tar.gz").read_bytes()).hexdigest(),
        f"file://{tmp_path}/trex.tar.gz",
    )
    for tool, runs in {
        "dpdk-testpmd": "echo 5tswap packet forwarding",
        "dpdk-devbind.py": "true",
        "find": "echo librte_net_mlx5.so",
        "ldd": "true",
        "ln": "true",
        "update-grub": "true",
        "dpkg-query": "printf 21.11",
    }.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{runs}\n")
        (tmp_path / tool).chmod(0o755)
    for folder in ("etc", "opt", "var/tmp", "var/lib", "tmp"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/image-recipe").write_text(
        f"TREX_URL={url}\nTREX_SHA256={own if digest == 'own' else digest}\n"
    )
    script = files(ROOT / "tools/acceptance/images/dpdk.yaml")["/usr/local/sbin/make-image"]
    script = re.sub(r"(?<=[ =>])/(?=(etc|opt|var|tmp)/)", f"{tmp_path}/", script)
    (tmp_path / "etc/machine-id").write_text("1\n")
    done = subprocess.run(
        ["sh"],
        input=script,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.splitlines()[-1].replace(url, "URL").replace(own, "OWN")
    assert last.startswith(f"image: {said}"), done.stderr
    assert (tmp_path / "var/lib/image-ready").exists() is (done.returncode == 0) is said.startswith("ready")
    assert (tmp_path / "opt/trex").exists() is (digest == "own")
