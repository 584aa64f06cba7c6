# SPDX-License-Identifier: Apache-2.0
"""The modelled NIC's firmware parameters, and mstconfig as it speaks about them.

Messages, exit codes and layouts are those of mstflint 4.21, 4.26 and 4.31, and messages of 4.36; the tests of
the charm nic-firmware run the real tool on the virtual card.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hostnic.devices.port import FLASH_RECOVERY
from hostnic.system import failure

if TYPE_CHECKING:
    from lab.modelled.kernel import FakeKernel
    from lab.modelled.nic.model import FakeCard, FakePort

BOOL = ("False", "True")
MAX_VFS, MAX_VECTORS = 127, 8192


@dataclass
class FakeParameter:
    """A parameter's three values; ``words`` name them, as ``False(0)``."""

    default: int
    words: tuple[str, ...] = ()
    most: int = 0xFFFF
    gate: str = ""
    current: int = field(init=False)
    next_boot: int = field(init=False)

    def __post_init__(self) -> None:
        self.current = self.next_boot = self.default

    def spelled(self, value: int) -> str:
        return f"{self.words[value]}({value})" if self.words else str(value)


def factory(ports: int) -> dict[str, FakeParameter]:
    """A ConnectX-6 Dx as it leaves the factory, apart from the numbers of VFs, which the port holds."""
    found = {
        "NUM_PF_MSIX": FakeParameter(63, most=1023),
        "NUM_VF_MSIX": FakeParameter(11, most=1023),
        "ADVANCED_PCI_SETTINGS": FakeParameter(0, BOOL),
        "MAX_ACC_OUT_READ": FakeParameter(0, gate="ADVANCED_PCI_SETTINGS"),
        "ATS_ENABLED": FakeParameter(0, BOOL),
        "EXP_ROM_UEFI_x86_ENABLE": FakeParameter(0, BOOL),
        "EXP_ROM_PXE_ENABLE": FakeParameter(1, BOOL),
        "LAG_RESOURCE_ALLOCATION": FakeParameter(
            0, ("DEVICE_DEFAULT", "PRE_ALLOCATION", "PRE_ALLOCATION_QA")
        ),
    }
    for port in range(1, ports + 1):
        found[f"LINK_TYPE_P{port}"] = FakeParameter(2, ("", "IB", "ETH"))
        found[f"ROCE_CC_PRIO_MASK_P{port}"] = FakeParameter(255, most=255)
        found[f"CNP_DSCP_P{port}"] = FakeParameter(48, most=63)
        found[f"LLDP_NB_DCBX_P{port}"] = FakeParameter(0, BOOL)
    return found


def of_function() -> dict[str, FakeParameter]:
    """Those that each PF has for itself, under the same name."""
    words = ("NONE", "PXE", "ISCSI", "", "PXE_WO_FAIL_ISCSI", "ISCSI_WO_FAIL_PXE")
    return {"LEGACY_BOOT_PROTOCOL": FakeParameter(1, words), "UEFI_HII_EN": FakeParameter(1, BOOL)}


def mstconfig(host: "FakeKernel", argv: list[str]) -> str:
    """The tool's answer.

    Raises:
        CommandError: as the tool refuses, on standard output.

    """
    if "--version" in argv:
        return f"mstconfig, mstflint {host.mstconfig_version}.0, Git SHA Hash: N/A\n"
    bdf = argv[argv.index("-d") + 1]
    port = next((port for port in host.network.ports() if port.bdf.endswith(bdf)), None)
    if port is None or port.gone or host.locked_down or port.semaphore:
        raise failure(argv, 3, "-E- Failed to open the device\n", "")
    nic = next(nic for nic in host.cards if port in nic.ports)
    if nic.device in FLASH_RECOVERY:
        raise failure(argv, 3, "-E- Device in Livefish mode is not supported\n", "")
    tool = _Tool(host, nic, port, argv)
    verb = next(word for word in argv if word in ("query", "set", "reset"))
    words = argv[argv.index(verb) + 1 :]
    return tool.query(words) if verb == "query" else tool.set(words) if verb == "set" else tool.reset()


def mstfwreset(host: "FakeKernel", argv: list[str]) -> str:
    """Restart the firmware of a NIC, which the real tool refuses while there are VFs.

    Raises:
        CommandError: as the tool refuses, on standard output.

    """
    bdf = argv[argv.index("-d") + 1]
    nic = next((nic for nic in host.cards if any(p.bdf == bdf and not p.gone for p in nic.ports)), None)
    if nic is None:
        raise failure(
            argv, 1, f"-E- Failed to Identify Device: {bdf}, mopen: No such file or directory\n", ""
        )
    if any(port.vfs for port in nic.ports):
        raise failure(argv, 1, "-E- Reset is not supported while there are VFs\n", "")
    nic.apply()
    nic.boot()
    return "-I- Sending Reset Command To Fw             -Done\n-I- FW was loaded successfully.\n"


