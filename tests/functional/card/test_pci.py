# SPDX-License-Identifier: Apache-2.0
"""The card on the PCI bus: what lspci and sysfs show, VFs, functions bound, removed and reset."""

import pytest

DEVICES = "/sys/bus/pci/devices"
DRIVER = "/sys/bus/pci/drivers/mlx5_core"


@pytest.mark.thorough
def test_lspci_names_the_card(card):
    listed = card.run("lspci -nn -s 3b:").stdout.splitlines()
    assert [line.split(" ")[0] for line in listed] == ["3b:00.0", "3b:00.1"]
    assert all("Ethernet controller [0200]: Mellanox" in line and "[15b3:101d]" in line for line in listed)


def test_lspci_decodes_the_capabilities(card):
    shown = card.run("lspci -vvv -s 3b:00.1").stdout
    assert "Express (v2) Endpoint" in shown
    assert "FLReset+" in shown
    assert "Vendor Specific Information: Len=18" in shown
    assert "Alternative Routing-ID Interpretation (ARI)" in shown
    assert "Single Root I/O Virtualization (SR-IOV)" in shown
    assert "Initial VFs: 8, Total VFs: 8, Number of VFs: 0" in shown
    assert "Kernel driver in use: mlx5_core" in shown


@pytest.mark.thorough
def test_both_ports_tell_the_cards_serial_number_and_vfs_tell_none(card):
    card.vfs(1, pfs=card.pfs[:1])
    for bdf in card.pfs:
        shown = card.run(f"lspci -vv -s {bdf}").stdout
        assert "Product Name: ConnectX-6 Dx EN adapter card" in shown
        assert "[PN] Part number: MCX623106AC-CDA_Ax" in shown
        assert "[SN] Serial number: MT2116X0003B" in shown
        assert "[RV] Reserved: checksum good" in shown
    assert card.run(f"ls {DEVICES}/0000:3b:00.2/vpd", check=False).returncode != 0


@pytest.mark.thorough
def test_no_two_cards_have_the_same_serial_number(card):
    card.reload("serial=7", "cards=3b:cx6lx:1,5e:cx7")
    for bdf, number in {"3b:00.0": "MT2116X0073B", "5e:00.1": "MT2116X0075E"}.items():
        assert f"[SN] Serial number: {number}\n" in card.run(f"lspci -vv -s {bdf}").stdout


@pytest.mark.thorough
def test_what_is_written_to_the_product_data_is_lost(card):
    path = f"{DEVICES}/0000:3b:00.0/vpd"
    before = card.run(f"sha256sum <{path}").stdout
    card.run(f"printf XXXX | dd of={path} bs=4 conv=notrunc")
    assert card.run(f"sha256sum <{path}").stdout == before


@pytest.mark.thorough
def test_the_two_ports_share_a_card_without_numa_node_unless_told(card):
    assert card.read("0000:3b:00.0", "numa_node") == "-1"
    card.reload("numa=0")
    assert card.read("0000:3b:00.1", "numa_node") == "0"


def test_vfs_of_both_ports_have_addresses_of_their_own(card):
    card.vfs(8)
    assert card.read("0000:3b:00.0", "sriov_numvfs") == "8"
    links = card.run(f"readlink {DEVICES}/0000:3b:00.0/virtfn* {DEVICES}/0000:3b:00.1/virtfn*").stdout.split()
    functions = [f"../0000:3b:{n // 8:02x}.{n % 8}" for n in range(2, 18)]
    assert sorted(links) == functions
    assert card.run("lspci -d 15b3:101e | wc -l").stdout == "16\n"


@pytest.mark.thorough
def test_a_vf_knows_its_pf(card):
    card.vfs(2, bound=True)
    assert card.run(f"readlink {DEVICES}/0000:3b:00.2/physfn").stdout == "../0000:3b:00.0\n"
    assert card.run(f"basename $(readlink {DEVICES}/0000:3b:00.3/driver)").stdout == "mlx5_core\n"


@pytest.mark.thorough
def test_autoprobe_off_leaves_vfs_unbound_and_refuses_to_bind_them(card):
    card.vfs(1)
    assert card.run(f"ls {DEVICES}/0000:3b:00.2/driver", check=False).returncode != 0
    assert "No such device" in card.write(f"{DRIVER}/bind", "0000:3b:00.2", check=False).stderr
    card.bind("0000:3b:00.2")
    assert card.vf_netdev("0000:3b:00.2").startswith("enp59s0f")


def test_more_vfs_than_the_firmware_offers_are_refused(card):
    done = card.write(f"{DEVICES}/0000:3b:00.0/sriov_numvfs", 9, check=False)
    assert "Numerical result out of range" in done.stderr


