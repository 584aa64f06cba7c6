# SPDX-License-Identifier: Apache-2.0
"""The RDMA device that a port has now, its defaults through configfs, and its counters."""

import errno
from collections.abc import Sequence

import pytest
from converge import StepError
from hostnic.devices import rdma
from hostnic.devices.rdma import Defaults, RdmaPort
from hostnic.ops.marking import SetAttribute, SetRoceDefaults
from lab.modelled import FakeHost

P0, P1 = ("0000:3b:00.0", "enp59s0f0np0"), ("0000:3b:00.1", "enp59s0f1np1")
WANTED = Defaults("RoCE v2", 106)


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    host.cards[0].rdma = True
    return host


def device(host: FakeHost, port: tuple[str, str]) -> str | None:
    found = rdma.of_port(rdma.ports(host), *port, "bond0")
    return found.device if found else None


def test_without_lag_each_port_has_its_own() -> None:
    host = FakeHost(bonded=False)
    host.cards[0].rdma = True
    assert [device(host, port) for port in (P0, P1)] == ["mlx5_0", "mlx5_1"]


def test_under_lag_both_ports_share_one(host: FakeHost) -> None:
    assert [device(host, port) for port in (P0, P1)] == ["mlx5_bond_0", "mlx5_bond_0"]


def test_under_lag_both_ports_share_one_whatever_rdma_core_calls_it(host: FakeHost) -> None:
    host.rdma.renamed = True
    assert [device(host, port) for port in (P0, P1)] == ["rocep59s0f0", "rocep59s0f0"]
    without_gids = (
        RdmaPort("rdmap59s0f0", 1, P0[0], frozenset()),
        RdmaPort("vf", 1, "0000:3b:00.2", frozenset()),
    )
    assert rdma.of_port(without_gids, *P1, "bond0") == without_gids[0]
    assert rdma.of_port(without_gids[1:], *P1, "bond0") is None
    assert rdma.of_port(without_gids, *P1, None) is None


def test_a_software_device_is_found_by_its_netdev() -> None:
    host = FakeHost()
    assert device(host, P0) is None
    host.rdma.devices["rxe0"] = "bond0"
    assert device(host, P0) == "rxe0"


def test_a_bonded_device_without_readable_gids_is_found_by_its_nic() -> None:
    found = (RdmaPort("mlx5_bond_0", 1, "0000:3b:00.0", frozenset()),)
    assert rdma.of_port(found, *P1, "bond0") == found[0]
    assert rdma.of_port(found, "0000:af:00.1", "eth9", None) is None


def test_defaults_are_set_once(host: FakeHost) -> None:
    (port,) = rdma.ports(host)
    assert rdma.defaults(host, port) is None
    SetRoceDefaults(port, WANTED).run(host)
    assert rdma.defaults(host, port) == WANTED
    assert [line.partition(" ")[0] for line in host.trace] == ["mkdir", "write"]
    host.trace.clear()
    SetRoceDefaults(port, WANTED).run(host)
    assert host.trace == []


def test_a_device_that_was_added_again_gets_its_defaults_again(host: FakeHost) -> None:
    (port,) = rdma.ports(host)
    SetRoceDefaults(port, WANTED).run(host)
    host.rdma.re_add(port.device)
    assert rdma.defaults(host, port) == Defaults("RoCE v2", 0)
    SetRoceDefaults(port, WANTED).run(host)
    assert rdma.defaults(host, port) == WANTED


def test_a_device_that_is_gone_is_one_sentence(host: FakeHost) -> None:
    gone = RdmaPort("mlx5_9", 1, None, frozenset())
    with pytest.raises(StepError, match="RoCE defaults of mlx5_9: No such device"):
        SetRoceDefaults(gone, WANTED).run(host)


def switchdev(host: FakeHost) -> RdmaPort:
    """Both ports in switchdev mode, which share one RDMA device under VF-LAG."""
    for port in host.cards[0].ports:
        port.eswitch_mode = "switchdev"
    (port,) = rdma.ports(host)
    return port


