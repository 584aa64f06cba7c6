# SPDX-License-Identifier: Apache-2.0
"""The modelled NIC's LAG of all its ports, two or four, by the rules of mlx5's lag/lag.c.

mlx5 looks at the bond when its members change, when VFs are created in legacy mode and when an
eswitch mode is set; not when VFs are bound or unbound. The firmware makes and breaks a LAG only while
no VF has a driver, and a LAG that it could not break stays in its way until the driver restarts. With
LAG_RESOURCE_ALLOCATION=1 it does both regardless of the VFs (mlxconfig_host.db of mstflint).
"""

from collections.abc import Callable

from lab.modelled.nic.model import FakeCard

HASHING = ("802.3ad", "balance-xor")
PRE_ALLOCATION = 1
UNBOUND = "Make sure all VFs are unbound prior to VF LAG activation or deactivation"

Say = Callable[[str], None]


def consider(card: FakeCard, bond_mode: str | None, say: Say) -> None:
    """Form or dissolve the LAG.

    Args:
        card: the NIC.
        bond_mode: of the one bond that has exactly the NIC's ports; None when there is none.
        say: takes lines of the kernel log.

    """
    if card.multiport:
        return
    wanted = _wanted(card, bond_mode)
    if wanted and card.lag is None:
        _activate(card, wanted, bond_mode in HASHING, say)
    elif wanted is None and card.lag is not None:
        dissolve(card, say)


def _wanted(card: FakeCard, bond_mode: str | None) -> str | None:
    if card.lag_never or not card.offers_lag or bond_mode not in (*HASHING, "active-backup"):
        return None
    modes = {port.eswitch_mode for port in card.ports}
    if modes == {"switchdev"}:
        return "switchdev" if len(card.ports) <= card.vf_lag_ports else None
    quiet = modes == {port.mode_at_start for port in card.ports}
    return "roce" if quiet and not any(port.vfs for port in card.ports) else None


def _activate(card: FakeCard, kind: str, hashing: bool, say: Say) -> None:
    hashing = hashing or kind == "roce"
    numbers = range(1, len(card.ports) + 1)
    active = f"active ports: {', '.join(map(str, numbers))}"
    say(f"lag map {active}" if hashing else f"lag map: {' '.join(f'port {n}:{n}' for n in numbers)}")
    shared = kind == "switchdev" and card.shared_fdb
    say(f"shared_fdb:{int(shared)} mode:{'hash' if hashing else 'queue_affinity'}")
    if _in_the_way(card) or card.lag_in_firmware:
        say("CREATE_LAG(0x840) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x7d49cb), err(-22)")
        say("Failed to create LAG (-22)")
        say(f"Failed to activate VF LAG\n{UNBOUND}" if kind == "switchdev" else "Failed to activate RoCE LAG")
        return
    card.lag_in_firmware = True
    card.lag, card.lag_hash = kind, hashing


def dissolve(card: FakeCard, say: Say) -> None:
    """Take an active LAG down; as far as the driver is concerned it is gone either way."""
    kind, card.lag = card.lag, None
    if kind is None or not card.lag_in_firmware:
        return
    if not _in_the_way(card):
        card.lag_in_firmware = False
        return
    say("DESTROY_LAG(0x843) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x7d49cb), err(-22)")
    what = f"Failed to deactivate {'RoCE' if kind == 'roce' else 'VF'} LAG; driver restart required"
    say(what if kind == "roce" else f"{what}\n{UNBOUND}")


def _in_the_way(card: FakeCard) -> bool:
    """Whether VFs keep the firmware from making or breaking a LAG."""
    allocation = card.settings.get("LAG_RESOURCE_ALLOCATION")
    if allocation is not None and allocation.current == PRE_ALLOCATION:
        return False
    return any(vf.driver == "mlx5_core" for port in card.ports for vf in port.vfs)
