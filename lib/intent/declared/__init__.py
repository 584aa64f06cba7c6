# SPDX-License-Identifier: Apache-2.0
"""The parts of the intent's document, each key with the shape that its value must have. Pure."""
