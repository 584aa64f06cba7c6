# SPDX-License-Identifier: Apache-2.0
"""How MAAS refuses: a status, and what is said: text, or messages by field."""

import re

CONFLICT = "could not serialize access due to concurrent update"
"""The refusal of a write that met another one and is to be tried again: nothing of it was kept."""
REQUIRED = "This field is required."


class RefusedError(Exception):
    """An answer that is not 200: the status and what is said."""


class Form:
    """The messages of one request by field: MAAS looks at all fields before it refuses."""

    def __init__(self):
        self.errors = {}

    def check(self, right, field, message):
        """Whether it is right; the first message of a field stays."""
        if not right:
            self.errors.setdefault(field, []).append(message)
        return bool(right)

    def done(self):
        """Refuse with all messages, if there are any."""
        if self.errors:
            raise RefusedError(400, self.errors)


def require(right, field, message):
    """Refuse for one field; without a field it is a machine in the wrong state, which is a conflict."""
    if not right:
        raise RefusedError(*((400, {field: [message]}) if field else (409, message)))


def choose(objects, value, field):
    """One of the objects by its id, as a form takes it."""
    found = [item for item in objects if str(item["id"]) == value]
    choice = "Select a valid choice. That choice is not one of the available choices."
    require(found, field, choice)
    return found[0]


def get(kind, objects, key, value):
    """One of the objects that a path names."""
    found = [item for item in objects if str(item[key]) == value]
    if not found:
        raise RefusedError(404, f"No {kind} matches the given query.")
    return found[0]


def like(pattern, text):
    """Whether a name is one that a validator of MAAS takes."""
    return re.search(pattern, text) is not None


def among(value, field, allowed):
    """Return MAAS' words for a word that is not one of these."""
    return f"'{value}' is not a valid {field}.  It should be one of: {', '.join(map(repr, allowed))}."
