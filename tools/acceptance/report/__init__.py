# SPDX-License-Identifier: Apache-2.0
"""The meaning of the results: the judgement, and one HTML page for those who read it and those who argue."""
