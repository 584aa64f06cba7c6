# SPDX-License-Identifier: Apache-2.0
"""All that a charm reads of a host, without the host's identity, as one small file that can be replayed."""
