# SPDX-License-Identifier: Apache-2.0
"""The API as an OpenAPI document, derived from the routes, the history and the schemas."""

from placement import package_data

# The parts that are the same at all microversions.
FRAGMENTS = package_data.load(__name__, 'fragments.yaml')
