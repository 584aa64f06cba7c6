# SPDX-License-Identifier: Apache-2.0
"""The lab's switch that was replaced, with the charm's client: it keeps its management only."""

from lab.nvue import Certificate, Server, Switch
from lab.nvue.factory import factory
from lab.rack.leaf import blank
from rest.client import Nvue
from rest.connection import Access, Credentials

SECRET = "CumulusLinux!"
RUNS = {
    "interface": {"swp9": {"type": "swp"}, "swp10": {"type": "swp"}, "lo": {"type": "loopback"}},
    "router": {"bgp": {"enable": "on", "autonomous-system": 65101}},
}


def test_a_blank_leaf_runs_what_it_came_with(certificate: Certificate) -> None:
    with Server(Switch("Leaf0-1", release="5.9.2"), certificate, password=SECRET) as server:
        access = Access(Credentials("cumulus", SECRET), ca=certificate.pem)
        switch = Nvue("Leaf0-1", "127.0.0.1", access, server.port)
        revision = switch.create()
        switch.patch(revision, RUNS)
        switch.apply(revision)
        while not switch.progress(revision).applied:
            pass
        assert "swp9" in switch.applied()["interface"]
        assert blank(switch) == "applied_and_saved"
        assert switch.applied() == factory("Leaf0-1", new=False)
        switch.close()
