# SPDX-License-Identifier: Apache-2.0
"""The copy of the code that the boot units run."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from boot import files, main
from hostnic.boot import bootcopy


@pytest.mark.parametrize("arguments", [[], ["later"], ["early", "bind"]])
def test_other_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(arguments) == 5
    assert "usage: boot.pyz early|bind|fallback|restore|follow|revert" in capsys.readouterr().err


LEFT_OUT = ("hostnic/capture/", "hostnic/tuning/")
"""The packages that only the actions capture and check-host use."""


def test_the_archive_is_whole_and_has_nothing_of_juju(tmp_path: Path) -> None:
    path = tmp_path / "boot.pyz"
    path.write_bytes(bootcopy.archive(files.COPY))
    names = zipfile.ZipFile(path).namelist()
    needed = {"__main__.py", "boot/main.py", "boot/main.pyc", "hostnic/machine.py", "pyroute2/__init__.pyc"}
    assert needed <= {*names}
    assert not [name for name in names if name.startswith(("charm", "ops/", "config"))]
    hostnic = Path(bootcopy.__file__).parents[1]
    shipped = {f"hostnic/{path.relative_to(hostnic).as_posix()}" for path in hostnic.rglob("*.py")}
    assert {name for name in shipped - {*names} if not name.startswith(LEFT_OUT)} == set()
    # The system's Python runs it, with nothing of the charm's environment in reach.
    isolated = [sys.executable, "-I", "-S"]
    done = subprocess.run([*isolated, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        5,
        "usage: boot.pyz early|bind|fallback|restore|follow|revert\n",
    )
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from hostnic.machine import Machine; names = [link.name for link in Machine().links.all()]; "
        "from hostnic.netlink.channel import codec; used = codec(); "
        "print('lo' in names, used.__file__.startswith(sys.argv[1]))"
    )
    done = subprocess.run([*isolated, "-c", script, str(path)], capture_output=True, text=True)
    assert done.stdout == "True True\n", done.stderr


def test_the_stamp_follows_the_code() -> None:
    more = files.COPY._replace(modules=(*files.COPY.modules, "verify"))
    assert bootcopy.stamp(more) != bootcopy.stamp(files.COPY)
