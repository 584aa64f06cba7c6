# SPDX-License-Identifier: Apache-2.0
"""The look into an artifact finds what would break a charm on its machine, and what it need not have."""

import random
import zipfile

import artifact
import pytest
from charmcraft.dispatch import DISPATCH_SCRIPT_TEMPLATE
from stage import ROOT, Platform

JAMMY = Platform("ubuntu@22.04:amd64")
NOBLE = Platform("ubuntu@24.04:amd64")
SITE = "venv/lib/python3.10/site-packages"

GOOD = {
    "dispatch": DISPATCH_SCRIPT_TEMPLATE.format(entrypoint="src/charm.py"),
    "LICENSE": "the licence\n",
    "icon.svg": "<svg/>\n",
    "version": "1.2.3+git.0123456789ab\n",
    "manifest.yaml": "bases: [{name: ubuntu, channel: '22.04', architectures: [amd64]}]\n",
    "src/charm.py": "import json\nimport plan\n\n\ndef later():\n    from hostnic.devices import pci\n",
    "src/plan.py": "from converge import Plan\nfrom outside import thing\n",
    "lib/converge/__init__.py": "class Plan:\n    pass\n",
    "lib/hostnic/__init__.py": "",
    "lib/hostnic/devices/__init__.py": "",
    "lib/hostnic/devices/pci.py": "",
    "venv/pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = false\n",
    f"{SITE}/outside/__init__.py": "thing = 1\n",
    f"{SITE}/outside-1.dist-info/METADATA": "Name: outside\nVersion: 1\n",
    f"{SITE}/outside-1.dist-info/RECORD": "outside/__init__.py,,\n",
}


def packed(tmp_path, files):
    path = tmp_path / "roce-qos_demo.charm"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def without(*prefixes):
    return {name: text for name, text in GOOD.items() if not name.startswith(prefixes)}


def test_a_complete_artifact_is_good(tmp_path):
    assert artifact.faults(packed(tmp_path, GOOD), JAMMY) == []


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (without("lib/converge"), "src/plan.py:1 imports converge.Plan, which the artifact lacks"),
        (
            without("lib/hostnic/devices/pci.py"),
            "src/charm.py:6 imports hostnic.devices.pci, which the artifact lacks",
        ),
        (without(f"{SITE}/outside/"), "src/plan.py:2 imports outside.thing, which the artifact lacks"),
        (without("dispatch"), "it has no dispatch or no src/charm.py"),
        (
            {name.replace("3.10", "3.11"): text for name, text in GOOD.items()},
            "its packages are for python3.11, and ubuntu@22.04:amd64 has Python 3.10",
        ),
        (
            {**GOOD, "src/plan.py": "import outside\n\nraise OSError('at import')\n"},
            "it does not import: OSError: at import",
        ),
        (
            {**GOOD, f"{SITE}/outside/__init__.py": "thing = 1\nimport tomllib\n"},
            "it does not import: ModuleNotFoundError: No module named 'tomllib'",
        ),
        (
            {
                **GOOD,
                f"{SITE}/outside-1.dist-info/METADATA": "Name: outside\nVersion: 1\n"
                "Requires-Dist: old; python_version < '3.11'\nRequires-Dist: new; python_version >= '3.11'\n",
            },
            'outside needs old; python_version < "3.11" on Python 3.10, which the artifact lacks',
        ),
    ],
)
def test_what_is_missing_is_named(files, fault, tmp_path):
    assert artifact.faults(packed(tmp_path, files), JAMMY) == [fault]


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({**GOOD, "venv/.lock": ""}, "it has venv/.lock, which no charm needs"),
        ({**GOOD, "notes.txt": ""}, "it has notes.txt, which no charm needs"),
        (without("LICENSE"), "it has no LICENSE"),
        (without("icon.svg"), "it has no icon.svg"),
        (
            {**GOOD, "manifest.yaml": GOOD["manifest.yaml"].replace("amd64", "arm64")},
            "its manifest is for ubuntu@22.04:arm64",
        ),
        (without("version"), "it has no version"),
        (
            {**GOOD, "version": "newest\n"},
            "its file version has 'newest\\n', and not a version with a git revision",
        ),
        (
            {**GOOD, "venv/pyvenv.cfg": "home = /opt/python/bin\n"},
            "its pyvenv.cfg names another home than /usr/bin, where a base has its Python",
        ),
        (
            {**GOOD, f"{SITE}/outside/__pycache__/__init__.cpython-311.pyc": ""},
            "it has byte code of the packing machine's Python: 1 files",
        ),
        (
            {
                **GOOD,
                f"{SITE}/setuptools/__init__.py": "",
                f"{SITE}/setuptools-1.dist-info/METADATA": "Name: setuptools\nVersion: 1\n",
                f"{SITE}/setuptools-1.dist-info/RECORD": "setuptools/__init__.py,,\n",
            },
            "it has the package setuptools, which nothing in it uses",
        ),
        (
            {**GOOD, f"{SITE}/outside/fast.cpython-310-x86_64.so": ""},
            "it has compiled modules, which work on one architecture only: fast.cpython-310-x86_64.so",
        ),
        (
            {**GOOD, f"{SITE}/outside/data": random.Random(1).randbytes(2_600_000)},
            "it has 2.6 MB, and may have 2.5 MB",
        ),
    ],
)
def test_what_is_too_much_is_named(files, fault, tmp_path):
    assert artifact.faults(packed(tmp_path, files), JAMMY) == [fault]


