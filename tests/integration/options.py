# SPDX-License-Identifier: Apache-2.0
"""The options of `tox -e integration`: a plugin, so that pytest knows them before it looks for test files.

An option that pytest does not know yet leaves its value behind, and pytest takes a value that is an existing
path for the place of the tests.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("charmed-ovn-offload")
    group.addoption("--allow-nothing", action="store_true", help="pass although every test was skipped")
    group.addoption("--charms", metavar="FOLDER", help="packed charms to test, instead of build/")
    group.addoption(
        "--previous", metavar="FOLDER", help="packed charms of the previous revision, to refresh from"
    )
    group.addoption(
        "--principal", metavar="PATH", help="a packed charm to deploy below the others, instead of ubuntu"
    )
    group.addoption("--constraints", default="", help="of the machines, such as 'mem=4G cores=2'")
    group.addoption(
        "--keep-model", action="store_true", help="leave the model of test_charms.py when all has ended"
    )
    group.addoption(
        "--record-hooks",
        metavar="FILE",
        help="write which hooks each unit ran, as tests/lab/juju/hooks.yaml has them",
    )
