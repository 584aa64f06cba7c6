# SPDX-License-Identifier: Apache-2.0
"""The charm's readers of text that others write."""

import hashlib
import json
import os

import digests
import images
import pytest
import record
from boot import gpu
from config import Options, ResetParameters, Restore, SetParameters
from converge.shape import InvalidValue
from fuzz import Reader, check, raw
from lab.modelled import FakeHost
from unit.nic_firmware.node import PF0

DIGEST = "ab" * 32
RECORD = {
    "version": 1,
    "waiting": {PF0: {"NUM_OF_VFS": {"value": "8", "boot_id": "b", "power_cycle": False}}},
    "burns": {"0000:3b:00": "22.39.1002"},
    "resets": {},
    "attempts": {"0000:3b:00": {"d": {"version": "22.39.1002", "count": 1, "reason": ""}}},
}
INDEX = [[f"{images.DIRECTORY}/{DIGEST}/fw.bin", "MT_0000000359", "22.39.1002", DIGEST]]


def read_record(text: str) -> None:
    host = FakeHost()
    host.disk.install(record.PATH, raw(text), 0o600)
    record.write(host, record.read(host))


def read_index(text: str) -> object:
    host = FakeHost()
    host.disk.install(f"{images.DIRECTORY}/{DIGEST}.json", raw(text), 0o600)
    host.disk.install(INDEX[0][0], b"x", 0o600)
    found = images.cached(host, Options(firmware_url="https://e/x", firmware_sha256=DIGEST), None)
    assert found == ()
    return found


def read_digests(text: str) -> None:
    host = FakeHost()
    host.disk.install(digests.PATH, raw(text), 0o600)
    host.disk.install(INDEX[0][0], b"x", 0o600)
    known = digests.Digests(host)
    assert known.of(INDEX[0][0]) == hashlib.sha256(b"x").hexdigest()
    known.save()


REFUSALS = (InvalidValue,)

READERS = [
    Reader("record", read_record, [json.dumps(RECORD)]),
    Reader("image index", read_index, [json.dumps(INDEX)]),
    Reader("remembered digests", read_digests, [json.dumps({INDEX[0][0]: [2, 9, 9, DIGEST]})]),
    Reader("registers for boot", gpu.from_json, ['{"version": 1, "nics": ["0000:3b:00"]}'], (InvalidValue,)),
    *(
        Reader(f"option {name}", lambda text, name=name: Options(**{name: text}), [sample], REFUSALS)
        for name, sample in {
            "devices": "0000:3b:00.0",
            "parameters": f"ATS_ENABLED=1{os.linesep}0000:3b:00.0: NUM_OF_VFS=8",
            "profile": "ovn-offload",
            "firmware_url": "https://images.example/fw.bin",
        }.items()
    ),
    Reader("parameters to set", SetParameters, ["CQE_COMPRESSION=AGGRESSIVE NUM_OF_VFS=8"], REFUSALS),
    Reader("NIC to reset", ResetParameters, ["0000:3b:00.0", "bond0"], REFUSALS),
    Reader("port to restore", lambda text: Restore(text, backup=""), ["enp59s0f0np0"], REFUSALS),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
