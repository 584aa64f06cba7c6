# SPDX-License-Identifier: Apache-2.0
"""The charm's readers of text that others write."""

import pytest
import record
from boot import bootfile
from config import Options
from converge.shape import InvalidValue
from fuzz import Reader, check, of_file
from unit.roce_qos.test_bootfile import WANTED

OPTIONS = {
    "devices": "0000:3b:00.0",
    "pfc_priorities": "3",
    "ets": "0:50 3:50 6:strict",
    "vlan_egress_map": "3:3",
    "dcqcn": "rp_clamp_tgt_rate=1",
    "ovn_encap_tos": "inherit",
}

REFUSALS = (InvalidValue,)

READERS = [
    Reader(
        "desired state for boot",
        bootfile.from_json,
        ['{"version": 1, "ports": ["0000:3b:00.0"]}', bootfile.to_json(WANTED)],
        (ValueError,),
    ),
    Reader(
        "record of boot",
        of_file(record.PATH, record.read),
        ['{"running": true, "at": 5.0, "problems": ["t"]}'],
    ),
    *(
        Reader(f"option {name}", lambda text, name=name: Options(**{name: text}), [sample], REFUSALS)
        for name, sample in OPTIONS.items()
    ),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