class _Tool:
    """One invocation."""

    def __init__(self, host: "FakeKernel", nic: "FakeCard", port: "FakePort", argv: list[str]) -> None:
        self.host, self.nic, self.port, self.argv = host, nic, port, argv
        self.minor = int(host.mstconfig_version.split(".")[1])

    def refuse(self, what: str) -> Exception:
        return failure(self.argv, 3, f"{self.header()}-E- {what}\n", "")

    def header(self) -> str:
        lines = [
            "Device #1:", "----------", "", "Device type:        ConnectX6DX",
            "Name:               MCX623106AC-CDA_Ax",
            "Description:        ConnectX-6 Dx EN adapter card; 100GbE; Dual-port QSFP56; PCIe 4.0 x16;",
            f"Device:             {self.argv[self.argv.index('-d') + 1]}", "",
        ]  # fmt: skip
        return "\n" + "\n".join(lines) + "\n"

    def parameters(self) -> dict[str, FakeParameter]:
        """Return the parameters that the firmware offers now, in the order in which the tool prints them."""
        firmware = self.port.firmware
        vfs = FakeParameter(8, most=MAX_VFS)
        vfs.current, vfs.next_boot = firmware.num_of_vfs, firmware.next_num_of_vfs
        sriov = FakeParameter(0, BOOL)
        sriov.current, sriov.next_boot = int(firmware.sriov_en), int(firmware.next_sriov_en)
        per_pf = FakeParameter(0, BOOL)
        per_pf.current, per_pf.next_boot = int(firmware.per_pf), int(firmware.next_per_pf)
        shown = {"NUM_OF_VFS": vfs, "SRIOV_EN": sriov, "PF_NUM_OF_VF_VALID": per_pf, **self.settings}
        if firmware.next_per_pf:
            own = FakeParameter(0, most=MAX_VFS)
            own.current, own.next_boot = firmware.pf_num_of_vf, firmware.next_pf_num_of_vf
            shown["PF_NUM_OF_VF"] = own
        shown = {name: found for name, found in shown.items() if name not in self.nic.lacks}
        return {name: found for name, found in shown.items() if self.offered(found)}

    @property
    def settings(self) -> dict[str, FakeParameter]:
        return {**self.nic.settings, **self.port.settings}

    def offered(self, found: FakeParameter) -> bool:
        return not found.gate or self.nic.settings[found.gate].next_boot == 1

    def query(self, names: list[str]) -> str:
        there = self.parameters()
        for name in names:
            self.known(name, there)
        columns = ("Default", "Current", "Next Boot") if "-e" in self.argv else ("Next Boot",)
        lines = [f"{'Configurations:':<48}" + "".join(f"{column:<24}" for column in columns)]
        for name, found in there.items():
            if names and name not in names:
                continue
            values = (found.default, found.current, found.next_boot)[-len(columns) :]
            mark = "*" if found.current != found.next_boot and "-e" in self.argv else " "
            flag = "    " if self.host.mstconfig_version != "4.21" else ""
            row = f"{mark}{flag}       {name}"
            lines.append(f"{row:<48}" + "".join(f"{found.spelled(value):<24}" for value in values))
        lines.append("The '*' shows parameters with next value different from default/current value.")
        return self.header() + "\n".join(lines) + "\n"

    def known(self, name: str, there: dict[str, FakeParameter]) -> FakeParameter:
        if name in there:
            return there[name]
        if name in self.settings or name in self.nic.lacks or name == "PF_NUM_OF_VF":
            raise self.refuse(f"The Device doesn't support {name} parameter")
        said = f"Failed to find Param / TLV with name '{name}' port 0 module -1"
        raise self.refuse(said if self.minor >= 34 else f"Unknown Parameter: {name}")

    def set(self, words: list[str]) -> str:
        there, wanted = self.parameters(), dict[str, int]()
        for name, _, text in (word.partition("=") for word in words):
            found = self.known(name, there)
            if name in wanted:
                raise self.refuse(f"Duplicate parameter, {name}.")
            wanted[name] = self.value(name, found, text)
        self.check_budget(there, wanted)
        for name, value in wanted.items():
            self.store(name, value)
        return f"{self.header()}Apply new Configuration? (y/n) [n] : y\nApplying... Done!\n{self.advice()}"

    def advice(self) -> str:
        """How what was set becomes current, as far as the tool can tell."""
        if self.nic.stuck or (self.minor >= 33 and self.nic.one_trigger):
            return "-W- Please power cycle machine to load new configurations.\n"
        return "-I- Please reboot machine to load new configurations.\n"

    def value(self, name: str, found: FakeParameter, text: str) -> int:
        named = {word.lower(): number for number, word in enumerate(found.words) if word}
        if text.lower() in named:
            return named[text.lower()]
        if not text.isdigit() or (found.words and int(text) not in named.values()):
            raise self.refuse(f"Unknown value {text}")
        if int(text) > found.most:
            raise self.refuse(f"Parameter {name}' value is larger than maximum allowed {found.most}")
        return int(text)

    def check_budget(self, there: dict[str, FakeParameter], wanted: dict[str, int]) -> None:
        after = {name: wanted.get(name, found.next_boot) for name, found in there.items()}
        each = after["NUM_PF_MSIX"] + after["NUM_OF_VFS"] * after["NUM_VF_MSIX"]
        if len(self.nic.ports) * each > MAX_VECTORS:
            raise self.refuse("The Parameter NUM_OF_VFS has Illegal constraint.")

    def store(self, name: str, value: int) -> None:
        if name == "NUM_OF_VFS":
            for port in self.nic.ports:
                port.firmware.next_num_of_vfs = value
        elif name == "SRIOV_EN":
            for port in self.nic.ports:
                port.firmware.next_sriov_en = bool(value)
        elif name == "PF_NUM_OF_VF_VALID":
            for port in self.nic.ports:
                port.firmware.next_per_pf = bool(value)
        elif name == "PF_NUM_OF_VF":
            self.port.firmware.next_pf_num_of_vf = value
        else:
            self.settings[name].next_boot = value

    def reset(self) -> str:
        for name, found in self.settings.items():
            self.store(name, found.default)
        self.store("NUM_OF_VFS", 8)
        self.store("SRIOV_EN", 0)
        self.store("PF_NUM_OF_VF_VALID", 0)
        asked = "Reset configuration for device? (y/n) [n] : y"
        return f"{self.header()}{asked}\nApplying... Done!\n{self.advice()}"
