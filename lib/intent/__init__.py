# SPDX-License-Identifier: Apache-2.0
"""The intent as the operator writes it, and the whole fabric that it describes. Pure."""
