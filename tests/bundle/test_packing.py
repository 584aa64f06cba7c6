# SPDX-License-Identifier: Apache-2.0
"""Whoever packs charms by the documents has what packing needs, and needs no root for it."""

import importlib.util
import os
import re
import subprocess

import pytest
from bundle.documents import DOCUMENTS, ROOT, blocks, inline, steps

GUIDE = ROOT / "docs/how-to/deploy.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
STEP_0 = "deploy.md#0-before-the-first-command"
PACKING = re.compile(r"pipx run tox -e pack$")
PACKERS = [
    path for path in DOCUMENTS if any(PACKING.search(each.text) for each in (*blocks(path), *inline(path)))
]
"""Documents that have the reader pack."""


@pytest.fixture
def base(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/pack")
    spec = importlib.util.spec_from_file_location("base", ROOT / "tests/pack/base.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def machine(base, monkeypatch, tmp_path):
    """One that has all packages, is used by a user, and answers a request for a namespace with a status."""

    def with_(namespace, apparmor=None, user=1000):
        def run(command, **_):
            if command[0] == "dpkg-query":
                return subprocess.CompletedProcess(
                    command, 0, "".join(f"{name} installed\n" for name in base.PACKAGES)
                )
            return subprocess.CompletedProcess(command, namespace)

        switch = tmp_path / base.APPARMOR.name
        if apparmor is not None:
            switch.write_text(apparmor)
        monkeypatch.setattr(base, "APPARMOR", switch)
        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(os, "geteuid", lambda: user)
        return base

    return with_


def installed(commands):
    """The packages that commands install with apt."""
    return {
        word
        for command in commands
        for words in command.simple
        if "install" in words and {"apt", "apt-get"} & set(words)
        for word in words
    }


def test_step_0_installs_what_packing_looks_for_before_it_packs(base):
    step = steps(GUIDE)["0."]
    packing = next(number for number, command in enumerate(step) if PACKING.search(command.text))
    assert {*base.PACKAGES, "git", "pipx"} <= installed(step[:packing])


@pytest.mark.parametrize("path", PACKERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_document_that_packs_leads_to_step_0(path):
    assert path in (GUIDE, CONTRIBUTING) or STEP_0 in path.read_text()


def test_the_contributors_table_names_the_packages(base):
    (row,) = re.findall(r"^\| `pipx run tox -e pack` .*$", CONTRIBUTING.read_text(), re.MULTILINE)
    assert row.rpartition(" | ")[2] == f"{', '.join(base.PACKAGES)} |"


def test_a_machine_with_all_of_it_can_pack_for_a_user(machine):
    assert machine(namespace=0).unfit() is None


def test_where_apparmor_refuses_the_namespace_the_sentence_has_what_allows_it(machine):
    """Ubuntu from 24.04 on. Packing as root would leave files of root's, which stop the user's next tox."""
    assert machine(namespace=1, apparmor="1\n").unfit() == (
        "Packing needs a mount namespace, which AppArmor refuses users here; to allow it until the next "
        "boot, run: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    )


def test_step_0_allows_the_namespace(machine):
    reason = machine(namespace=1, apparmor="1\n").unfit()
    step = steps(GUIDE)["0."]
    (setting,) = re.findall(r"kernel\.\S+", reason)
    words = next(words for command in step for words in command.simple if setting in words)
    assert words[:3] == ["sudo", "sysctl", "-e"], "22.04 does not have this setting"


@pytest.mark.parametrize(("apparmor", "user"), [(None, 1000), ("0\n", 1000), ("1\n", 0)])
def test_any_other_machine_without_a_namespace_leaves_packing_to_another(machine, apparmor, user):
    """Containers, for root too, and kernels whose administrator allows none."""
    assert machine(1, apparmor, user).unfit() == (
        "Packing needs a mount namespace, which this machine refuses: pack on another, in a clone of this "
        "commit, and copy its build/*.charm here."
    )
