# SPDX-License-Identifier: Apache-2.0
"""Tests that ask the whole service below /insight."""
