# SPDX-License-Identifier: Apache-2.0
"""Sphinx' configuration of the documents' site; `tox -e docs` builds it into build/docs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extension"))

project = "charmed-ovn-offload"
copyright = "the authors, Apache-2.0"  # noqa: A001 - Sphinx' name
extensions = ["myst_parser", "reference", "names", "links"]
html_theme = "furo"
html_title = project
html_copy_source = False
html_show_sphinx = False
exclude_patterns = ["extension"]
myst_heading_anchors = 4
nitpicky = True
