# SPDX-License-Identifier: Apache-2.0
"""The services' configuration files, with the bundle's options as the upstream charms write them.

A section is a mapping of options; an option with several values is a list.
"""

from collections.abc import Mapping
from typing import Any

from lab.cloud import translate
from lab.cloud.addresses import CONTROLLER, NORTHBOUND, PASSWORD, RABBIT, REGION, SOUTHBOUND, url

Sections = Mapping[str, Mapping[str, Any]]

RABBIT_URL = f"rabbit://guest:guest@{CONTROLLER}:{RABBIT}/"
SOCKET = "/run/mysqld/mysqld.sock"
LOGS = {"use_stderr": True, "log_dir": ""}
NAMESPACES = "lab.driver.NamespaceDriver"
"""Nova's driver of nodes whose servers are namespaces."""
MACHINES = "libvirt.LibvirtDriver"
"""Nova's own: servers are virtual machines."""


def database(name: str) -> str:
    """The URL of a database."""
    return f"mysql+pymysql://root@localhost/{name}?unix_socket={SOCKET}"


def user(name: str) -> dict[str, str]:
    """How a service logs in to Keystone."""
    return {
        "auth_type": "password",
        "auth_url": f"{url('keystone')}/v3",
        "username": name,
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "region_name": REGION,
    }


def tokens(name: str) -> dict[str, Any]:
    """How a service checks its callers' tokens."""
    roles = {"service_token_roles_required": True, "service_token_roles": "service"}
    return {**user(name), "www_authenticate_uri": f"{url('keystone')}/v3", **roles}


def ini(sections: Sections) -> str:
    """The file's text."""
    lines: list[str] = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        for key, value in options.items():
            for each in value if isinstance(value, list) else [value]:
                lines.append(f"{key} = {each}")
    return "\n".join(lines) + "\n"


def keystone() -> Sections:
    """Keystone's."""
    return {
        "DEFAULT": LOGS,
        "database": {"connection": database("keystone")},
        "token": {"provider": "fernet", "expiration": 86400},
        "identity": {"password_hash_rounds": 4},
        "fernet_tokens": {"key_repository": "/etc/keystone/fernet-keys"},
        "credential": {"key_repository": "/etc/keystone/credential-keys"},
    }


def glance() -> Sections:
    """Glance's, with images as files."""
    return {
        "DEFAULT": {"enabled_backends": "fs:file", "workers": 1, "http_keepalive": False, **LOGS},
        "database": {"connection": database("glance")},
        "glance_store": {"default_backend": "fs"},
        "fs": {"filesystem_store_datadir": "/var/lib/glance/images"},
        "paste_deploy": {"flavor": "keystone"},
        "oslo_limit": user("glance"),
        "keystone_authtoken": tokens("glance"),
    }


def placement() -> Sections:
    """Placement's."""
    return {
        "placement_database": {"connection": database("placement")},
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": tokens("placement"),
    }


def nova() -> Sections:
    """Nova's, but for the compute service."""
    return {
        "DEFAULT": {
            "transport_url": RABBIT_URL,
            "my_ip": CONTROLLER,
            **LOGS,
            "state_path": "/var/lib/nova",
            "rpc_response_timeout": 300,
            # Emulated nodes report late.
            "service_down_time": 600,
        },
        "api_database": {"connection": database("nova_api")},
        "database": {"connection": database("nova")},
        "api": {"auth_strategy": "keystone"},
        "glance": {"api_servers": url("glance")},
        "oslo_concurrency": {"lock_path": "/var/lib/nova/tmp"},
        "placement": user("placement"),
        "neutron": user("neutron"),
        "service_user": {"send_service_user_token": True, **user("nova")},
        # New compute nodes are taken into the cell without nova-manage.
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 10},
        "conductor": {"workers": 1},
        "filter_scheduler": {
            "enabled_filters": "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,"
            "ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,NUMATopologyFilter,PciPassthroughFilter"
        },
        "keystone_authtoken": tokens("nova"),
    }


def neutron() -> Sections:
    """Neutron's."""
    return {
        "DEFAULT": {
            "transport_url": RABBIT_URL,
            "core_plugin": "ml2",
            "service_plugins": "ovn-router,metering,segments,port_forwarding",
            "dns_domain": "openstack.internal.",
            **LOGS,
            "rpc_workers": 0,
            "rpc_state_report_workers": 0,
            "api_workers": 1,
            # Where its web server is its own; see lab.cloud.wires.
            "wsgi_keep_alive": False,
            "state_path": "/var/lib/neutron",
            "notify_nova_on_port_status_changes": True,
            "notify_nova_on_port_data_changes": True,
        },
        "database": {"connection": database("neutron")},
        "nova": user("nova"),
        "placement": user("placement"),
        "oslo_concurrency": {"lock_path": "/var/lib/neutron/lock"},
        "keystone_authtoken": tokens("neutron"),
    }


