# SPDX-License-Identifier: Apache-2.0
"""Resolve each .in file beside this one to a .txt: exact versions with hashes, for Python 3.10 and later.

The result names no index, so that it works through any mirror.
"""

import argparse
import subprocess
import sys

from requirements.files import HERE, asked

OPTIONS = (
    "--upgrade --universal --python-version=3.10 --generate-hashes --no-emit-index-url --no-header --quiet"
)
COMMAND = [sys.executable, "-m", "uv", "pip", "compile", *OPTIONS.split()]


def main(arguments: list[str]) -> None:
    """Resolve the named files, or all."""
    parser = argparse.ArgumentParser(prog="tox -e pins --", description=__doc__)
    for source in asked(parser, "in", arguments):
        print(f"{source.stem}: {source.read_text().split()}", flush=True)
        subprocess.run([*COMMAND, f"--output-file={source.stem}.txt", source.name], cwd=HERE, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
