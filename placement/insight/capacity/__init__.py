# SPDX-License-Identifier: Apache-2.0
"""Capacities of requests."""
