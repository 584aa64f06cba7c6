# SPDX-License-Identifier: Apache-2.0
"""Shipped code asks no metadata service: a tenant's words there reach no charm and no command."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICE = re.compile(
    r"169\.254\.\d|fd00:ec2::254|fe80::a9fe:a9fe|meta-?data\.google|(latest|openstack)/(meta|user)-?_?data|"
    r"openstack/latest"
)
"""Addresses and paths of the services of OpenStack, EC2 and Google."""
SHIPPED = [path for folder in ("lib", "charms", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize(
    "text",
    [
        "http://169.254.169.254/openstack/latest/meta_data.json",
        "http://[fe80::a9fe:a9fe]/",
        "latest/meta-data",
    ],
)
def test_an_address_of_the_service_is_found(text: str) -> None:
    assert SERVICE.search(text)


def test_no_shipped_module_asks_a_metadata_service() -> None:
    assert len(SHIPPED) > 300
    assert [path for path in SHIPPED if SERVICE.search(path.read_text())] == []
