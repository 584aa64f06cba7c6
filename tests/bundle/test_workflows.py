# SPDX-License-Identifier: Apache-2.0
"""GitHub's workflows: what actionlint checks and a missing word would show only there."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))
TOP = {"name", "on", "permissions", "concurrency", "jobs"}
JOB = {
    *("runs-on", "timeout-minutes", "steps", "strategy", "env", "environment", "if", "permissions", "needs"),
}
READS = {"contents": "read"}
PAGES = {**READS, "pages": "write", "id-token": "write"}
"""Permissions of a job that publishes on GitHub Pages (action.yml of deploy-pages)."""
ATTESTS = {**READS, "id-token": "write", "attestations": "write"}
"""Permissions of a job that attests (README of actions/attest)."""
MORE = {("docs", "publish"): PAGES, ("publish", "attest"): ATTESTS}
STEP = {"name", "uses", "with", "run", "env", "if"}
USED = {
    "actions/checkout v4": {"fetch-depth"},
    "actions/cache v4": {"path", "key"},
    "actions/setup-python v5": {"python-version"},
    "actions/upload-artifact v4": {"name", "path", "if-no-files-found"},
    "actions/download-artifact v4": {"name", "path"},
    "actions/upload-pages-artifact v3": {"path"},
    "actions/deploy-pages v4": set(),
    "actions/attest v4": {"subject-path", "sbom-path"},
}
"""Actions and those of their inputs that are used (their action.yml)."""
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
WORD = re.compile(r"'[^']*'|[A-Za-z_][\w.-]*|\S")
CONTEXTS = {"secrets": r"[A-Z_]+", "vars": r"[A-Z_]+", "matrix": None, "inputs": None}


def jobs(path):
    workflow = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in workflow.items()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_keys_are_githubs_and_every_job_ends(path):
    workflow = jobs(path)
    assert workflow.keys() <= TOP
    assert workflow["permissions"] == READS
    for name, job in workflow["jobs"].items():
        assert job.keys() <= JOB
        assert job.get("needs", name) in workflow["jobs"]
        assert job.get("permissions", READS) == MORE.get((path.stem, name), READS)
        assert job["timeout-minutes"] > 0
        for step in job["steps"]:
            assert step.keys() <= STEP
            assert ("uses" in step) != ("run" in step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_get_inputs_that_they_have(path):
    """A tag can be moved to other code; the comment tells the version that the commit is."""
    pinned = re.findall(r"uses: (\S+)@([0-9a-f]{40}) # (v\d+)\.\d+\.\d+\n", path.read_text())
    versions = {f"{name}@{commit}": f"{name} {version}" for name, commit, version in pinned}
    steps = [step for job in jobs(path)["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(pinned) == len(steps)
    for step in steps:
        assert step.get("with", {}).keys() <= USED[versions[step["uses"]]]


def test_an_action_has_one_commit_in_all_workflows():
    used = {found for path in WORKFLOWS for found in re.findall(r"uses: (\S+)@(\S+)", path.read_text())}
    assert len({name for name, _ in used}) == len(used)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_expressions_name_only_what_exists(path):
    workflow = jobs(path)
    dispatch = workflow["on"].get("workflow_dispatch") or {}
    given = set(dispatch.get("inputs", {}))
    for job in workflow["jobs"].values():
        given_by = job.get("strategy", {}).get("matrix", {})
        matrix = set(given_by).union(*given_by.get("include", ()))
        for expression in EXPRESSION.findall(yaml.safe_dump(job)):
            for word in WORD.findall(expression):
                context, dot, name = word.partition(".")
                if not dot or word.startswith("'"):
                    continue
                known = {"matrix": matrix, "inputs": given}.get(context)
                assert name in known if known is not None else re.fullmatch(CONTEXTS[context], name), word


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_are_bash(path):
    scripts = [step["run"] for job in jobs(path)["jobs"].values() for step in job["steps"] if "run" in step]
    assert scripts
    for script in scripts:
        assert "${{ inputs" not in script, "an input belongs into env: as text it could be a command"
        plain = EXPRESSION.sub("word", script)
        done = subprocess.run(["bash", "-n"], input=plain, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script


def test_tiers_that_workflows_run_exist():
    tox = (ROOT / "tox.ini").read_text()
    named = {
        tier for path in WORKFLOWS for tier in re.findall(r"(?:tox|\.ci/run) -e ([\w-]+)", path.read_text())
    }
    assert len(named) > 4
    assert [tier for tier in sorted(named) if f"[testenv:{tier}]" not in tox] == []


PACKS = """#!/bin/sh
mkdir -p build
for name in one two; do echo $name >build/$name.charm; echo $name >build/$name.cdx.json; done
if [ -e packed ] && [ -n "$DIFFERS" ]; then rm build/$DIFFERS; echo other >build/$DIFFERS; fi
touch packed
"""
"""A `pipx run tox -e pack` whose second run may write another file."""


@pytest.mark.parametrize("differs", ["", "one.charm", "one.cdx.json", "two.charm", "two.cdx.json"])
def test_each_night_every_artifact_and_sbom_is_packed_twice_and_compared(tmp_path, differs):
    steps = jobs(ROOT / ".github/workflows/nightly.yaml")["jobs"]["pack"]["steps"]
    script = next(step["run"] for step in steps if "Pack twice" in step.get("name", ""))
    (tmp_path / "pipx").write_text(PACKS)
    (tmp_path / "pipx").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), "DIFFERS": differs}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False
    )  # as GitHub runs a step
    assert (done.returncode != 0) == bool(differs), done.stderr


def test_the_parts_of_functional_are_all_of_it_each_once() -> None:
    (parts,) = jobs(ROOT / ".github/workflows/ci.yaml")["jobs"]["functional"]["strategy"]["matrix"].values()
    files = [
        file
        for part in parts
        for pattern in part.split()
        for path in ROOT.glob(pattern.rstrip("/"))
        if path.is_dir() or not pattern.endswith("/")
        for file in (path.rglob("test_*.py") if path.is_dir() else [path])
    ]
    assert sorted(files) == sorted((ROOT / "tests/functional").rglob("test_*.py"))
