# SPDX-License-Identifier: Apache-2.0
"""Requests, replies, microversions, and the shapes that bodies had over time."""
