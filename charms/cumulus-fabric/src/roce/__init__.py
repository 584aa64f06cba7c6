# SPDX-License-Identifier: Apache-2.0
"""What switches do with RoCE's frames."""
