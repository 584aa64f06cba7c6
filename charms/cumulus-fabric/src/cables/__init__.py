# SPDX-License-Identifier: Apache-2.0
"""The cables of a fabric, as a report: what is at each port, and what the intent has there."""
