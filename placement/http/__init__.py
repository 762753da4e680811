# SPDX-License-Identifier: Apache-2.0
"""What travels: requests, replies, microversions, and the shapes bodies had over time."""
