# SPDX-License-Identifier: Apache-2.0
"""Makes Neutron's tables in an empty SQLite file; runs in Neutron's own environment.

Neutron's migrations alter tables, which SQLite cannot do; the models give the same tables at once.
"""

import sys

from neutron.db.migration.models import head  # pyright: ignore[reportMissingImports]
from sqlalchemy import create_engine  # pyright: ignore[reportMissingImports]

engine = create_engine(f"sqlite:///{sys.argv[1]}")
head.get_metadata().create_all(engine)
with engine.connect() as connection:  # writers do not wait for readers; the file remembers it
    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
