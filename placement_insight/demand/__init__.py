# SPDX-License-Identifier: Apache-2.0
"""Unmet demand: searches without candidates."""
