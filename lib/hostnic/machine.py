# SPDX-License-Identifier: Apache-2.0
"""The real host.

``OVN_OFFLOAD_TRACE=<file>`` in the environment has :class:`Machine` append each write to that file
before it is made, one JSON object per line: ``{"verb": "write", "arguments": ["/sys/…", "8"]}``. The
words are those of :class:`hostnic.recorder.Recorder`.
"""

import json
import os
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from hostnic import process
from hostnic.system import DeviceInfo, Link, Pause

if TYPE_CHECKING:
    from hostnic.netlink.dcb import App, Dcb
    from hostnic.netlink.dcbnl import Dcbnl
    from hostnic.netlink.genl import Families
    from hostnic.netlink.links import Links

TRACE = "OVN_OFFLOAD_TRACE"
_CHUNK = 1 << 16


class Machine:
    """The host that this process runs on. Netlink sockets open at their first use."""

    def __init__(self) -> None:
        self._trace = os.environ.get(TRACE)

    @cached_property
    def _links(self) -> "Links":
        from hostnic.netlink.links import Links

        return Links()

    @cached_property
    def _families(self) -> "Families":
        from hostnic.netlink.genl import Families

        return Families()

    @cached_property
    def _dcbnl(self) -> "Dcbnl":
        from hostnic.netlink.dcbnl import Dcbnl

        return Dcbnl()

    def _note(self, verb: str, *arguments: str) -> None:
        if self._trace:
            with open(self._trace, "a") as trace:
                trace.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")

    # System calls instead of pathlib, which takes longer than the kernel: it has to be loaded while the
    # network waits for the boot units, and makes an object for each of a hundred attributes in a hook.
    def read(self, path: str) -> str:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = list(iter(lambda: os.read(descriptor, _CHUNK), b""))
        finally:
            os.close(descriptor)
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def listdir(self, path: str) -> list[str]:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries]

    def readlink(self, path: str) -> str:
        return os.readlink(path)

    def exists(self, path: str) -> bool:
        return os.access(path, os.F_OK)

    def write(self, path: str, value: str) -> None:
        self._note("write", path, value)
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._note("install", path)
        directory, name = os.path.split(path)
        os.makedirs(directory, exist_ok=True)
        draft = f"{directory}/.{name}.new"
        if os.path.lexists(draft):
            os.unlink(draft)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            os.unlink(draft)
            raise
        self._sync_directory(directory)

    def remove(self, path: str) -> None:
        self._note("remove", path)
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)
        self._sync_directory(os.path.dirname(path))

    def mkdir(self, path: str) -> None:
        self._note("mkdir", path)
        os.mkdir(path)

    def _sync_directory(self, directory: str) -> None:
        """Make the change of a directory entry durable."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def run(self, argv: Sequence[str], stdin: str | None = None, timeout: float = 60.0) -> str:
        if not process.only_reads(argv):
            self._note("run", *argv)
        return process.run(argv, stdin, timeout)

    def links(self) -> list[Link]:
        return self._links.all()

    def addresses(self, link: str) -> list[str]:
        return self._links.addresses(link)

    def set_master(self, link: str, master: str | None) -> None:
        self._note("set_master", link, master or "none")
        self._links.set_master(link, master)

    def set_up(self, link: str, up: bool) -> None:
        self._note("set_up", link, "up" if up else "down")
        self._links.set_up(link, up)

    def hw_tc_offload(self, link: str) -> bool | None:
        return self._families.hw_tc_offload(link)

    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        self._note("set_hw_tc_offload", link, "on" if on else "off")
        self._families.set_hw_tc_offload(link, on)

    def pause(self, link: str) -> Pause | None:
        return self._families.pause(link)

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        self._note("set_pause", link, "on" if rx else "off", "on" if tx else "off")
        self._families.set_pause(link, rx, tx)

    def dcb(self, link: str) -> "Dcb":
        return self._dcbnl.get(link)

    def set_dcb(self, link: str, wanted: "Dcb") -> None:
        from hostnic.netlink.dcb import setting_names

        self._note("set_dcb", link, *setting_names(wanted))
        self._dcbnl.set(link, wanted)

    def delete_dcb_apps(self, link: str, apps: "Sequence[App]") -> None:
        self._note("delete_dcb_apps", link, str(len(apps)))
        self._dcbnl.delete_apps(link, apps)

    def set_dcbx(self, link: str, mode: int) -> None:
        from hostnic.netlink.dcb import dcbx_words

        self._note("set_dcbx", link, dcbx_words(mode))
        self._dcbnl.set_dcbx(link, mode)

    def eswitch_mode(self, bdf: str) -> str | None:
        return self._families.eswitch_mode(bdf)

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        self._note("set_eswitch_mode", bdf, mode)
        self._families.set_eswitch_mode(bdf, mode)

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        self._note("set_inline_mode", bdf, mode)
        self._families.set_inline_mode(bdf, mode)

    def devlink_param(self, bdf: str, name: str) -> str | bool | int | None:
        return self._families.param(bdf, name)

    def set_devlink_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        self._note("set_devlink_param", bdf, name, str(value))
        self._families.set_param(bdf, name, value)

    def device_info(self, bdf: str) -> DeviceInfo:
        return self._families.device_info(bdf)

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
