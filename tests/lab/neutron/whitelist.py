# SPDX-License-Identifier: Apache-2.0
"""Which of a host's devices Nova would give to instances, by its own parser; runs in Nova's environment.

    python -I whitelist.py < QUESTIONS

QUESTIONS is a list in JSON. Each has `whitelist`, the text of pci-passthrough-whitelist, `devices` as
nova-compute gets them from libvirt (address, parent_addr, vendor_id, product_id), and `sysfs`, a folder that
Nova's parser sees in place of /sys. Prints a list of answers: by device's address the tags of the first entry
that matches, as physical_network, or null if none does; if Nova refuses the text, `refused` with its words.
"""

import json
import os
import pathlib
import sys
import types
import warnings

warnings.simplefilter("ignore")

from nova import exception  # noqa: E402 - after the warnings are off  # pyright: ignore
from nova.pci import utils, whitelist  # noqa: E402  # pyright: ignore


def below(root):
    """The functions by which nova.pci.utils reads, which see a folder in place of /sys."""

    def at(path):
        return pathlib.Path(f"{root}{path.removeprefix('/sys')}")

    paths = types.SimpleNamespace(isdir=lambda path: at(path).is_dir(), join=os.path.join)
    reads = {"readlink": lambda path: os.fspath(at(path).readlink()), "path": paths}
    return {"os": types.SimpleNamespace(**reads), "open": lambda path: at(path).open()}


def answer(question):
    """What Nova makes of one whitelist on one host."""
    vars(utils).update(below(question["sysfs"]))
    try:
        entries = whitelist.Whitelist([question["whitelist"]])
    except exception.NovaException as error:
        return {"refused": str(error)}
    first = {
        device["address"]: next((entry for entry in entries.specs if entry.match(device)), None)
        for device in question["devices"]
    }
    return {address: entry and entry.get_tags() for address, entry in first.items()}


print(json.dumps([answer(question) for question in json.load(sys.stdin)]))
