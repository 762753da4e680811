# SPDX-License-Identifier: Apache-2.0
"""Tests with interpreters and servers other than the machine's, and their results."""
