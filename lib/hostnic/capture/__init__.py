# SPDX-License-Identifier: Apache-2.0
"""What a charm reads of a host, without what identifies the host, as one small file that can be replayed."""
