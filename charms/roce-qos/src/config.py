# SPDX-License-Identifier: Apache-2.0
"""The charm's options and action parameters: a wrong value is refused in one sentence."""

import re
from dataclasses import dataclass

from charmkit.fabric import STRICT, Marking, Qos, Share
from charmkit.options import check, option
from charmkit.output import Output
from converge.shape import InvalidValue
from hostnic.devices import selector

KEEP, INHERIT, NONE = "keep", "inherit", "none"

_DCQCN = re.compile(r"((?:rp|np)_[a-z0-9_]+)=([0-9]{1,10})")
_SHARE = re.compile(rf"([0-7]):([0-9]{{1,3}}|{STRICT})")
_VLAN = re.compile(r"(?=[0-9]{1,4}:)0*([1-9][0-9]*):([0-7])")


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
        _ = self.selected, self.vlans, self.dcqcn_params

    @property
    def selected(self) -> tuple[selector.Entry, ...]:
        """The entries of ``devices``; empty for ``auto``."""
        return selector.parse(self.devices, counts=False)

    @property
    def pfc(self) -> tuple[int, ...]:
        """The lossless priorities, ascending."""
        words = self.pfc_priorities.replace(",", " ").split()
        if words == [NONE]:
            return ()
        allowed = "priorities 0 to 7, or none; separated by spaces, each once"
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
        allowed = "VLAN:PCP pairs such as 2:5; separated by spaces, each VLAN once"
        pairs = _pairs("vlan-egress-map", self.vlan_egress_map, _VLAN, allowed)
        if any(int(vlan) > 4094 for vlan in pairs):
            raise InvalidValue("vlan-egress-map", self.vlan_egress_map, allowed)
        return tuple(sorted((int(vlan), int(pcp)) for vlan, pcp in pairs.items()))

    @property
    def cc_params(self) -> tuple[tuple[str, int], ...]:
        """Congestion control: the mark of CNPs, and the parameters of ``dcqcn``, which take precedence."""
        marks = {"np_cnp_dscp": self.cnp_dscp, "np_cnp_prio": self.cnp_priority}
        return tuple(sorted({**marks, **dict(self.dcqcn_params)}.items()))

    @property
    def dcqcn_params(self) -> tuple[tuple[str, int], ...]:
        """The parameters of ``dcqcn``, by the name that mlx5's debugfs has."""
        allowed = "name=number pairs such as rp_ai_rate=5; separated by spaces, each name once"
        pairs = _pairs("dcqcn", self.dcqcn, _DCQCN, allowed)
        if any(int(value) > 0xFFFFFFFF for value in pairs.values()):
            raise InvalidValue("dcqcn", self.dcqcn, allowed)
        return tuple(sorted((name, int(value)) for name, value in pairs.items()))

    def _shares(self) -> dict[int, Share]:
        allowed = "class:percent or class:strict pairs such as 0:50 6:strict; each class once"
        pairs = _pairs("ets", self.ets, _SHARE, allowed)
        return {int(tc): STRICT if share == STRICT else int(share) for tc, share in pairs.items()}

    def _check_ets(self) -> None:
        try:
            _ = self.qos  # it checks itself
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


def _pairs(option: str, text: str, pattern: re.Pattern[str], allowed: str) -> dict[str, str]:
    """The pairs in an option's words, each of which matches ``pattern``; no key occurs twice."""
    found: dict[str, str] = {}
    for word in text.split():
        match = pattern.fullmatch(word)
        if match is None or match[1] in found:
            raise InvalidValue(option, text, allowed)
        found[match[1]] = match[2]
    return found
