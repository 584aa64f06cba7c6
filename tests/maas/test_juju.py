# SPDX-License-Identifier: Apache-2.0
"""Juju on the site's MAAS, from add-cloud to spaces: printed for a shell, or run."""

import os
import subprocess

import pytest
from lab.juju import cli
from lab.maas import KEY
from lab.maassite import SPACES, edit

VERBS = ["add-cloud", "add-credential", "bootstrap", "add-model", "reload-spaces"]
SNAP = "snap/juju/common"
READS = ("clouds", "credentials", "controllers", "models", "spaces")


@pytest.fixture
def juju(tmp_path, monkeypatch):
    """The client, which knows nothing of this MAAS; its spaces are those of the site."""
    path = cli.install(tmp_path / "bin", **{"maas spaces": SPACES})
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / SNAP).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return path


def written(juju):
    """The calls that change something."""
    return [call for call in cli.state(juju)["calls"] if call[0] not in READS]


def change(juju, **known):
    juju.write_text(cli.json.dumps({**cli.state(juju), **known}))


def test_run_takes_juju_from_nothing_to_the_sites_spaces(juju, run):
    assert "Juju is as the site file says" in run("juju", "--run")
    assert [call[0] for call in written(juju)] == VERBS
    known = cli.state(juju)
    assert known["clouds"]["mymaas"]["endpoint"] == "http://192.168.25.1:5240/MAAS"
    assert known["controllers"] == {"maas-controller": {"cloud": "mymaas", "constraints": "tags=juju"}}
    assert known["models"]["maas-controller:openstack"]["model-config"] == ["default-base=ubuntu@22.04"]
    assert known["models"]["maas-controller:openstack"]["spaces"] == SPACES


def test_controller_and_model_have_the_sites_base(juju, run, site):
    edit(site, "base: ubuntu@22.04", "base: ubuntu@24.04")
    edit(site, "hwe-kernel: hwe-22.04", "hwe-kernel: hwe-24.04")
    run("juju", "--run")
    (bootstrap,) = (call for call in written(juju) if call[0] == "bootstrap")
    assert "--bootstrap-base=ubuntu@24.04" in bootstrap
    known = cli.state(juju)
    assert known["models"]["maas-controller:openstack"]["model-config"] == ["default-base=ubuntu@24.04"]


def test_a_space_of_maas_with_capital_letters_is_known_in_lower_case(juju, run, site):
    site.write_text(site.read_text().replace("oam-space", "OAM-Space"))
    assert "Juju is as the site file says" in run("juju", "--run")


def test_a_second_run_changes_nothing(juju, run):
    run("juju", "--run")
    change(juju, calls=[])
    assert "0 steps done" in run("juju", "--run")
    assert written(juju) == []
    assert "# Nothing to do: Juju is as the site file says." in run("juju")


def test_the_api_key_goes_through_a_file_of_the_operator_and_is_gone_afterwards(juju, run, tmp_path):
    run("juju", "--run")
    known = cli.state(juju)
    assert not any(KEY in word for call in known["calls"] for word in call)
    assert [file["mode"] for file in known["files"].values()] == [0o600, 0o600]
    assert any(KEY in file["text"] for file in known["files"].values())
    assert list((tmp_path / SNAP).iterdir()) == []


def test_what_is_printed_does_the_same_in_a_shell(juju, run, tmp_path):
    """Nothing is changed by printing, and the script does not have the key."""
    script = run("juju")
    assert written(juju) == []
    done = subprocess.run(["sh", "-e"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert [call[0] for call in written(juju)] == VERBS
    assert [file["mode"] for file in cli.state(juju)["files"].values()] == [0o600, 0o600]
    assert list((tmp_path / SNAP).iterdir()) == []
    assert "# Nothing to do" in run("juju")


def test_a_step_that_fails_ends_the_run_with_the_clients_words_and_the_next_run_goes_on(juju, run):
    change(juju, **{"no machine": True})
    said = run("juju", "--run", expected=1)
    assert "failed to bootstrap controller maas-controller" in said
    change(juju, **{"no machine": False, "calls": []})
    run("juju", "--run")
    assert [call[0] for call in written(juju)] == VERBS[2:]


def test_a_space_that_juju_does_not_know_is_told_with_its_subnet(juju, run):
    change(juju, **{"maas spaces": {**SPACES, "overlay-space": []}})
    said = run("juju", "--run", expected=1)
    what = "Juju does not know its subnet 172.16.0.0/24"
    assert f"overlay-space  {what}  run pipx run tox -e maas -- apply SITE" in said


def test_other_names_and_another_tag(juju, run, site):
    edit(site, "tag: juju", "tag: control")
    edit(site, "  juju:\n", "  control:\n")
    assert "No machine of the site has tag juju: name the controller's tag" in run("juju", expected=2)
    run("juju", "--run", "--cloud", "lab", "--controller", "one", "--model", "cloud", "--tag", "control")
    known = cli.state(juju)
    assert known["controllers"] == {"one": {"cloud": "lab", "constraints": "tags=control"}}
    assert set(known["models"]) == {"one:cloud"}
