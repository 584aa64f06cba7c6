# SPDX-License-Identifier: Apache-2.0
"""Neutron's files as Charmed OpenStack 2024.1 writes them, as far as they decide about networks and ports.

Not as deployed: SQLite for MySQL; oslo.messaging's `fake` for RabbitMQ; no plugin `segments`, which writes in
a second transaction while the first one is open, as SQLite cannot; and a pipeline without Keystone's
middleware, which trusts the identity in the headers: `region` takes the place of that middleware.
"""

from pathlib import Path

PIPELINE = "request_id catch_errors keystonecontext extensions neutronapiapp_v2_0"
PASTE = f"""
[composite:neutron]
use = egg:Paste#urlmap
/: neutronversions_composite
/v2.0: neutronapi_v2_0
[composite:neutronapi_v2_0]
use = call:neutron.auth:pipeline_factory
keystone = {PIPELINE}
[composite:neutronversions_composite]
use = call:neutron.auth:pipeline_factory
keystone = neutronversions
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
[filter:catch_errors]
paste.filter_factory = oslo_middleware:CatchErrors.factory
[filter:keystonecontext]
paste.filter_factory = neutron.auth:NeutronKeystoneContext.factory
[filter:extensions]
paste.filter_factory = neutron.api.extensions:plugin_aware_extension_middleware_factory
[app:neutronversions]
paste.app_factory = neutron.pecan_wsgi.app:versions_factory
[app:neutronapiapp_v2_0]
paste.app_factory = neutron.api.v2.router:APIRouter.factory
"""
NEUTRON = """
[DEFAULT]
core_plugin = ml2
service_plugins = ovn-router,metering,port_forwarding
transport_url = fake://
auth_strategy = keystone
api_paste_config = {folder}/paste.ini
bind_host = 127.0.0.1
bind_port = 0
api_workers = 1
rpc_workers = 0
rpc_state_report_workers = 0
state_path = {folder}/state
global_physnet_mtu = {mtu}
dns_domain = openstack.internal.
agent_down_time = 86400
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
use_stderr = true
[database]
connection = sqlite:///{folder}/neutron.sqlite?timeout=2
[oslo_concurrency]
lock_path = {folder}/lock
[oslo_policy]
policy_file = {folder}/policy.yaml
[ml2]
type_drivers = geneve,vlan,flat,local
tenant_network_types = geneve
mechanism_drivers = ovn
extension_drivers = port_security,dns
path_mtu = {mtu}
[ml2_type_geneve]
vni_ranges = 1001:2000
max_header_size = 38
[ml2_type_vlan]
network_vlan_ranges = tenantvlan:101:101
[ovn]
ovn_nb_connection = unix:{folder}/nb.sock
ovn_sb_connection = unix:{folder}/sb.sock
ovn_metadata_enabled = true
ovn_emit_need_to_frag = true
enable_distributed_floating_ip = false
"""
YOGA = "".join(f'"{verb}_port:binding:profile": "rule:admin_only"\n' for verb in ("create", "get", "update"))
"""Policies of Yoga, as a file in the format of oslo.policy: an administrator may set binding:profile.

2024.1 lets only service users do that (neutron/conf/policies/port.py; release note of 2023.1).
"""


def write(folder: Path, mtu: int) -> None:
    """Write Neutron's configuration.

    Args:
        folder: of the files, and of all that Neutron and OVN write.
        mtu: of the physical networks, in bytes.

    """
    (folder / "paste.ini").write_text(PASTE)
    (folder / "neutron.conf").write_text(NEUTRON.format(folder=folder, mtu=mtu))
    (folder / "policy.yaml").write_text("")
