# SPDX-License-Identifier: Apache-2.0
"""Starts neutron-server on SQLite; runs in Neutron's own environment.

If two transactions exclude each other, MySQL fails one as a deadlock, and Neutron repeats it. SQLite fails
one more often, and says `database is locked`: here that is a deadlock, too.
"""

import sys

from neutron.cmd.eventlet.server import main  # pyright: ignore - first, as it patches the standard library
from oslo_db import exception  # pyright: ignore
from oslo_db.sqlalchemy import exc_filters  # pyright: ignore
from sqlalchemy import exc  # pyright: ignore


@exc_filters.filters("sqlite", exc.OperationalError, r"(?P<said>.*database is locked.*)")
def locked(error, _match, _engine, _disconnects):
    """Raise what Neutron repeats a request for."""
    raise exception.DBDeadlock(error)


sys.exit(main())
