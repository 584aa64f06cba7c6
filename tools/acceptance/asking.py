# SPDX-License-Identifier: Apache-2.0
"""Asks OpenStack's services: the errors of openstacksdk in one sentence each, with a remedy."""

import logging
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager

import requests
from converge import StepError
from converge.bounded import LateError, LongError
from converge.opener import plain
from keystoneauth1 import exceptions as auth
from openstack import exceptions as sdk
from operate import private

from acceptance import transport

WORDS = 300
"""Characters of a service's answer that a sentence quotes."""
# It logs what it raises as well, and Python prints a warning that nobody handles.
logging.getLogger("keystoneauth").addHandler(logging.NullHandler())
_POOL = re.compile(r""": \w+\(host=.*: ([^:]+?)["')]+$""")
"""The text that requests adds to an unreachable address: its own objects, and last the kernel's reason."""


def service_says(error: Exception) -> str:
    """The service's own words, without HTML and without a secret that it repeats, in one line."""
    said = getattr(error, "details", None) or getattr(error, "message", None) or error
    return plain(private.without(_POOL.sub(r": \1", str(said))))[:WORDS].rstrip(".")


_PLACE = (
    "correct region_name and interface in clouds.yaml: openstack catalog list has the regions of the services"
)
_ADDRESS = "see: openstack catalog list, and what is at the address"
OPENRC = "run: pipx run tox -e acceptance -- openrc --cloud NAME"
_REMEDIES: tuple[tuple[type[Exception], str, str], ...] = (
    (sdk.ConfigException, "cannot be used", OPENRC),
    (auth.MissingRequiredOptions, "is incomplete in clouds.yaml", OPENRC),
    (auth.Unauthorized, "refuses the credentials, or the token has expired", OPENRC),
    (auth.ConnectionError, "cannot be reached", "check auth_url in clouds.yaml and the network to it"),
    (auth.EndpointNotFound, "lacks a service in its catalog", "see: openstack catalog list"),
    (auth.DiscoveryFailure, "does not answer as Keystone does", "check auth_url: it ends in :5000/v3"),
)
_GONE = ("validate token", "recognize Fernet token")
"""Words of Keystone's answers, with status 404, to a login by a token: one that has expired or was revoked,
and one that was encrypted with keys that Keystone no longer has."""
_DOWN = (502, 503, 504)
_QUOTA = "have an administrator raise the quota of the project: openstack quota set"
_OVN = "this tool needs Neutron with OVN, whose tenants' networks are Geneve"
_VLAN_IN_USE = "name the network that has it as public.name in the site file, or set another public.vlan"
_POOL_IS_USED = (
    "enlarge the pool of public, or set public.name to an external network that has free addresses"
)
_SAID = (
    (("uota exceeded",), _QUOTA),
    (("uota has been",), _QUOTA),
    (("Maximum number of",), _QUOTA),
    (
        ("over limit of",),
        "have an administrator raise the limit of the project in Keystone: openstack limit list, limit set",
    ),
    (
        ("exceeds the quota",),
        "have an administrator raise user_storage_quota in glance-api.conf, or set image in the site file "
        "to an image that the project has",
    ),
    (
        ("Flavor with name", "already exists"),
        "set flavor.name in the site file to a name that no flavor has: openstack flavor list --all",
    ),
    (("Flavor's disk is",), "set flavor.disk in the site file to at least what the image needs"),
    (("Flavor's memory is",), "set flavor.ram in the site file to at least what the image needs"),
    (
        ("alias", "is not defined"),
        "set pci-alias of nova-compute and nova-cloud-controller, or gpu-alias in the site file",
    ),
    (
        ("availability zone is not available",),
        "no compute host of this zone is up: openstack availability zone list; name other nodes",
    ),
    (("The VLAN", "is in use"), _VLAN_IN_USE),
    (("flat network", "is in use"), _VLAN_IN_USE),
    (
        ("physical_network", "unknown"),
        "name a physical network of Neutron as public.physical-network and vlan-physical-network",
    ),
    (("'geneve' not supported",), _OVN),
    (("l3 agents",), _OVN),
    (
        ("No tenant network is available",),
        "give vlan-physical-network more VLANs: juju config neutron-api vlan-ranges",
    ),
    (("No more IP addresses available",), _POOL_IS_USED),
    (("Unable to find any IP address",), _POOL_IS_USED),
)
"""Words that an answer has, all of them, and what helps then."""
_BY_STATUS = {
    401: OPENRC,
    403: "the user must be an administrator of the cloud",
    429: "the service limits how often it is asked: wait a minute, then run this again",
    406: "this tool needs OpenStack Yoga or later",
    413: "a proxy before the service limits an upload: raise its limit (nginx: client_max_body_size), "
    "or have an administrator upload the image under this name",
    **dict.fromkeys(_DOWN, "the service is down: see juju status, then run this again"),
}


@contextmanager
def asking(what: str = "", upload: int = 0) -> Generator[None, None, None]:
    """Turn errors of openstacksdk into StepErrors with the service's words and a remedy.

    Without `what`, the sentence is about a step, which the plan's failure names already. All that is asked
    within has one limit of time and of bytes; `upload` is the size of a file that is sent.
    """
    about = f"{what}: " if what else ""
    transport.begin(upload)
    try:
        with warnings.catch_warnings():
            # openstacksdk 4 warns of what its own code still does and releases 5 and 6 will not.
            for category in (DeprecationWarning, PendingDeprecationWarning):
                warnings.simplefilter("ignore", category)
            yield
    except requests.JSONDecodeError:
        reason = f"{about}what answers is no service of OpenStack: it sends no JSON"
        raise StepError(reason, _ADDRESS) from None
    except (sdk.SDKException, auth.ClientException, LateError, LongError) as error:
        if limit := transport.limit_behind(error):
            raise StepError(f"{about}{limit}", "check the network to it, and what listens there") from None
        if isinstance(error, auth.NotFound) and any(words in service_says(error) for words in _GONE):
            error = auth.Unauthorized(error.message)
        whole = what if what.startswith("cloud ") else f"{about}the cloud"
        if isinstance(error, auth.SSLError) or "SSLError" in str(error):
            words, reason, remedy = transport.untrusted(str(error))
            raise StepError(f"{whole} {words}: {reason or service_says(error)}", remedy) from None
        for kind, words, remedy in _REMEDIES:
            if isinstance(error, kind):
                remedy = _PLACE if "region not found" in str(error) else remedy
                raise StepError(f"{whole} {words}: {service_says(error)}", remedy) from None
        nowhere = isinstance(error, sdk.NotFoundException) and what.startswith("the list of ")
        remedy = _remedy(error) or (_ADDRESS if nowhere else "")
        raise StepError(f"{about}{service_says(error)}", remedy) from None


def _remedy(error: Exception) -> str:
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    said = service_says(error)
    known = (remedy for words, remedy in _SAID if all(word in said for word in words))
    return next(known, _BY_STATUS.get(status or 0, ""))
