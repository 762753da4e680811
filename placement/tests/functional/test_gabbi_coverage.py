# SPDX-License-Identifier: Apache-2.0
"""Every microversion has a gabbi file with requests on both sides of its boundary."""

import functools
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from placement import microversions

from .test_gabbi import GABBI_FILES

VERSION = re.compile(r'placement 1\.(\d+)\b')
NEWEST = max(minor for _, minor in microversions.APIS)


# Statuses of requests that were refused before their version mattered; it need not exist.
REFUSED_BEFORE_VERSION = (401, 406)


@functools.cache
def versions_by_file() -> dict[str, set[int]]:
    """The minor versions at which the requests of each file are answered."""
    return {
        path.stem: set(requested_versions(yaml.safe_load(path.read_text())))
        for path in GABBI_FILES
    }


def requested_versions(suite: dict[str, Any]) -> Iterator[int]:
    """The minor versions of the requests of one gabbi file."""
    defaults = suite.get('defaults', {})
    for request in suite['tests']:
        if request.get('status') not in REFUSED_BEFORE_VERSION:
            headers = defaults.get('request_headers', {}) | request.get('request_headers', {})
            yield from map(int, VERSION.findall(headers.get('openstack-api-version', '')))


@pytest.mark.parametrize('minor', range(1, NEWEST + 1))
def test_one_gabbi_file_covers_both_sides_of_a_version(minor: int) -> None:
    covering = [
        name for name, minors in versions_by_file().items() if {minor - 1, minor} <= minors
    ]
    assert covering, f'no gabbi file has requests at both 1.{minor - 1} and 1.{minor}'