PROGRAM = {
    **GOOD,
    "src/boot.py": "from exporter import install\n",
    "lib/exporter/__init__.py": "",
    "lib/exporter/install.py": "MODULES = ('exporter.main',)\n",
    "lib/exporter/main.py": "def main():\n    import served\n",
}
SERVED = {
    f"{SITE}/served.py": "",
    f"{SITE}/served-1.dist-info/METADATA": "Name: served\nVersion: 1\n",
    f"{SITE}/served-1.dist-info/RECORD": "served.py,,\n",
}


def test_a_program_on_the_host_uses_packages_although_nothing_imports_it(tmp_path):
    assert artifact.faults(packed(tmp_path, {**PROGRAM, **SERVED}), JAMMY) == []


def test_a_program_on_the_host_lacks_what_the_artifact_lacks(tmp_path):
    assert artifact.faults(packed(tmp_path, PROGRAM), JAMMY) == [
        "lib/exporter/main.py:2 imports served, which the artifact lacks"
    ]


def test_a_program_that_the_charm_does_not_install_uses_nothing(tmp_path):
    files = {name: text for name, text in PROGRAM.items() if name != "src/boot.py"}
    assert artifact.faults(packed(tmp_path, files), JAMMY) == []


def test_a_requirement_that_is_left_out_counts_as_unused_when_it_is_there(tmp_path):
    needs = {
        f"{SITE}/outside-1.dist-info/METADATA": "Name: outside\nVersion: 1\nRequires-Dist: netaddr\n",
    }
    assert artifact.faults(packed(tmp_path, {**GOOD, **needs}), JAMMY) == []
    netaddr = {f"{SITE}/netaddr-1.dist-info/METADATA": "Name: netaddr\nVersion: 1\n"}
    found = artifact.faults(packed(tmp_path, {**GOOD, **needs, **netaddr}), JAMMY)
    assert found == ["it has the package netaddr, which nothing in it uses"]


PACKAGES = (ROOT / "lib/charmkit/packages.py").read_text()

FETCH = """\
import subprocess
from distutils.version import LooseVersion

assert LooseVersion("3.6.10") >= LooseVersion("3.6.9")


def apt_update(fatal):
    subprocess.call(["apt-get", "update"])


def apt_install(packages, fatal):
    subprocess.call(["apt-get", "install", *packages])
"""
"""The imports and calls of charmhelpers.fetch, in small."""


def installing(platform, packages=PACKAGES, fetch=FETCH):
    """A charm that installs packages, for this platform."""
    files = {
        **GOOD,
        "src/plan.py": "from charmkit import packages\nfrom outside import thing\n",
        "lib/charmkit/__init__.py": "",
        "lib/charmkit/packages.py": packages,
        "lib/converge/execute.py": "def words(error):\n    return str(error)\n",
        "lib/hostnic/system.py": "class System:\n    pass\n",
        "lib/hostnic/machine.py": "import os.path as files\n\n\ndef Machine():\n"
        "    return __import__('types').SimpleNamespace(files=files)\n",
        f"{SITE}/charmhelpers/__init__.py": "",
        f"{SITE}/charmhelpers/fetch/__init__.py": fetch,
        f"{SITE}/charmhelpers-1.dist-info/METADATA": "Name: charmhelpers\nVersion: 1\n",
        f"{SITE}/charmhelpers-1.dist-info/RECORD": "charmhelpers/__init__.py,,\n",
    }
    files["manifest.yaml"] = files["manifest.yaml"].replace("22.04", platform.version)
    return {name.replace("3.10", platform.python): text for name, text in files.items()}


@pytest.mark.parametrize("platform", [JAMMY, NOBLE], ids=lambda platform: platform.version)
def test_a_charm_installs_packages_on_each_base(platform, tmp_path):
    assert artifact.faults(packed(tmp_path, installing(platform)), platform) == []


def test_what_this_machine_has_does_not_matter(tmp_path):
    """Every path outside the artifact exists here, whatever the probe takes for one that is missing."""
    files = installing(JAMMY)
    files["lib/hostnic/machine.py"] = (
        "import os\nfrom types import SimpleNamespace\n\n"
        "ROOT = os.path.realpath(__file__ + '/../../..')\n\n\n"
        "def Machine():\n"
        "    outside = lambda path: not path.startswith(ROOT) or os.path.exists(path)\n"
        "    return SimpleNamespace(files=SimpleNamespace(exists=outside))\n"
    )
    assert artifact.faults(packed(tmp_path, files), JAMMY) == []


def test_charmhelpers_without_distutils_is_found(tmp_path):
    assert (alone := PACKAGES.replace("    _provide_distutils()\n", "")) != PACKAGES
    assert artifact.faults(packed(tmp_path, installing(JAMMY, alone)), JAMMY) == []
    assert artifact.faults(packed(tmp_path, installing(NOBLE, alone)), NOBLE) == [
        "it does not import: ModuleNotFoundError: No module named 'distutils'"
    ]


def test_a_package_that_apt_is_not_asked_for_is_found(tmp_path):
    fetch = FETCH.replace('"install", *packages', '"check"')
    assert artifact.faults(packed(tmp_path, installing(NOBLE, fetch=fetch)), NOBLE) == [
        "it does not install packages: apt-get was asked for [['update'], ['check']]"
    ]
