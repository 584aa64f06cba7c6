# SPDX-License-Identifier: Apache-2.0
"""Images under real systemd: a burn, a reboot that runs it, and power that is lost in the middle."""

import hashlib

import pytest
from functional.nic_firmware.conftest import PF, Pair
from functional.once import once
from lab import mstflint
from lab.guest import Guest, GuestError

NEW = "22.39.1002"
URL = "http://127.0.0.1:8080/fw.bin"
SECONDS = "/etc/lab-burn-seconds"
TOOL = f"""#!/bin/sh
LAB_BURN_SECONDS=$(cat {SECONDS}) exec python3 /opt/ovn-offload/tests/lab/mstflint.py "$@"
"""
FLASH_IS_A_FILE = "[Service]\nReadWritePaths=/var/lib/lab\n"
"""For the units that burn: the stand-in has a file for what is in a NIC."""


def serve(guest: Guest) -> None:
    """Start the web server, and return when it listens."""
    guest.run("systemd-run --unit=images python3 -m http.server --directory /srv/fw 8080")
    guest.run(["bash", "-c", "until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do sleep 0.2; done"])


@pytest.fixture
def site(pair: Pair) -> Pair:
    """nic-firmware alone, the stand-in in mstflint's place, and an image on a web server."""

    def make() -> Pair:
        guest, content = pair.guest, mstflint.image("MT_0000000359", NEW)
        guest.run("rm -r /var/lib/juju/agents/unit-sriov-switchdev-0")
        # A transient unit's command is looked up in systemd's own path, where /usr/local comes first.
        guest.write("/usr/local/bin/mstflint", TOOL, 0o755)
        guest.write(SECONDS, "3")
        guest.write("/etc/systemd/system/ovn-offload-burn-.service.d/lab.conf", FLASH_IS_A_FILE)
        guest.write("/srv/fw/fw.bin", content)
        serve(guest)
        digest = hashlib.sha256(content).hexdigest()
        options = {"profile": "", "parameters": "", "firmware-url": URL, "firmware-sha256": digest}
        assert pair.firmware.emit("config_changed", config=options).status[0] == "active"
        return pair

    return once(pair.guest, "burn", make)


def flash(site: Pair) -> str:
    return site.guest.run(["mstflint", "-d", PF, "-qq", "query"]).stdout


@pytest.mark.thorough
def test_a_burn_runs_after_one_reboot(site: Pair) -> None:
    burned = site.firmware.action("burn")
    assert burned.results["burned"] == f"burn firmware {NEW} into 3b:00"
    assert NEW in flash(site)
    assert site.soon(lambda: site.firmware.reboot_requested)
    site.guest.reboot()
    assert site.firmware.emit("start").status[0] == "active"
    assert "Running" not in flash(site)
    assert site.firmware.emit("update_status").writes == []


@pytest.mark.thorough
def test_a_burn_that_loses_power_is_reported_and_completed(site: Pair) -> None:
    site.guest.write(SECONDS, "600")
    with pytest.raises(GuestError):
        site.firmware.action("burn", timeout=60)
    site.guest.power_cycle()
    assert NEW not in flash(site)
    assert "did not come to its end" in site.firmware.action("verify").results["findings"]
    site.guest.write(SECONDS, "3")
    serve(site.guest)
    site.firmware.action("burn")
    assert NEW in flash(site)
