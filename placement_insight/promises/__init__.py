# SPDX-License-Identifier: Apache-2.0
"""Promises of room: operators set them, and see whether there is still room for each."""
