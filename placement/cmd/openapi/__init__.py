# SPDX-License-Identifier: Apache-2.0
"""The API as an OpenAPI document, derived from the routes, the history and the schemas."""

import pkgutil

import yaml

# The parts that are the same at all microversions.
FRAGMENTS = yaml.safe_load(pkgutil.get_data(__name__, 'fragments.yaml'))
