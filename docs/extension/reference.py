# SPDX-License-Identifier: Apache-2.0
"""The reference's pages: options, actions, messages, the intent's keys, rules, sites, metrics, alerts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import alerts_page
import bundle_rules
import gallery_page
import intent_keys
import metrics_page
import yaml
from messages import OPEN, messages
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
SHARED = "lib"
"""The folder of the code of all charms, whose messages have a page of their own."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Have the pages written before Sphinx reads its sources."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference/generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        f"{path.parent.name}.md": page(path.parent) for path in sorted(ROOT.glob("charms/*/charmcraft.yaml"))
    }
    pages["shared-messages.md"] = "\n".join(
        ["# Messages that several charms share", "", *_messages(ROOT / SHARED, None)]
    )
    pages["intent.md"] = intent_keys.page()
    pages["bundle-rules.md"] = bundle_rules.page()
    pages["gallery.md"] = gallery_page.page()
    pages["metrics.md"] = metrics_page.page()
    pages["alerts.md"] = alerts_page.page()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:  # an unchanged page is not read again
            path.write_text(text)


def page(charm: Path) -> str:
    """One charm's page, as Markdown."""
    declared: dict[str, Any] = yaml.safe_load((charm / "charmcraft.yaml").read_text())
    return "\n".join(
        [
            f"# {declared['name']}",
            "",
            declared["summary"],
            "",
            "## Options",
            "",
            *_options(declared.get("config", {}).get("options", {})),
            "## Actions",
            "",
            *_actions(declared.get("actions", {})),
            "## Messages and remedies",
            "",
            *_messages(charm / "src", "shared-messages.md"),
        ]
    )


def _options(options: dict[str, Any]) -> Iterator[str]:
    for name, option in sorted(options.items()):
        default = option.get("default", "")
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        given = f", default `{shown}`" if shown else ", no default"
        yield from (f"### `{name}`", "", f"*{option['type']}{given}*", "", option["description"].strip(), "")


def _actions(actions: dict[str, Any]) -> Iterator[str]:
    for name, action in sorted(actions.items()):
        yield from (f"### `{name}` (action)", "", action["description"].strip(), "")
        for parameter, schema in action.get("params", {}).items():
            words = f" ({', '.join(f'`{word}`' for word in schema['enum'])})" if "enum" in schema else ""
            given = (
                f", default `{str(schema['default']).lower()}`"
                if schema.get("default") not in (None, "")
                else ""
            )
            text = " ".join(schema["description"].split())
            yield f"- `{parameter}`{words}{given}: {text}"
        yield ""


def _messages(folder: Path, others: str | None) -> Iterator[str]:
    yield f"As status, `verify` and the log have them; `{OPEN}` stands for what differs from host to host."
    if others:
        yield f"What several charms share is in [its own list]({others})."
    yield ""
    yield "| message | what helps |"
    yield "|---|---|"
    for message in sorted(messages(folder)):
        yield f"| {_cell(message.what)} | {_cell(message.remedy) or message.without} |"
    yield ""


def _cell(text: str) -> str:
    """Text in a cell of a table, to the letter."""
    line = " ".join(text.split()).replace("|", "\\|")
    return f"`` {line} ``" if line else ""
