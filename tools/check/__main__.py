# SPDX-License-Identifier: Apache-2.0
"""`tox -e bundle`: check the bundle that is named; without one, each of this repository's."""

import sys

from check import checker

sys.exit(checker.main(sys.argv[1:]))