def test_the_connection_manager_handles_a_device_with_roce_and_none_for_raw_ethernet(host: FakeHost) -> None:
    (port,) = rdma.ports(host)
    assert rdma.managed(host, port) is True
    assert rdma.managed(host, switchdev(host)) is False
    assert switchdev(host).netdevs == frozenset()


def test_a_software_device_on_an_uplink_in_switchdev_mode_has_roce() -> None:
    host = FakeHost()
    host.rdma.devices["rxe0"] = "bond0"
    assert rdma.managed(host, switchdev(host)) is True


def test_without_its_module_it_is_unknown_what_the_connection_manager_handles(host: FakeHost) -> None:
    host.rdma.module = False
    assert rdma.managed(host, rdma.ports(host)[0]) is None
    assert rdma.managed(host, switchdev(host)) is None


def test_a_module_that_ignores_the_device_leaves_nothing_to_set(host: FakeHost) -> None:
    port = switchdev(host)
    host.rdma.module = False
    load = host.run

    def run(argv: Sequence[str], timeout: float = 60.0) -> str:
        host.rdma.module |= list(argv) == ["modprobe", "rdma_cm"]
        return load(argv, timeout)

    host.run = run
    host.answers["modprobe",] = ""
    SetRoceDefaults(port, WANTED).run(host)
    assert host.trace == ["run modprobe rdma_cm"]


def test_the_kernel_refuses_a_device_for_raw_ethernet_also_in_a_directory_left_over(
    host: FakeHost,
) -> None:
    with pytest.raises(OSError) as refused:
        host.files.mkdir(f"{rdma.CONFIGFS}/{switchdev(host).device}")
    assert refused.value.errno == errno.ENODEV
    for port in host.cards[0].ports:
        port.eswitch_mode = "legacy"
    (port,) = rdma.ports(host)
    SetRoceDefaults(port, WANTED).run(host)
    switchdev(host)
    with pytest.raises(OSError) as refused:
        rdma.defaults(host, port)
    assert refused.value.errno == errno.ENODEV
    with pytest.raises(OSError) as refused:
        host.files.write(f"{port.directory}/default_roce_tos", "1")
    assert refused.value.errno == errno.ENODEV


def test_the_module_is_loaded_when_it_is_missing(host: FakeHost) -> None:
    host.rdma.module = False
    host.answers["modprobe",] = ""
    (port,) = rdma.ports(host)
    with pytest.raises(StepError) as error:
        SetRoceDefaults(port, WANTED).run(host)
    assert host.spawned == [("modprobe", "rdma_cm")]
    assert "configfs is mounted" in error.value.remedy


def test_a_tos_that_is_no_number_is_an_error(host: FakeHost) -> None:
    (port,) = rdma.ports(host)
    SetRoceDefaults(port, WANTED).run(host)
    host.rdma.values[port.device, "default_roce_tos"] = "many"
    with pytest.raises(OSError, match="holds 'many', not a number"):
        rdma.defaults(host, port)


def test_counters_leave_out_what_cannot_be_read(host: FakeHost) -> None:
    (port,) = rdma.ports(host)
    host.rdma.counters = {"np_cnp_sent": 12, "out_of_sequence": 3}
    host.fail("read", "hw_counters/out_of_sequence", OSError(errno.EINVAL, "Invalid argument"))
    assert rdma.counters(host, port) == {"np_cnp_sent": 12}


def test_an_attribute_is_written_once_and_read_back(host: FakeHost) -> None:
    path = "/sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_dscp"
    host.rdma.cc["0000:3b:00.0", "np_cnp_dscp"] = 46
    SetAttribute(path, 48).run(host)
    SetAttribute(path, 48).run(host)
    assert host.trace == [f"write {path} 48"]
    host.fail("write", path, OSError(errno.EPERM, "Operation not permitted"))
    with pytest.raises(StepError, match="Operation not permitted") as error:
        SetAttribute(path, 26).run(host)
    assert "lockdown" in error.value.remedy
