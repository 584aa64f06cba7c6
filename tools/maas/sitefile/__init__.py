# SPDX-License-Identifier: Apache-2.0
"""The site file: its values, how they are read, and the rules that they keep. Nothing here asks MAAS."""
