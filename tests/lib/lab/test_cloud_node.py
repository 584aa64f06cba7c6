# SPDX-License-Identifier: Apache-2.0
"""The parts of the lab's compute nodes that need no guest; tests/functional/test_cloud_node.py runs one."""

import pytest
from lab.cloud.compute import servers

DOMAIN = """<domain type="qemu"><name>instance-00000001</name><devices>
<interface type="bridge"><mac address="fa:16:3e:00:00:01"/><source bridge="br-int"/>
<target dev="tap0a1b2c3d-4e"/><mtu size="8942"/><virtualport type="openvswitch">
<parameters interfaceid="0a1b2c3d-4e5f-0000-0000-000000000001"/></virtualport></interface>
<interface type="hostdev" managed="yes"><mac address="fa:16:3e:00:00:02"/><driver name="vfio"/><source>
<address type="pci" domain="0x0000" bus="0x3b" slot="0x01" function="0x2"/></source></interface>
<serial type="pty"/></devices></domain>"""


def test_a_domain_gives_its_interfaces_to_the_namespace_in_their_order():
    rest, found = servers.without_interfaces(DOMAIN)
    assert "<interface" not in rest
    assert "<serial" in rest
    assert found == [
        servers.Interface("fa:16:3e:00:00:01", target="tap0a1b2c3d-4e", mtu="8942"),
        servers.Interface("fa:16:3e:00:00:02", vf="0000:3b:01.2"),
    ]


def test_an_interface_that_no_namespace_can_have_is_named():
    with pytest.raises(ValueError, match="an interface of type vdpa without a target"):
        servers.without_interfaces('<domain><devices><interface type="vdpa"/></devices></domain>')
