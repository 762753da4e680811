# SPDX-License-Identifier: Apache-2.0
"""Explanations of searches, and capacities of requests."""
