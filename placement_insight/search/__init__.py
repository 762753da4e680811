# SPDX-License-Identifier: Apache-2.0
"""Explanations and capacities of requests, as pure functions of a snapshot."""
