# SPDX-License-Identifier: Apache-2.0
"""The look into an artifact finds what would break a charm on its machine."""

import zipfile

import artifact
import pytest
from stage import Platform

JAMMY = Platform("ubuntu@22.04:amd64")
SITE = "venv/lib/python3.10/site-packages"

GOOD = {
    "dispatch": "#!/bin/sh\n",
    "src/charm.py": "import json\nimport plan\n\n\ndef later():\n    from hostnic.devices import pci\n",
    "src/plan.py": "from converge import Plan\nfrom outside import thing\n",
    "lib/converge/__init__.py": "class Plan:\n    pass\n",
    "lib/hostnic/__init__.py": "",
    "lib/hostnic/devices/__init__.py": "",
    "lib/hostnic/devices/pci.py": "",
    f"{SITE}/outside/__init__.py": "thing = 1\n",
    f"{SITE}/outside-1.dist-info/METADATA": "Name: outside\nVersion: 1\n",
}


def packed(tmp_path, files):
    path = tmp_path / "demo_ubuntu@22.04-amd64.charm"
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
        ({**GOOD, "src/plan.py": "raise OSError('at import')\n"}, "it does not import: OSError: at import"),
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


def test_a_host_charm_may_not_need_a_compiled_module(tmp_path):
    import _cffi_backend

    compiled = {**GOOD, "src/plan.py": "import _cffi_backend\n"}
    path = packed(tmp_path, compiled)
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(_cffi_backend.__file__, f"{SITE}/{_cffi_backend.__file__.rpartition('/')[2]}")
    (fault,) = artifact.faults(path, JAMMY)
    assert fault.startswith("it does not import: ImportError:")
    assert fault.endswith("is compiled")
