# SPDX-License-Identifier: Apache-2.0
"""Insight on the database of another service, which it only reads."""
