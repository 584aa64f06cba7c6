# SPDX-License-Identifier: Apache-2.0
"""The MAAS commissioning script as MAAS runs it: alone, by the system's Python, with the real mstconfig."""

import json

import pytest
from functional.nic_firmware.conftest import Pair
from pack import commissioning

SCRIPT, RESULT = "/root/50-nic-firmware.py", "/root/result.yaml"


@pytest.mark.thorough
def test_it_sets_the_next_boot_and_a_second_run_finds_nothing_to_do(pair: Pair) -> None:
    pair.guest.write(SCRIPT, commissioning.script(), 0o755)
    command = f"RESULT_PATH={RESULT} {SCRIPT} --num-vfs=16 --profile=ovn-offload,throughput"
    first = pair.guest.run(command, timeout=300).stdout
    assert "set NUM_VF_MSIX=63" in first
    assert json.loads(pair.guest.read(RESULT))["status"] == "passed"
    assert " 16" in pair.mstconfig("query", "NUM_OF_VFS")
    assert " 44" in pair.mstconfig("query", "MAX_ACC_OUT_READ")
    assert "set " not in pair.guest.run(command, timeout=300).stdout
    wrong = pair.guest.run(f"{SCRIPT} --num-vfs=many", check=False)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
