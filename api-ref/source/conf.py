# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the API reference; `make docs` does."""

import pathlib
import sys

from placement import history

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'doc' / 'extensions'))

project = 'Placement API reference'
author = 'the Placement maintainers'
extensions = ['os_api_ref', 'placement_pages', 'microversion_history']
html_theme = 'alabaster'
html_static_path = ['_static']
# Samples are HTTP and JSON in one.
highlight_language = 'none'

_versions = [str(api.version) for api in history.APIS.values()]
os_api_ref_min_microversion = _versions[0]
os_api_ref_max_microversion = _versions[-1]
