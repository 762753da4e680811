# SPDX-License-Identifier: Apache-2.0
"""The commands, which entry points in setup.cfg name."""
