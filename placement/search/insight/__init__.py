# SPDX-License-Identifier: Apache-2.0
"""Explanations of requests, and their capacity, as pure functions of a snapshot."""
