# SPDX-License-Identifier: Apache-2.0
"""The charm's options and action parameters: a wrong value is refused in one sentence."""

import re
from dataclasses import dataclass

from charmkit.fabric_qos import QOS
from charmkit.options import check, option
from charmkit.output import Output
from charmkit.qos import STRICT, Marking, Qos, Share
from converge.shape import InvalidValue
from hostnic.devices import selector

KEEP, INHERIT, NONE = "keep", "inherit", "none"

_DCQCN = re.compile(r"(?P<name>(?:rp|np)_[a-z0-9_]+)=(?P<value>[0-9]{1,10})")
_SHARE = re.compile(rf"(?P<tc>[0-7]):(?P<share>[0-9]{{1,3}}|{STRICT})")
_VLAN = re.compile(r"(?P<vlan>[0-9]{1,4}):(?P<pcp>[0-7])")


@dataclass(frozen=True)
class Options:
    """The options of ``charmcraft.yaml``, with ``-`` spelled ``_``."""

    devices: str = option("auto")
    trust_state: str = option("dscp", choices=("dscp", "pcp"))
    roce_dscp: int = option(26, minimum=0, maximum=63)
    roce_priority: int = option(3, minimum=0, maximum=7)
    cnp_dscp: int = option(48, minimum=0, maximum=63)
    cnp_priority: int = option(6, minimum=0, maximum=7)
    pfc_priorities: str = option("3")
    ets: str = option("0:50 3:50 6:strict")
    cable_length: int = option(0, minimum=0, maximum=999)
    rdma_tos: int = option(106, minimum=0, maximum=255)
    roce_mode: str = option("v2", choices=("v1", "v2"))
    vlan_egress_map: str = option("")
    ecn: str = option("on", choices=("on", "off", "keep"))
    dcqcn: str = option("")
    ovn_encap_tos: str = option(INHERIT)
    lldp: bool = option(True)
    dcbx_takeover: bool = option(False)

    def __post_init__(self) -> None:
        check(self)
        if self.pfc and self.roce_priority not in self.pfc:
            raise InvalidValue(
                "pfc-priorities",
                self.pfc_priorities,
                f"a list that has roce-priority {self.roce_priority}, or none",
            )
        if self.cnp_dscp == self.roce_dscp:
            raise InvalidValue("cnp-dscp", self.cnp_dscp, "another DSCP than roce-dscp")
        self._check_ets()
        self._check_encap_tos()
        # Read once, so that a malformed list is refused here.
        _ = self.selected, self.vlans, self.cc_params

    @property
    def selected(self) -> tuple[selector.Entry, ...]:
        """What ``devices`` names; empty for ``auto``."""
        return selector.parse(self.devices, counts=False)

    @property
    def pfc(self) -> tuple[int, ...]:
        """The lossless priorities, ascending."""
        words = self.pfc_priorities.replace(",", " ").split()
        if words == [NONE]:
            return ()
        allowed = "priorities 0 to 7 separated by spaces, each once, or none"
        if not words or len(set(words)) != len(words) or not set(words) <= set("01234567"):
            raise InvalidValue("pfc-priorities", self.pfc_priorities, allowed)
        return tuple(sorted(int(word) for word in words))

    @property
    def qos(self) -> Qos:
        """The options that the fabric also has."""
        return Qos(
            trust=self.trust_state,
            pfc=self.pfc,
            roce=Marking(self.roce_dscp, self.roce_priority),
            cnp=Marking(self.cnp_dscp, self.cnp_priority),
            ets=self._shares(),
        )

    @property
    def vlans(self) -> tuple[tuple[int, int], ...]:
        """VLAN id and the PCP that its packets get, by VLAN."""
        found: dict[int, int] = {}
        for word in self.vlan_egress_map.split():
            match = _VLAN.fullmatch(word)
            vlan = int(match["vlan"]) if match else 0
            if match is None or not 1 <= vlan <= 4094 or vlan in found:
                raise InvalidValue(
                    "vlan-egress-map",
                    self.vlan_egress_map,
                    "VLAN:PCP pairs separated by spaces, such as 2:5, each VLAN once",
                )
            found[vlan] = int(match["pcp"])
        return tuple(sorted(found.items()))

    @property
    def cc_params(self) -> tuple[tuple[str, int], ...]:
        """Congestion control parameters, by the name that mlx5's debugfs has."""
        found: dict[str, int] = {}
        for word in self.dcqcn.split():
            match = _DCQCN.fullmatch(word)
            if match is None or match["name"] in found or int(match["value"]) > 0xFFFFFFFF:
                raise InvalidValue(
                    "dcqcn",
                    self.dcqcn,
                    "name=number pairs such as rp_ai_rate=5 np_cnp_prio=6, each once",
                )
            found[match["name"]] = int(match["value"])
        return tuple(sorted(found.items()))

    def _shares(self) -> dict[int, Share]:
        shares: dict[int, Share] = {}
        for word in self.ets.split():
            match = _SHARE.fullmatch(word)
            if match is None or int(match["tc"]) in shares:
                raise InvalidValue(
                    "ets",
                    self.ets,
                    "class:percent or class:strict pairs such as 0:50 6:strict, each once",
                )
            share = match["share"]
            shares[int(match["tc"])] = STRICT if share == STRICT else int(share)
        return shares

    def _check_ets(self) -> None:
        try:
            QOS.check(self.qos)
        except InvalidValue as error:
            raise InvalidValue("ets", self.ets, error.allowed) from None

    def _check_encap_tos(self) -> None:
        text = self.ovn_encap_tos
        if text in (KEEP, INHERIT):
            return
        if not re.fullmatch(r"[0-9]{1,3}", text) or int(text) > 255:
            raise InvalidValue("ovn-encap-tos", text, "inherit, keep, or a number from 0 to 255")


@dataclass(frozen=True)
class Reading(Output):
    """The parameters of ``show-counters``."""

    seconds: int = option(0, minimum=0, maximum=300)
