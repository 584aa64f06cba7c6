# SPDX-License-Identifier: Apache-2.0
"""Files that a document has the reader make in the clone: none is ever committed by mistake."""

import re
import subprocess

import pytest
from bundle.documents import DOCUMENTS, ROOT, blocks, inline

NAME = re.compile(
    r"(?<![\w./~-])((?:\./)?[\w][\w.-]*\.(?:ya?ml|txt|pem|json|html|jsonl|pcap|img|bin|crt|key|svg))(?![\w/])"
)
"""A file in the working directory, which is the clone."""


def named():
    """Each such name that is no file of the repository, with the document that has it in a command."""
    found = {}
    for document in DOCUMENTS:
        for command in (*blocks(document), *inline(document)):
            for name in NAME.findall(command.text):
                if not (ROOT / name).exists():
                    found[name.removeprefix("./")] = command.document
    return found


@pytest.mark.parametrize(
    "name", ["switches.txt", "vault-keys.txt", "site.yaml", "site-fabric.yaml", *sorted(named())]
)
def test_git_ignores_what_the_documents_have_you_make(name):
    done = subprocess.run(["git", "-C", ROOT, "check-ignore", "-q", name])
    assert done.returncode == 0, f"{named().get(name)} has you make {name}: add it to .gitignore"