def ml2(ovn: str) -> Sections:
    """The ML2 plugin's with OVN; `ovn` is the address of OVN's databases."""
    return {
        "ml2": {
            "type_drivers": "geneve,vlan,flat,local",
            "tenant_network_types": "geneve",
            "mechanism_drivers": "ovn",
            "extension_drivers": "port_security,dns",
        },
        "ml2_type_geneve": {"vni_ranges": "1:65535", "max_header_size": 38},
        "securitygroup": {"enable_security_group": True},
        "ovn": {
            "ovn_nb_connection": f"tcp:{ovn}:{NORTHBOUND}",
            "ovn_sb_connection": f"tcp:{ovn}:{SOUTHBOUND}",
            # As in production, and OVN answers DHCP in a subnet without a gateway only with it: the metadata
            # port's address is the server's there (`_get_ovn_dhcpv4_opts` of Neutron's ovn_client.py).
            "ovn_metadata_enabled": True,
            # The default up to 2024.2, which the charms of the bundles' releases leave as it is (Neutron's
            # change 930608). With it, OVS offloads no flow of a chassis: the rules for packets that are too
            # large look at destination NAT, and every flow that passes their table looks at it, too, which
            # the kernel's flower classifier cannot (OVS 3.5, OVN 25.03).
            "ovn_emit_need_to_frag": False,
        },
    }


def compute(host: str, address: str, options: Sections, driver: str = NAMESPACES) -> Sections:
    """Nova's on a compute node.

    Args:
        host: its name.
        address: in the OAM network.
        options: what nova-compute's options are translated to; see :mod:`lab.cloud.translate`.
        driver: :data:`NAMESPACES` or :data:`MACHINES`.

    """
    own = {
        "DEFAULT": {
            "host": host,
            "my_ip": address,
            "transport_url": RABBIT_URL,
            "compute_driver": driver,
            **LOGS,
            "state_path": "/var/lib/nova",
            "instances_path": "/var/lib/nova/instances",
            "force_raw_images": False,
            # Emulated nodes answer late.
            "vif_plugging_timeout": 600,
            "rpc_response_timeout": 600,
            # No operating system runs there: none ends when Nova asks it to, before a cold move.
            "shutdown_timeout": 0,
            "reserved_host_memory_mb": 64,
        },
        "glance": {"api_servers": url("glance")},
        "oslo_concurrency": {"lock_path": "/var/lib/nova/tmp"},
        "placement": user("placement"),
        "neutron": user("neutron"),
        "service_user": {"send_service_user_token": True, **user("nova")},
        "keystone_authtoken": user("nova"),
        "libvirt": {"virt_type": "qemu", "cpu_mode": "none", "num_pcie_ports": 8},
        "vnc": {"enabled": False},
        "workarounds": {"disable_rootwrap": True},
        "os_vif_ovs": {"ovsdb_connection": "unix:/run/openvswitch/db.sock"},
    }
    return merged(own, options)


def merged(own: Sections, more: Sections) -> Sections:
    """Both; where both have an option, the second's value."""
    return {key: {**own.get(key, {}), **more.get(key, {})} for key in (*own, *(set(more) - set(own)))}


def files(ovn: str, options: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Every file's path and text; `options` are a bundle's by charm."""
    controller = translate.nova_cloud_controller(options["nova-cloud-controller"])
    api = options["neutron-api"]
    more = translate.ml2(api, options["neutron-api-plugin-ovn"])
    rabbit = "loopback_users = none\nlisteners.tcp.1 = 0.0.0.0:5672\n"
    return {
        "/etc/keystone/keystone.conf": ini(keystone()),
        "/etc/glance/glance-api.conf": ini(glance()),
        "/etc/placement/placement.conf": ini(placement()),
        "/etc/nova/nova.conf": ini(merged(nova(), controller)),
        "/etc/neutron/neutron.conf": ini(merged(neutron(), translate.neutron_api(api))),
        "/etc/neutron/plugins/ml2/ml2_conf.ini": ini(merged(ml2(ovn), more)),
        "/etc/rabbitmq/rabbitmq.conf": rabbit,
        "/etc/rabbitmq/rabbitmq-env.conf": "NODENAME=rabbit@localhost\n",
        "/etc/rabbitmq/enabled_plugins": "[].\n",
    }
