# SPDX-License-Identifier: Apache-2.0
"""VLANs and RoCE on a switch outside the EVPN fabric, as its own command line takes them. Pure."""

from intent.model import Fabric, Switch

from standalone import Script, comware, onyx

_WRITERS = {"onyx": onyx.script, "comware": comware.script}


def script(fabric: Fabric, switch: Switch) -> Script:
    """The commands for ``switch``, in configuration mode.

    Raises:
        ValueError: the switch has NVUE instead.

    """
    if switch.platform not in _WRITERS:
        raise ValueError(f"{switch.name} runs {switch.platform}; its tree comes from render")
    return _WRITERS[switch.platform](fabric, switch)
