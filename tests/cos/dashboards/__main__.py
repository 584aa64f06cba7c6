# SPDX-License-Identifier: Apache-2.0
"""``python -m cos.dashboards`` draws the dashboards of the documentation anew."""

import tempfile
from pathlib import Path

from cos.dashboards import NAMES, hour, picture

DOCS = Path(__file__).parents[3] / "docs/how-to"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory, hour.recorded(Path(directory)) as server:
        for name in NAMES:
            path = DOCS / f"dashboard-{name}.svg"
            path.write_text(picture.draw(name, hour.HOST, server, hour.NOW))
            print(path)
