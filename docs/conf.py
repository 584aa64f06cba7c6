# SPDX-License-Identifier: Apache-2.0
"""Sphinx' configuration of the documents' site; `tox -e docs` builds it into build/docs."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extension"))

project = "charmed-ovn-offload"
copyright = "the authors, Apache-2.0"  # noqa: A001 - Sphinx' name
extensions = ["myst_parser", "sphinx_copybutton", "reference", "names", "links", "commands", "tables"]
declared = (Path(__file__).parents[1] / "charms/roce-qos/pyproject.toml").read_text()
(version,) = re.findall(r'^version = "(.+)"$', declared, re.MULTILINE)
html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
exclude_patterns = ["extension"]
myst_enable_extensions = ["alert"]  # GitHub's boxes: > [!WARNING]
myst_heading_anchors = 4
copybutton_selector = "div:not(.highlight-text) > div.highlight pre"  # no outputs, no drawings
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
nitpicky = True

if repository := os.environ.get("GITHUB_REPOSITORY"):
    _source = f"{os.environ['GITHUB_SERVER_URL']}/{repository}"
    html_theme_options = {
        "source_repository": _source,
        "source_branch": "main",
        "source_directory": "docs/",
        "footer_icons": [{"name": "Report", "url": f"{_source}/issues", "html": "Report", "class": ""}],
    }