def test_a_resize_without_zero_between_is_refused(card):
    card.vfs(2)
    done = card.write(f"{DEVICES}/0000:3b:00.0/sriov_numvfs", 4, check=False)
    assert "Device or resource busy" in done.stderr
    assert "2 VFs already enabled. Disable before enabling 4 VFs" in card.log()


@pytest.mark.thorough
def test_zero_vfs_takes_them_away(card):
    card.vfs(4, bound=True)
    card.vfs(0)
    assert card.run("lspci -d 15b3:101e").stdout == ""


def test_unbinding_a_pf_takes_its_vfs_and_netdev_away_and_binding_brings_it_back_plain(card):
    card.vfs(2, bound=True)
    card.write(f"{DRIVER}/unbind", "0000:3b:00.0")
    assert card.run("lspci -d 15b3:101e | wc -l").stdout == "2\n"
    assert "enp59s0f0np0" not in card.run("ip -br link").stdout
    card.write(f"{DRIVER}/bind", "0000:3b:00.0")
    card.await_output("ls /sys/class/net", "enp59s0f0np0")
    assert card.read("0000:3b:00.0", "sriov_numvfs") == "0"
    assert card.mode("0000:3b:00.0") == "legacy"


@pytest.mark.thorough
def test_a_removed_pf_comes_back_with_a_rescan(card):
    card.write(f"{DEVICES}/0000:3b:00.1/remove", 1)
    assert card.run("lspci -s 3b:00.1").stdout == ""
    card.write("/sys/bus/pci/rescan", 1)
    card.await_output("ls /sys/class/net", "enp59s0f1np1")


@pytest.mark.thorough
def test_a_function_level_reset_returns_at_once(card):
    assert "flr" in card.read("0000:3b:00.0", "reset_method")
    card.write(f"{DEVICES}/0000:3b:00.0/reset", 1)


PRESETS = {
    "cx5": ("15b3:1017", "15b3:1018", "MT_0000000012", "8GT/s, Width x16", "ConnectX5"),
    "cx6dx": ("15b3:101d", "15b3:101e", "MT_0000000359", "16GT/s, Width x16", "ConnectX6DX"),
    "cx6lx": ("15b3:101f", "15b3:101e", "MT_0000000532", "16GT/s, Width x8", "ConnectX6LX"),
    "cx7": ("15b3:1021", "15b3:101e", "MT_0000000842", "32GT/s, Width x16", "ConnectX7"),
    "bf2": ("15b3:a2d6", "15b3:101e", "MT_0000000560", "16GT/s, Width x16", "BlueField2"),
    "cx6dx-oem": ("15b3:101d", "15b3:101e", "DEL0000000027", "16GT/s, Width x16", "ConnectX6DX"),
}


@pytest.mark.parametrize(
    "models",
    [("cx6dx", "cx6lx", "cx7", "cx6dx-oem"), pytest.param(("cx5", "bf2"), marks=pytest.mark.thorough)],
)
def test_cards_of_several_models(card, models):
    buses = ["3b", "5e", "86", "af"]
    card.reload(f"cards={','.join(f'{bus}:{model}' for bus, model in zip(buses, models, strict=False))}")
    for bus, model in zip(buses, models, strict=False):
        device, vf, psid, link, kind = PRESETS[model]
        assert card.run(f"lspci -n -s {bus}: | cut -d' ' -f1,3").stdout.split("\n")[:-1] == [
            f"{bus}:00.{port} {device}" for port in range(2)
        ]
        assert f"LnkSta:\tSpeed {link}" in card.run(f"lspci -vvs {bus}:00.0").stdout.replace(" (ok)", "")
        assert f"fw.psid {psid}" in card.run(f"devlink dev info pci/0000:{bus}:00.0").stdout
        card.vfs(1, pfs=(f"0000:{bus}:00.1",))
        assert card.run(f"lspci -n -d {vf} -s {bus}: | wc -l").stdout == "1\n"
        assert kind in card.run(["mstconfig", "-d", f"{bus}:00.0", "query", "NUM_OF_VFS"], timeout=120).stdout


@pytest.mark.thorough
def test_wrong_descriptions_are_refused_in_words(card):
    wrong = ["3b", "3b:cx8", "zz:cx6dx", "0:cx6dx", "3b:cx6dx:3", "3b:cx6dx:2:1", "3b:cx6dx,3b:cx6lx"]
    loads = "; ".join(
        f"modprobe mlx5_core cards={description} && echo {description}" for description in wrong
    )
    assert card.run(f"rmmod mlx5_core; {loads}", check=False).stdout == ""
    assert card.log().count("is not <bus hex>:<preset>[:ports] of its own bus") == len(wrong)
