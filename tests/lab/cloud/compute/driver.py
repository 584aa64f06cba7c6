# SPDX-License-Identifier: Apache-2.0
"""Nova's libvirt driver, with a namespace in place of the virtual machine's network and processors.

A VF of the virtual card has no registers that a virtual machine could map, and a machine in a machine takes
minutes to boot without KVM. So everything is Nova's, os-vif's and libvirt's own (the claim of VFs, large
pages and processors, the domain, the plugging, Neutron's events) except that the domain has no network
interface and its processors never start: a namespace has the interfaces, and is the server.
"""

from nova.compute import power_state
from nova.virt import hardware
from nova.virt.lab import servers
from nova.virt.libvirt import driver


class NamespaceDriver(driver.LibvirtDriver):
    """nova.conf: compute_driver = lab.driver.NamespaceDriver."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self._interfaces = {}

    def _create_guest(self, context, xml, instance, power_on=True, pause=False, post_xml_callback=None):
        domain, interfaces = servers.without_interfaces(xml)
        self._interfaces[instance.uuid] = interfaces
        guest = super()._create_guest(context, domain, instance, power_on, True, post_xml_callback)
        guest.resume = lambda: None
        servers.start(instance.name, interfaces)
        return guest

    def _destroy(self, instance):
        super()._destroy(instance)
        servers.stop(instance.name, self._interfaces.pop(instance.uuid, []))

    def get_info(self, instance, use_cache=True):
        info = super().get_info(instance, use_cache)
        if info.state != power_state.PAUSED:
            return info
        return hardware.InstanceInfo(state=power_state.RUNNING, internal_id=info.internal_id)
