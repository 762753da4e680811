#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Take the pictures of the page for the documentation, of the cloud of `make demo`.

    make demo PORT=8779
    python tools/ui_pictures.py http://127.0.0.1:8779

Needs Chromium and its driver, as `make test-ui`.
"""

import pathlib
import sys
import tempfile
import time

from placement.tests.servers import test_ui
from placement.tests.servers.browser import Browser

PAGES = pathlib.Path(__file__).parents[1] / 'doc' / 'source'
SIZE = 1440, 1060
# Seconds until the answers for a view are there; a map on a canvas does not show whether they are.
PAUSE = 10
QUERY = (
    'resources=VCPU:8,MEMORY_MB:32768&required=HW_CPU_X86_AVX512F'
    '&resources_GPU=VGPU:1&required_GPU=CUSTOM_GPU_NVIDIA_A40'
)
VIEWS = {
    'overview': test_ui.VIEWS['overview'],
    'map': test_ui.VIEWS['map'],
    'host': test_ui.VIEWS['host'],
    'why': f'#/why?{QUERY}',
    'what-if': test_ui.VIEWS['what if'],
    'promises': test_ui.VIEWS['promises'],
}


def main(url: str) -> None:
    """Write a picture of each view."""
    with tempfile.TemporaryDirectory() as profile, Browser(pathlib.Path(profile)) as browser:
        browser.look(*SIZE)
        test_ui.enter(browser, url)
        for name, place in VIEWS.items():
            browser.run('location.hash = arguments[0]', place)
            time.sleep(PAUSE)
            browser.run('window.scrollTo(0, 0)')
            browser.screenshot(PAGES / f'ui-{name}.png')


if __name__ == '__main__':
    main(*sys.argv[1:])
