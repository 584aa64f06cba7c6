# SPDX-License-Identifier: Apache-2.0
"""The processes of the control plane: how each is started, and when it is ready."""

import http.client
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lab.cloud.addresses import CONTROLLER, NORTHBOUND, PORTS, RABBIT
from lab.cloud.configuration import SOCKET
from lab.cloud.openstacks import OpenStack

_NEUTRON = "/etc/neutron/neutron.conf", "/etc/neutron/plugins/ml2/ml2_conf.ini"
_NEUTRON_FILES = [word for path in _NEUTRON for word in ("--config-file", path)]


@dataclass(frozen=True)
class Service:
    """One process with its children.

    Attributes:
        name: of its log.
        command: in the root.
        ready: whether it does its work; asked again and again, also while nothing listens yet.
        environment: besides the usual.

    """

    name: str
    command: list[str]
    ready: Callable[[], bool] = lambda: True
    environment: dict[str, str] = field(default_factory=dict)


def listens(port: int) -> bool:
    """Whether something accepts connections at the controller's port."""
    try:
        socket.create_connection((CONTROLLER, port), 5).close()
    except OSError:
        return False
    return True


def answers(port: int) -> bool:
    """Whether a web service answers at the controller's port, and not by an internal error."""
    connection = http.client.HTTPConnection(CONTROLLER, port, timeout=20)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _unix(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as end:
        return end.connect_ex(path) == 0


def mariadb(root: str) -> Service:
    """MariaDB, which only the controller's own processes reach, and which keeps nothing over a crash."""
    options = [
        *("--user=mysql", "--datadir=/var/lib/mysql", f"--socket={SOCKET}"),
        *("--skip-grant-tables", "--skip-networking", "--skip-log-bin", "--performance-schema=0"),
        *("--max-connections=500", "--innodb-buffer-pool-size=64M", "--aria-pagecache-buffer-size=8M"),
        *("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-doublewrite=0"),
    ]
    return Service("mariadb", ["mariadbd", *options], lambda: _unix(f"{root}{SOCKET}"))


def rabbitmq() -> Service:
    """RabbitMQ, whose schedulers sleep instead of spinning."""
    quiet = "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"
    environment = {"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": quiet}
    return Service("rabbitmq", ["rabbitmq-server"], lambda: listens(RABBIT), environment)


def ovn() -> Service:
    """OVN's databases and northd, for a cloud that is not in a rack."""
    insecure = ["--db-nb-create-insecure-remote=yes", "--db-sb-create-insecure-remote=yes"]
    command = ["/usr/share/ovn/scripts/ovn-ctl", *insecure, "start_northd"]
    return Service(
        "ovn", ["sh", "-c", '"$@" && exec sleep infinity', "sh", *command], lambda: listens(NORTHBOUND)
    )


def web(
    name: str, application: str, *more: str, processes: int = 1, threads: int = 4, **environment: str
) -> Service:
    """A WSGI application: the name of a module, or a file.

    uwsgi 2.0.28 and Python's HTTP clients disagree on connections that stay open after a body that nobody has
    read, so that each answer ends its connection.
    """
    kind = "--wsgi-file" if application.startswith("/") else "--module"
    command = [
        *("uwsgi_python3", "--http-socket", f"0.0.0.0:{PORTS[name]}", kind, application),
        *("--callable", "application", "--processes", str(processes), "--threads", str(threads)),
        *("--enable-threads", "--master", "--lazy-apps", "--need-app", "--die-on-term", "--thunder-lock"),
        *("--buffer-size", "65535", "--add-header", "Connection: close", *more),
    ]
    return Service(name, command, lambda: answers(PORTS[name]), environment)


def keystone(openstack: OpenStack) -> Service:
    """Keystone."""
    return web("keystone", openstack.wsgi["keystone"])


def rest(openstack: OpenStack) -> list[Service]:
    """All others."""
    # Neutron's workers recognize each other by it, and it is uwsgi's to set.
    started = f"start-time={time.time():.0f}"
    files = {"OS_NEUTRON_CONFIG_FILES": ";".join(_NEUTRON)}
    if "neutron" in openstack.wsgi:
        application = openstack.wsgi["neutron"]
        options = ["--pyargv", " ".join(_NEUTRON_FILES), "--set", started]
        neutron = web("neutron", application, *options, **files)
    else:
        neutron = _own(openstack, "neutron", *_NEUTRON_FILES)
    glance = openstack.wsgi.get("glance")
    return [
        web("placement", openstack.wsgi["placement"]),
        web("glance", glance) if glance else _own(openstack, "glance"),
        neutron,
        *(Service(name, [name, *_NEUTRON_FILES], environment=files) for name in openstack.workers),
        # Its greenlets and uwsgi's threads cannot be in one process.
        web(
            "nova",
            openstack.wsgi["nova"],
            processes=2,
            threads=1,
            OS_NOVA_DISABLE_EVENTLET_PATCHING="1",
        ),
        *(
            Service(name, [name, "--config-file", "/etc/nova/nova.conf"])
            for name in ("nova-conductor", "nova-scheduler")
        ),
    ]


def _own(openstack: OpenStack, name: str, *arguments: str) -> Service:
    """A service with a web server of its own."""
    return Service(name, [openstack.programs[name], *arguments], lambda: answers(PORTS[name]))
