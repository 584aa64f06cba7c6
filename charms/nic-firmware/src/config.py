# SPDX-License-Identifier: Apache-2.0
"""The charm's options and action parameters; a wrong value is refused in one sentence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from charmkit.options import check, option
from charmkit.output import Output
from charmkit.reboot.policy import RebootOptions
from converge.finding import without_query
from converge.shape import InvalidValue
from hostnic.devices import selector
from hostnic.devices.pci import MAX_VFS
from hostnic.shapes import PARAMETER

PROFILES = {
    "ovn-offload": {
        "NUM_VF_MSIX": "63",  # RDG: a queue pair for each of an instance's cores
        "LAG_RESOURCE_ALLOCATION": "1",  # PRE_ALLOCATION: VF-LAG forms again while VFs are in use
        "LINK_TYPE_Pn": "ETH",
        # and SRIOV_EN and NUM_OF_VFS, whose number comes from num-vfs and from sriov-switchdev
    },
    "gpudirect": {
        "ATS_ENABLED": "1",  # GPUDirect RDMA inside virtual machines
    },
    "throughput": {
        "ADVANCED_PCI_SETTINGS": "1",
        "MAX_ACC_OUT_READ": "44",  # RDG: read requests in flight for 100 Gb/s at PCIe 4.0
    },
    "network-boot": {  # RDG: PXE on the ports
        "EXP_ROM_UEFI_x86_ENABLE": "1",
        "EXP_ROM_UEFI_ARM_ENABLE": "1",
        "EXP_ROM_PXE_ENABLE": "1",  # FlexBoot, for a BIOS in legacy mode
        "LEGACY_BOOT_PROTOCOL": "PXE",
        "UEFI_HII_EN": "1",  # the card's menu in System Setup
    },
}
"""The parameters of each profile, with the source of each value. ``_Pn`` stands for each port of the NIC."""

OPTIONAL = (
    *("LAG_RESOURCE_ALLOCATION", "LEGACY_BOOT_PROTOCOL", "UEFI_HII_EN"),
    *("EXP_ROM_UEFI_ARM_ENABLE", "EXP_ROM_PXE_ENABLE"),
)
"""The parameters of the profiles that some NICs lack, which are right without them."""

_SETTING = re.compile(rf"(?P<name>{PARAMETER})=(?P<value>[A-Za-z0-9_.+-]{{1,64}})")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"https?://(?:\[[0-9a-fA-F:.]+\]|[!-.0-9;-?A-~]+)(?::[0-9]{1,5})?/[!-~]*")
_USER = re.compile(r"[a-zA-Z]+://[^/?#]*@")
_SETTINGS = "NAME=value, such as CNP_DSCP_P1=48; several are separated by spaces, each name once"


def settings(name: str, text: str) -> dict[str, str]:
    """``A=1 B=2`` as a dictionary.

    Raises InvalidValue for another word: with the name of the option or parameter, and what is allowed.
    """
    found: dict[str, str] = {}
    for word in text.split():
        match = _SETTING.fullmatch(word)
        if match is None or match["name"] in found:
            raise InvalidValue(name, word, _SETTINGS)
        found[match["name"]] = match["value"]
    return found


def _check_url(url: str) -> None:
    """Refuse an address that cannot be fetched, or that has a password. What may be secret is not shown."""
    shown = without_query(re.sub(r"(?s)^([a-zA-Z]+://)?.*@", r"\1...@", url))
    if _USER.match(url):
        allowed = "an address without user and password; everybody who may read the model would see them, so "
        allowed += "attach such a file instead: juju attach-resource nic-firmware firmware=FILE"
        raise InvalidValue("firmware-url", shown, allowed)
    if not _URL.fullmatch(url):
        raise InvalidValue("firmware-url", shown, "an http or https address, or nothing")


def entries(name: str, text: str) -> tuple[selector.Entry, ...]:
    """Devices, without numbers of VFs: the option ``num-vfs`` has that."""
    return selector.parse(text, name, counts=False)


@dataclass(frozen=True)
class Options(RebootOptions):
    """The options of ``charmcraft.yaml``, with ``-`` spelled ``_``."""

    devices: str = option("auto")
    num_vfs: int = option(8, minimum=1, maximum=MAX_VFS)
    profile: str = option("ovn-offload")
    parameters: str = option("")
    allow_ethernet_loss: bool = option(False)
    firmware_policy: str = option("action", choices=("never", "action", "auto"))
    firmware_url: str = option("")
    firmware_sha256: str = option("")
    activation: str = option("reboot", choices=("reboot", "reset"))
    reboot_owner: str = option("self", choices=("self", "sriov-switchdev"))

    def __post_init__(self) -> None:
        super().__post_init__()
        entries("devices", self.devices)
        settings("parameters", self.parameters)
        for word in self.profiles:
            if word not in PROFILES:
                raise InvalidValue(
                    "profile", word, f"some of {', '.join(PROFILES)}; separated by commas, or nothing"
                )
        if self.firmware_url:
            _check_url(self.firmware_url)
        if self.firmware_sha256 and not _SHA256.fullmatch(self.firmware_sha256):
            raise InvalidValue("firmware-sha256", self.firmware_sha256, "64 hexadecimal digits in lower case")
        if self.firmware_url and not self.firmware_sha256:
            raise InvalidValue("firmware-sha256", "", "the sha256 of what firmware-url names")

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles, in order, each once."""
        words = (word.strip() for word in self.profile.split(","))
        return tuple(dict.fromkeys(words)) if self.profile.strip() else ()

    @property
    def selected(self) -> tuple[selector.Entry, ...]:
        """The entries of ``devices``; empty for ``auto``."""
        return entries("devices", self.devices)

    @property
    def explicit(self) -> Mapping[str, str]:
        """The settings of ``parameters``."""
        return settings("parameters", self.parameters)


