# SPDX-License-Identifier: Apache-2.0
"""Which of a host's devices Nova would give to instances, by its own code; runs in Nova's environment.

    python -I whitelist.py < QUESTIONS

QUESTIONS is a list in JSON. Each has `whitelist`, the text of pci-passthrough-whitelist, `devices` as
nova-compute gets them from libvirt (address, parent_addr, vendor_id, product_id), and `sysfs`, a folder that
Nova's parser sees in place of /sys. Prints a list of answers: by device's address the tags of the first entry
that matches, as physical_network, or null if none does; if Nova refuses the text, `refused` with its words.

A question with `ports`, the physical networks (null for Geneve) of a server's direct ports, is answered with
the fault that nova-compute sets as it builds that server there, or null if it claims a VF for each.
"""

import json
import os
import pathlib
import sys
import types
import warnings

warnings.simplefilter("ignore")

from nova import exception, objects  # noqa: E402 - after the warnings are off  # pyright: ignore
from nova.compute import claims  # noqa: E402  # pyright: ignore

# They register themselves; register_all() would import the rest of Nova, which is not installed here.
from nova.objects import instance_pci_requests, numa, pci_device, pci_device_pool  # noqa: E402, F401  # pyright: ignore
from nova.pci import stats, utils, whitelist  # noqa: E402  # pyright: ignore

SERVER = "00000000-0000-0000-0000-000000000001"


def below(root):
    """The functions by which nova.pci.utils reads, which see a folder in place of /sys."""

    def at(path):
        return pathlib.Path(f"{root}{path.removeprefix('/sys')}")

    paths = types.SimpleNamespace(isdir=lambda path: at(path).is_dir(), join=os.path.join)
    reads = {"readlink": lambda path: os.fspath(at(path).readlink()), "path": paths}
    return {"os": types.SimpleNamespace(**reads), "open": lambda path: at(path).open()}


def answer(question):
    """Return Nova's devices for one whitelist on one host."""
    vars(utils).update(below(question["sysfs"]))
    try:
        entries = whitelist.Whitelist([question["whitelist"]])
    except exception.NovaException as error:
        return {"refused": str(error)}
    if "ports" in question:
        return fault(entries, question)
    first = {
        device["address"]: next((entry for entry in entries.specs if entry.match(device)), None)
        for device in question["devices"]
    }
    return {address: entry and entry.get_tags() for address, entry in first.items()}


def fault(entries, question):
    """Return the fault of _build_and_run_instance in nova.compute.manager for a claim that fails."""
    pools = stats.PciDeviceStats(objects.NUMATopology(cells=[]), dev_filter=entries)
    for known in question["devices"]:
        kind = "type-VF" if known["parent_addr"] else "type-PF"
        more = {"compute_node_id": 1, "status": "available", "dev_type": kind, "numa_node": None}
        device = objects.PciDevice.create(None, {"label": known["address"], **known, **more})
        if entries.get_devspec(device) is not None:
            pools.add_device(device)
    requests = [
        objects.InstancePCIRequest(
            count=1, spec=[{"physical_network": network}], request_id=str(number), requester_id=str(number),
            alias_name=None, numa_policy=None,
        )
        for number, network in enumerate(question["ports"])
    ]  # fmt: skip
    claim = types.SimpleNamespace(
        _pci_requests=objects.InstancePCIRequests(instance_uuid=SERVER, requests=requests),
        tracker=types.SimpleNamespace(pci_tracker=types.SimpleNamespace(stats=pools)),
    )
    reason = claims.Claim._test_pci(claim)
    if reason is None:
        return None
    refused = exception.ComputeResourcesUnavailable(reason=reason)
    return exception.BuildAbortException(
        instance_uuid=SERVER, reason=refused.format_message()
    ).format_message()


print(json.dumps([answer(question) for question in json.load(sys.stdin)]))
