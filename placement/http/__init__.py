# SPDX-License-Identifier: Apache-2.0
"""Requests, replies, microversions, and the shapes of bodies in old versions."""
