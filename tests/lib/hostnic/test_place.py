# SPDX-License-Identifier: Apache-2.0
"""Where a port is now, by its permanent MAC address first."""

import pytest
from hostnic.devices.place import place_of

OURS, OTHER = "b8:3f:d2:00:00:01", "b8:3f:d2:00:00:02"
HERE, ELSEWHERE, THIRD = "0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0"


@pytest.mark.parametrize(
    ("mac", "there", "place"),
    [
        (OURS, {HERE: OURS}, HERE),
        (OURS, {HERE: OTHER, ELSEWHERE: OURS}, ELSEWHERE),
        (OURS, {HERE: OURS, ELSEWHERE: OURS}, HERE),  # a VF with the address of its port
        (OURS, {ELSEWHERE: OURS, THIRD: OURS}, None),
        (OURS, {HERE: OTHER}, None),
        (OURS, {HERE: None}, None),
        (OURS, {}, None),
        (None, {HERE: None, ELSEWHERE: OURS}, None),
        ("", {HERE: ""}, None),
    ],
)
def test_a_port_is_where_its_mac_address_is(
    mac: str | None, there: dict[str, str | None], place: str | None
) -> None:
    assert place_of(mac, HERE, there) == place
