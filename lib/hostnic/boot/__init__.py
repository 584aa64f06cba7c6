# SPDX-License-Identifier: Apache-2.0
"""What a charm keeps on a host for the next boot."""
