# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the site, the API reference included; `make docs` does."""

import configparser
import pathlib
import sys

from placement import microversions

REPOSITORY = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / 'doc' / 'extensions'))

# The reference has a directory of its own, as in all projects of OpenStack. Sphinx reads one
# directory, so the other one is read through this link.
_reference = pathlib.Path(__file__).parent / 'api-ref'
if not _reference.exists():
    _reference.symlink_to(pathlib.Path('..', '..', 'api-ref', 'source'))

_setup = configparser.ConfigParser(interpolation=None)
_setup.read(REPOSITORY / 'setup.cfg')

project = 'Placement'
author = 'the Placement maintainers'
project_copyright = author
release = _setup['metadata']['version']
extensions = [
    'os_api_ref',
    'sphinx_copybutton',
    'placement_pages',
    'operations',
    'sample_highlighting',
    'openapi_page',
    'diagrams',
    'microversion_history',
    'request_parameters',
    'release_notes',
    'link_check',
]

html_theme = 'furo'
html_title = f'Placement {release}'
html_static_path = ['_static']
html_css_files = ['placement.css']
html_copy_source = False
html_show_sourcelink = False
# The colours of diagrams, which are drawn in those of the light theme; see _static/placement.css.
html_theme_options = {
    'navigation_with_keys': True,
    'light_css_variables': {
        'diagram-ink': '#1f2328',
        'diagram-muted': '#57606a',
        'diagram-line': '#8c959f',
        'diagram-paper': '#ffffff',
        'diagram-band': '#f1f4f8',
        'diagram-actor': '#fff8c5',
        'diagram-actor-line': '#9a6700',
        'diagram-first': '#0969da',
        'diagram-third': '#1a7f37',
    },
    'dark_css_variables': {
        'diagram-ink': '#e6edf3',
        'diagram-muted': '#a9b4c0',
        'diagram-line': '#768390',
        'diagram-paper': '#22272e',
        'diagram-band': '#1a1f26',
        'diagram-actor': '#3d3416',
        'diagram-actor-line': '#d4a72c',
        'diagram-first': '#58a6ff',
        'diagram-third': '#56d364',
    },
}
highlight_language = 'none'
pygments_style = 'default'
pygments_dark_style = 'github-dark'
# What a reader types, without the prompt and without what the command printed.
copybutton_exclude = '.linenos, .gp, .go'
# The specification quotes messages to the letter.
smartquotes = False

_versions = [str(api.version) for api in microversions.APIS.values()]
os_api_ref_min_microversion = _versions[0]
os_api_ref_max_microversion = _versions[-1]
