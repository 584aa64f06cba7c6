# SPDX-License-Identifier: Apache-2.0
"""The copy of a charm's code that its boot units run.

One zip archive that Python runs as it is: it is replaced in one atomic rename, survives a refresh and the
removal of the charm's directory, and needs nothing but the system's Python. It holds the charm's modules that
boot needs, the shared packages, and the part of pyroute2 that they use, each as source and as byte code, so
that boot does not compile. A Python of another version ignores the byte code and uses the source.
"""

import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hostnic.netlink import channel as netlink

_SUBPACKAGES = ("boot", "devices", "firmware", "netlink", "network", "ops")
PACKAGES = ("converge", "hostnic", *(f"hostnic.{name}" for name in _SUBPACKAGES))
"""All of the shared code except the modelled host."""
MAIN = "import sys\n\nfrom {} import main\n\nsys.exit(main.main(sys.argv[1:]))\n"


class BootCopy(NamedTuple):
    """The place of a charm's copy, and its content."""

    charm: str  # the charm's name
    # Its modules and packages that boot needs: `boot.main` with its function `main`, and nothing that speaks
    # to Juju or reads options
    modules: tuple[str, ...]
    program: str = "boot"  # the package of `main`, and the archive's name
    # Packages from outside that are in it as a whole, besides the part of pyroute2
    libraries: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        """The folder of all that is installed."""
        return f"/usr/lib/ovn-offload/{self.charm}"

    @property
    def path(self) -> str:
        """The archive."""
        return f"{self.directory}/{self.program}.pyz"

    @property
    def stamp_path(self) -> str:
        """Digest of the code in the archive; written after it, so that a half-done change is done again."""
        return f"{self.directory}/{'' if self.program == 'boot' else f'{self.program}.'}stamp"

    @property
    def command(self) -> str:
        """A unit's ExecStart without the phase. Python sees only the standard library and the archive."""
        return f"/usr/bin/python3 -I -S {self.path}"


def _origin(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the charm was packed without {module}")
    return Path(spec.origin)


def _own(copy: BootCopy) -> Iterator[tuple[str, Path]]:
    for module in copy.modules:
        path = _origin(module)
        stem = module.replace(".", "/")
        yield (f"{stem}/__init__.py" if path.name == "__init__.py" else f"{stem}.py"), path
    for package in PACKAGES:
        for path in sorted(_origin(package).parent.glob("*.py")):
            yield f"{package.replace('.', '/')}/{path.name}", path
    for library in copy.libraries:
        root = _origin(library).parent
        for path in sorted(root.rglob("*.py")):
            yield f"{library}/{path.relative_to(root).as_posix()}", path


def _codec() -> Iterator[tuple[str, Path]]:
    """The modules of pyroute2 that hostnic's netlink loads: four of some three hundred."""
    netlink.codec()
    root = _origin("pyroute2").parent
    yield "pyroute2/__init__.py", root / "__init__.py"
    for name in sorted(name for name in sys.modules if name.startswith("pyroute2.")):
        path = Path(str(sys.modules[name].__file__))
        yield f"pyroute2/{path.relative_to(root).as_posix()}", path


@functools.cache
def _content(path: Path) -> bytes:
    """A file's bytes; two archives of a charm have most files in common."""
    return path.read_bytes()


@functools.cache
def stamp(copy: BootCopy) -> str:
    """Digest of the code that the archive would hold now; fast enough for every hook.

    Only the version of pyroute2 counts: its files are pinned.
    """
    version = _origin("pyroute2").parent / "config" / "version.py"
    digest = hashlib.sha256(version.read_bytes())
    for name, path in _own(copy):
        digest.update(f"\0{name}\0".encode() + _content(path))
    return digest.hexdigest()


@functools.cache
def archive(copy: BootCopy) -> bytes:
    """The archive's content. Byte code is not the same bytes each time: compare stamps, not archives."""
    import io
    import py_compile  # slow to load, and a hook that installs nothing needs none of them
    import tempfile
    import zipfile

    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory() as scratch,
        zipfile.ZipFile(buffer, "w") as target,  # not compressed: the network waits for it
    ):
        target.writestr("__main__.py", MAIN.format(copy.program))
        for name, path in (*_own(copy), *_codec()):
            target.writestr(name, path.read_bytes())
            compiled = Path(scratch) / "module.pyc"
            py_compile.compile(
                str(path),
                str(compiled),
                dfile=f"{copy.path}/{name}",
                doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
            target.writestr(f"{name}c", compiled.read_bytes())
    return buffer.getvalue()
