# SPDX-License-Identifier: Apache-2.0
"""Tests that talk to the whole service over its WSGI interface."""