@dataclass(frozen=True)
class Devices:
    """The parameter of actions that work on some NICs."""

    devices: str = option("auto")

    def __post_init__(self) -> None:
        check(self)
        entries("devices", self.devices)


@dataclass(frozen=True)
class Query(Devices, Output):
    """Parameters of the action ``query``."""


@dataclass(frozen=True)
class SetParameters:
    """Parameters of the action ``set-parameters``."""

    parameters: str
    devices: str = option("auto")

    def __post_init__(self) -> None:
        check(self)
        if not self.settings:
            raise InvalidValue("parameters", self.parameters, _SETTINGS)
        entries("devices", self.devices)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings to write."""
        return settings("parameters", self.parameters)


@dataclass(frozen=True)
class ResetParameters:
    """Parameters of the action ``reset-parameters``: one NIC, named."""

    devices: str
    confirm: bool = option(False)

    def __post_init__(self) -> None:
        check(self)
        if not entries("devices", self.devices):
            raise InvalidValue("devices", self.devices, "the name of a NIC's port, not auto")


@dataclass(frozen=True)
class Backup(Devices):
    """Parameters of the action ``backup``."""

    before: bool = option(False)


@dataclass(frozen=True)
class BurnImages(Devices):
    """Parameters of the action ``burn``."""

    allow_older: bool = option(False)


@dataclass(frozen=True)
class Restore:
    """Parameters of the action ``restore``: the text that ``backup`` gave, and the port that it is for.

    Or, of all NICs or some, what they had before the charm changed them first.
    """

    device: str = option("auto")
    backup: str = option("")
    before: bool = option(False)
    keep: str = option("")

    def __post_init__(self) -> None:
        check(self)
        if self.before and self.backup:
            raise InvalidValue("before", self.before, "false, beside a backup")
        if len(entries("device", self.device)) != 1 and not self.before:
            raise InvalidValue("device", self.device, "the name of one port")
