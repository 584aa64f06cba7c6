# SPDX-License-Identifier: Apache-2.0
"""Names that MAAS takes, each as a pattern with the words for what it allows.

Source, in maasserver: validate_fabric_name and clean_name in models/fabric.py and models/space.py,
MODEL_NAME_VALIDATOR in fields.py for VLANs, SUBNET_NAME_VALIDATOR in models/subnet.py, INTERFACE_NAME_REGEXP
in models/interface.py, and IP_BASED_HOSTNAME_REGEXP in forms/__init__.py. A form cuts spaces at the ends of
any text. Digits alone are taken for the id of a space (SpecifierOrModelChoiceField in fields.py).
"""

from intent.attach import NETDEV_NAME_LENGTH

FABRIC = r"[\w-]{1,256}", "letters, digits, - and _, as MAAS has them in fabrics"
VLAN = r"\w[ \w-]{0,255}(?<! )", "letters, digits, spaces, - and _, as MAAS has them in VLANs"
SUBNET = r"(?! )[.: \w/-]{1,255}(?<! )", "letters, digits, spaces and . : / - _, as MAAS has them in subnets"
SPACE = (
    r"(?!undefined$|\d+$|.{257})[A-Za-z0-9]+(-[A-Za-z0-9]+)*",
    "a space that Juju takes, too: letters, digits, single -, but not digits alone, nor undefined",
)
NETDEV = (
    rf"(?!\.{{1,2}}$)[\w.-]{{1,{NETDEV_NAME_LENGTH}}}",
    f"a netdev's name of {NETDEV_NAME_LENGTH} characters at most: letters, digits and - _ .",
)
HOST = (
    r"(?!\d{1,3}(-\d{1,3}){3}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?",
    "a host name without its domain, such as node1, and not an address such as 192-168-25-7",
)
