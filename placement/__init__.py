# SPDX-License-Identifier: Apache-2.0
"""The Placement service: inventories and usage of a cloud, and the search for room in it."""
