# SPDX-License-Identifier: Apache-2.0
"""What a command line gets wrong."""


class UsageError(Exception):
    """An argument, or a file that it names, cannot be used; one sentence naming it and what is allowed."""
