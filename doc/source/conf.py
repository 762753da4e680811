# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds these pages; `make docs` does."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'extensions'))

project = 'Placement'
author = 'the Placement maintainers'
extensions = ['placement_pages', 'release_notes']
html_theme = 'alabaster'
# Wide enough for the tables of the specification.
html_theme_options = {'page_width': '1200px', 'body_max_width': 'auto'}
highlight_language = 'none'
# The specification quotes messages to the letter.
smartquotes = False
html_static_path = ['_static']
html_css_files = ['tables.css']
