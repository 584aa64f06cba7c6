# SPDX-License-Identifier: Apache-2.0
"""The treatment of RoCE's frames by switches."""
