# SPDX-License-Identifier: Apache-2.0
"""What the results mean: the judgement, and one HTML page for those who read it and those who argue."""
