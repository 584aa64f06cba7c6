# SPDX-License-Identifier: Apache-2.0
"""The log rules' filters on lines as mlx5_core prints them, and on those of healthy boots.

Without Loki here: each rule has one line filter, whose expression RE2 and Python read alike.
"""

import re

import pytest

from cos import promtool
from cos.promtool import by_name

RULES = by_name(promtool.databag()["log_alert_rules"])
FORM = re.compile(
    r"sum by \(juju_model, juju_model_uuid, juju_application, instance\) "
    r"\(count_over_time\({filename=~\"[^\"]+\"} \|~ `([^`]+)` \[10m\]\)\) > \d+"
)
AT = "2026-11-26T10:14:03.120915+00:00 node-1 kernel: [ 1234.567890] "
OLD = "Nov 26 10:14:03 node-1 kernel: [ 1234.567890] "
FAULTS = {
    "OffloadLogTxTimeout": [
        "mlx5_core 0000:3b:00.0 enp59s0f0np0: TX timeout detected",
        "mlx5_core 0000:3b:00.0 enp59s0f0np0: TX timeout on queue: 5, SQ: 0x1a2, CQ: 0x4e, SQ Cons: 0x0 "
        "SQ Prod: 0x3, usecs since last trans: 16120000",
    ],
    "OffloadLogHealthCompromised": [
        "mlx5_core 0000:3b:00.0: poll_health:795:(pid 0): device's health compromised - reached miss count",
        "mlx5_core 0000:3b:00.0: poll_health:780:(pid 0): Fatal error 1 detected",
        "mlx5_core 0000:3b:00.1: mlx5_error_sw_reset:241:(pid 88): handling bad device here",
    ],
    "OffloadLogCommandTimeout": [
        "mlx5_core 0000:3b:00.0: wait_func_handle_exec_timeout:1153:(pid 913): cmd[0]: "
        "QUERY_VPORT_COUNTER(0x770) No done completion",
        "mlx5_core 0000:3b:00.0: wait_func:1181:(pid 913): QUERY_VPORT_COUNTER(0x770) timeout. "
        "Will cause a leak of a command resource",
        "mlx5_core 0000:3b:00.0: cb_timeout_handler:879:(pid 9): cmd[3]: CREATE_MKEY(0x200) Async, timeout. "
        "Will cause a leak of a command resource",
    ],
    "OffloadLogRegisterFailed": [
        "mlx5_core 0000:3b:00.0: mlx5_cmd_out_err:838:(pid 1441): ACCESS_REG(0x805) op_mod(0x1) failed, "
        "status bad operation(0x2), syndrome (0x305684), err(-22)",
    ],
    "OffloadLogPowerInsufficient": [
        "mlx5_core 0000:3b:00.0: mlx5_pcie_event:299:(pid 16): Detected insufficient power on the PCIe slot "
        "(27W).",
    ],
    "OffloadLogModuleError": [
        "mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, High Temperature",
        "mlx5_core 0000:3b:00.1: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 1, "
        "Cable error, Bus stuck (I2C or data shorted)",
    ],
    "OffloadLogTooHot": [
        "mlx5_core 0000:3b:00.0: temp_warn:171:(pid 0): High temperature on sensors with bit set 0 1",
    ],
}
SILENT = {"cmd[0]: QUERY_VPORT_COUNTER(0x770) No done completion"}
"""Lines of a fault whose alert comes from the line that follows."""
HEALTHY = [
    "mlx5_core 0000:3b:00.0: firmware version: 26.43.1014",
    "mlx5_core 0000:3b:00.0: 126.016 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x16 link)",
    "mlx5_core 0000:3b:00.0: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps",
    "mlx5_core 0000:3b:00.0: E-Switch: Total vports 10, per vport: max uc(128) max mc(2048)",
    "mlx5_core 0000:3b:00.0: Flow counters bulk query buffer size increased, bulk_query_len(8)",
    "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:3b:00.1: Port module event: module 1, Cable unplugged",
    "mlx5_core 0000:3b:00.0: mlx5_pcie_event:304:(pid 11): PCIe slot advertised sufficient power (75W).",
    "mlx5_core 0000:3b:00.0: mlx5_pcie_event:299:(pid 11): PCIe slot power capability was not advertised.",
    "mlx5_core 0000:3b:00.0: MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 enhanced)",
    "mlx5_core 0000:3b:00.0: Supported tc chains and prios offload",
    "mlx5_core 0000:3b:00.0: E-Switch: Enable: mode(OFFLOADS), nvfs(8), necvfs(0), active vports(9)",
    "mlx5_core 0000:3b:00.0: lag map: port 1:1 port 2:2",
    "mlx5_core 0000:3b:00.0: shared_fdb:1 mode:queue_affinity",
    "mlx5_core 0000:3b:00.0 enp59s0f0np0: Link up",
    "mlx5_core 0000:3b:00.0 enp59s0f0np0: Link down",
    "mlx5_core 0000:3b:00.2: enabling device (0000 -> 0002)",
    "bond0: (slave enp59s0f0np0): Enslaving as a backup interface with an up link",
    "ixgbe 0000:5e:00.0 eno1: TX timeout detected",
]


def shape(name: str) -> re.Pattern[str]:
    found = FORM.fullmatch(RULES[name]["expr"])
    assert found is not None, RULES[name]["expr"]
    return re.compile(found[1])


def test_each_rule_has_one_filter_and_a_fault() -> None:
    assert RULES.keys() == FAULTS.keys()
    for name in RULES:
        assert not re.search(r"\(\?|\\[1-9]", shape(name).pattern), "RE2 has neither"


@pytest.mark.parametrize("stamp", [AT, OLD])
@pytest.mark.parametrize(("name", "line"), [(name, line) for name in FAULTS for line in FAULTS[name]])
def test_it_finds_the_lines_of_its_fault_and_no_other_rule_does(name: str, line: str, stamp: str) -> None:
    found = {rule for rule in RULES if shape(rule).search(stamp + line)}
    silent = any(line.endswith(each) for each in SILENT)
    assert found == (set() if silent else {name})


@pytest.mark.parametrize("line", HEALTHY)
def test_no_rule_finds_a_line_of_a_healthy_boot(line: str) -> None:
    assert [name for name in RULES if shape(name).search(AT + line)] == []
