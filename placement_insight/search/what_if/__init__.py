# SPDX-License-Identifier: Apache-2.0
"""Scenarios: a snapshot after some steps, and questions about it."""
