# SPDX-License-Identifier: Apache-2.0
"""What is measured: a table of scenarios per kind of work."""
