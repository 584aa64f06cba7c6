# SPDX-License-Identifier: Apache-2.0
"""The copy of this charm's code that the boot units run.

One zip archive that Python runs as it is: it is replaced in one atomic rename, outlives a refresh
and the removal of the charm's directory, and needs nothing but the system's Python. It holds the
verbs, the shared packages and the part of pyroute2 that they use as source, and as byte code too, so
that boot does not compile. A Python of another version passes the byte code over and uses the source.
"""

import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from hostnic import netlink

DIRECTORY = "/usr/lib/ovn-offload/sriov-switchdev"
ARCHIVE = f"{DIRECTORY}/boot.pyz"
STAMP = f"{DIRECTORY}/stamp"
"""Digest of the code in the archive; written after it, so that a half-done change is done again."""

MODULES = ("boot", "bootcopy", "changes", "desired", "live", "record", "steps")
"""Modules of this charm that the boot units need: nothing that speaks to Juju or reads options."""

PACKAGES = ("converge", "hostnic")
MAIN = "import sys\n\nimport boot\n\nsys.exit(boot.main(sys.argv[1:]))\n"


def _origin(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the charm was packed without {package}")
    return Path(spec.origin).parent


def _tree(package: str) -> Iterator[tuple[str, Path]]:
    root = _origin(package)
    for path in sorted(root.rglob("*.py")):
        yield f"{package}/{path.relative_to(root).as_posix()}", path


def _own() -> Iterator[tuple[str, Path]]:
    for module in MODULES:
        yield f"{module}.py", Path(__file__).with_name(f"{module}.py")
    for package in PACKAGES:
        yield from _tree(package)


def _codec() -> Iterator[tuple[str, Path]]:
    """The modules of pyroute2 that hostnic's netlink loads: four of some three hundred."""
    netlink.codec()
    root = _origin("pyroute2")
    yield "pyroute2/__init__.py", root / "__init__.py"
    for name in sorted(name for name in sys.modules if name.startswith("pyroute2.")):
        path = Path(str(sys.modules[name].__file__))
        yield f"pyroute2/{path.relative_to(root).as_posix()}", path


@functools.cache
def stamp() -> str:
    """Digest of the code that the archive would hold now; cheap enough for every hook.

    Of pyroute2 only the version counts: its files are pinned.
    """
    digest = hashlib.sha256((_origin("pyroute2") / "config" / "version.py").read_bytes())
    for name, path in _own():
        digest.update(f"\0{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def archive() -> bytes:
    """The archive's content. Byte code is not the same bytes each time: compare stamps, not archives."""
    import io
    import py_compile  # none of these is worth its time in a hook that installs nothing
    import tempfile
    import zipfile

    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as scratch,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as target,
    ):
        target.writestr("__main__.py", MAIN)
        for name, path in (*_own(), *_codec()):
            target.writestr(name, path.read_bytes())
            compiled = Path(scratch) / "module.pyc"
            py_compile.compile(
                str(path),
                str(compiled),
                dfile=f"{ARCHIVE}/{name}",
                doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
            target.writestr(f"{name}c", compiled.read_bytes())
    return buffer.getvalue()
