# SPDX-License-Identifier: Apache-2.0
"""The note in an artifact about its origin."""

import subprocess

import pytest
import stage


@pytest.fixture
def charm(tmp_path):
    directory = tmp_path / "charm"
    directory.mkdir()
    (directory / "pyproject.toml").write_text('[project]\nname = "charm"\nversion = "1.2.3"\n')
    return directory


def git(directory, *arguments):
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", *author, *arguments]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


def committed(directory):
    git(directory, "init", "-q")
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "All")
    return git(directory, "rev-parse", "HEAD")[:12]


def test_the_version_names_the_git_revision(charm):
    revision = committed(charm)
    assert stage.version(charm) == f"1.2.3+git.{revision}"


def test_the_version_tells_that_files_were_changed_after_the_revision(charm):
    revision = committed(charm)
    (charm / "more").touch()
    assert stage.version(charm) == f"1.2.3+git.{revision}.modified"


def test_outside_a_repository_the_version_stands_alone(charm, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(charm.parent))
    assert stage.version(charm) == "1.2.3"


def test_the_command_line_and_documents_of_lib_are_not_packed(tmp_path):
    charm = stage.ROOT / "charms/cumulus-fabric"
    stage.copy(charm, tmp_path / "staged")
    staged = {str(path.relative_to(tmp_path / "staged")) for path in (tmp_path / "staged").rglob("*")}
    assert {"LICENSE", "src/charm.py", "src/standalone/onyx.py", "lib/hostnic/system.py"} <= staged
    assert (charm / "src/cli").is_dir()
    assert not {"src/cli", "lib/charmkit/reboot/README.md"} & staged


@pytest.mark.parametrize("name", ["nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric"])
def test_a_charm_gets_the_packages_that_it_uses(name):
    """The fabric's charm also gets those that read its intent."""
    common = {"charmkit", "converge", "exporter", "hostnic"}
    own = {"intent", "yamlfile"} if name == "cumulus-fabric" else set()
    assert stage.shared(stage.ROOT / "charms" / name) == common | own


def test_an_artifact_of_a_fork_links_to_the_fork():
    github = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "someone/fork"}
    assert stage.links("roce-qos", github, stage.ROOT) == {
        "source": "https://forge.example/someone/fork",
        "documentation": "https://forge.example/someone/fork/blob/HEAD/charms/roce-qos/README.md",
        "issues": "https://forge.example/someone/fork/issues",
        "contact": "https://forge.example/someone/fork/issues",
    }


@pytest.mark.parametrize(
    ("remote", "source", "more"),
    [
        ("https://github.com/someone/fork.git", "https://github.com/someone/fork", True),
        ("https://someone:token@github.com/someone/fork", "https://github.com/someone/fork", True),
        ("git@gitlab.example:group/sub/fork.git", "https://gitlab.example/group/sub/fork", True),
        ("ssh://git@forge.example:2222/~me/fork/", "https://forge.example/~me/fork", False),
        ("git+ssh://me@git.launchpad.net/fork", "", False),
        ("/srv/clones/fork.git", "", False),
        ("../fork", "", False),
    ],
)
def test_without_github_an_artifact_links_to_where_the_clone_comes_from(tmp_path, remote, source, more):
    for command in ("init --quiet", f"remote add origin {remote}"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    links = stage.links("roce-qos", {}, tmp_path)
    assert links.get("source", "") == source
    assert set(links) == (
        {"source", "documentation", "issues", "contact"} if more else {"source"} if source else set()
    )


def test_a_clone_from_nowhere_links_to_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert stage.links("roce-qos", {}, tmp_path) == {}
