# SPDX-License-Identifier: Apache-2.0
"""A recorder of writes around any host."""

from collections.abc import Sequence

from hostnic import process
from hostnic.netlink.dcb import App, Dcb, dcbx_words, setting_names
from hostnic.system import DeviceInfo, Link, Pause, System


class Recorder:
    """Passes everything on to ``system`` and keeps what would show that a run was not idle.

    Attributes:
        writes: each write before it is made, as one line: ``write /sys/… 8``.
        spawned: each command, reading ones too.

    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.writes: list[str] = []
        self.spawned: list[tuple[str, ...]] = []

    def _note(self, *words: str) -> None:
        self.writes.append(" ".join(words))

    def read(self, path: str) -> str:
        return self._system.read(path)

    def listdir(self, path: str) -> list[str]:
        return self._system.listdir(path)

    def readlink(self, path: str) -> str:
        return self._system.readlink(path)

    def exists(self, path: str) -> bool:
        return self._system.exists(path)

    def write(self, path: str, value: str) -> None:
        self._note("write", path, value)
        self._system.write(path, value)

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        self._note("install", path)
        self._system.install(path, content, mode)

    def remove(self, path: str) -> None:
        self._note("remove", path)
        self._system.remove(path)

    def mkdir(self, path: str) -> None:
        self._note("mkdir", path)
        self._system.mkdir(path)

    def run(self, argv: Sequence[str], stdin: str | None = None, timeout: float = 60.0) -> str:
        self.spawned.append(tuple(argv))
        if not process.only_reads(argv):
            self._note("run", *argv)
        return self._system.run(argv, stdin, timeout)

    def links(self) -> list[Link]:
        return self._system.links()

    def addresses(self, link: str) -> list[str]:
        return self._system.addresses(link)

    def set_master(self, link: str, master: str | None) -> None:
        self._note("set_master", link, master or "none")
        self._system.set_master(link, master)

    def set_up(self, link: str, up: bool) -> None:
        self._note("set_up", link, "up" if up else "down")
        self._system.set_up(link, up)

    def hw_tc_offload(self, link: str) -> bool | None:
        return self._system.hw_tc_offload(link)

    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        self._note("set_hw_tc_offload", link, "on" if on else "off")
        self._system.set_hw_tc_offload(link, on)

    def pause(self, link: str) -> Pause | None:
        return self._system.pause(link)

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        self._note("set_pause", link, "on" if rx else "off", "on" if tx else "off")
        self._system.set_pause(link, rx, tx)

    def dcb(self, link: str) -> Dcb:
        return self._system.dcb(link)

    def set_dcb(self, link: str, wanted: Dcb) -> None:
        self._note("set_dcb", link, *setting_names(wanted))
        self._system.set_dcb(link, wanted)

    def delete_dcb_apps(self, link: str, apps: Sequence[App]) -> None:
        self._note("delete_dcb_apps", link, str(len(apps)))
        self._system.delete_dcb_apps(link, apps)

    def set_dcbx(self, link: str, mode: int) -> None:
        self._note("set_dcbx", link, dcbx_words(mode))
        self._system.set_dcbx(link, mode)

    def eswitch_mode(self, bdf: str) -> str | None:
        return self._system.eswitch_mode(bdf)

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        self._note("set_eswitch_mode", bdf, mode)
        self._system.set_eswitch_mode(bdf, mode)

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        self._note("set_inline_mode", bdf, mode)
        self._system.set_inline_mode(bdf, mode)

    def devlink_param(self, bdf: str, name: str) -> str | bool | int | None:
        return self._system.devlink_param(bdf, name)

    def set_devlink_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        self._note("set_devlink_param", bdf, name, str(value))
        self._system.set_devlink_param(bdf, name, value)

    def device_info(self, bdf: str) -> DeviceInfo:
        return self._system.device_info(bdf)

    def now(self) -> float:
        return self._system.now()

    def sleep(self, seconds: float) -> None:
        self._system.sleep(seconds)
