# SPDX-License-Identifier: Apache-2.0
"""The changes of a port, and the judgement that leads to them."""
