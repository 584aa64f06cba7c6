# SPDX-License-Identifier: Apache-2.0
"""The obstacles in others' files, found before anything is written; of a NIC, see nic/obstacles.py. Pure."""

from collections.abc import Collection, Iterable, Iterator

from converge import Finding, Severity
from observed import Writer


def preflight(writers: Iterable[Writer], managed: Collection[str]) -> tuple[Finding, ...]:
    """Return the findings on these files about the charm's ports, which are at these PCI addresses."""
    findings = list[Finding]()
    for writer in writers:
        findings += (_second_writer if writer.creates else _user_of_vfs)(writer, managed)
    return tuple(dict.fromkeys(findings))  # a file may set several ports


def _user_of_vfs(writer: Writer, managed: Collection[str]) -> Iterator[Finding]:
    """Who uses VFs of ports of this charm as it creates them."""
    if any(setting.concerns(managed) for setting in writer.settings):
        what = f"{writer.tool} uses VFs of this port that others create (externallyManaged)"
        remedy = "its policies may ask for num-vfs VFs at most, with eSwitchMode switchdev"
        yield Finding(Severity.INFO, writer.path, what, remedy)


def _second_writer(writer: Writer, managed: Collection[str]) -> Iterator[Finding]:
    """Yield the findings on a file about this charm's ports; VFs of other NICs are not its business."""
    ours = [setting for setting in writer.settings if setting.concerns(managed)]
    if not ours:
        return
    others = [setting for setting in writer.settings if setting not in ours]
    # A script is no reason to block a NIC that it does not surely write to; the boot units see what it does.
    sure = any(setting.ports is not None for setting in ours) or writer.tool in ("netplan", "ovn-chassis")
    keys = " and ".join(dict.fromkeys(key for setting in ours for key in setting.keys))
    names = " and ".join(dict.fromkeys(setting.name for setting in ours))
    what = f"{writer.tool} sets VFs or eswitch modes too"
    remedy = f"remove {keys} from this file; existing VFs stay"
    if writer.tool == "netplan":
        remedy = (
            f"edit this file, without netplan apply; remove {keys} from the ethernets of this file ({names})"
        )
    elif writer.tool == "ovn-chassis":
        what = "ovn-chassis sets VFs too"
        left = " ".join(f"{setting.name}:{setting.vfs}" for setting in others if setting.vfs)
        left = f'"{left}"' if left else "none:0"
        remedy = f"run: juju config ovn-chassis sriov-numvfs={left}; existing VFs stay "
        remedy += "(if this host's ovn-chassis has another name in the model, use that one)"
    elif writer.tool == "sriov-netplan-shim":
        remedy = f"systemctl disable {names}, without --now; existing VFs stay, so do not start it again"
        remedy += "; or remove them from this file"
    elif writer.tool == "sriov-network-operator":
        remedy = f"remove the port from the policies of {writer.tool}, and then numVfs from this file"
    elif writer.tool == "tuned":
        remedy = f"do not restart tuned, but {remedy} until tuned is stopped, restarted or given another "
        remedy += "profile: it writes back what was there, so leave it alone until the next boot"
    elif "initramfs" in writer.path or "dracut" in writer.path:
        remedy = f"remove {keys} from this file, and make the initramfs anew; existing VFs stay; "
        remedy += "run update-initramfs -u -k all, or with dracut: dracut --force --regenerate-all"
    elif writer.tool == "a unit":
        remedy = f"systemctl disable {names}, without --now; or {remedy}"
    if not sure:
        what = f"{writer.tool} may set VFs or eswitch modes of this charm's ports"
        remedy = f"see whether it does, and then leave them out there; or {remedy}"
    yield Finding(Severity.BLOCKED if sure else Severity.WARNING, writer.path, what, remedy)
