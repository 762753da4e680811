# SPDX-License-Identifier: Apache-2.0
"""The API as an OpenAPI document, made of the routing table, the history and the schemas."""

from placement.cmd import package_data

# What is the same at all microversions.
FRAGMENTS = package_data.load(__name__, 'fragments.yaml')
