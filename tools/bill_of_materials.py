#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a bill of materials, CycloneDX as JSON, of the files of pinned requirements.

python tools/bill_of_materials.py <file> <requirements> [<requirements> ...]
"""

from __future__ import annotations

import configparser
import json
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
PIN = re.compile(r'^([\w.-]+)==([^\s;\\]+)((?:.*\\\n)*.*)$', re.MULTILINE)
HASH = re.compile(r'--hash=sha256:(\w+)')


def component(name: str, version: str, kind: str = 'library') -> dict[str, Any]:
    """A package of Python."""
    normalised = re.sub(r'[-_.]+', '-', name).lower()
    reference = f'pkg:pypi/{normalised}@{version}'
    return {
        'type': kind,
        'bom-ref': reference,
        'name': normalised,
        'version': version,
        'purl': reference,
    }


def bill(texts: list[str]) -> dict[str, Any]:
    """The service, and what these requirements pin, each with a hash for each of its files."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / 'setup.cfg')
    service = component(setup['metadata']['name'], setup['metadata']['version'], 'application')
    service['licenses'] = [{'license': {'id': setup['metadata']['license']}}]
    pinned: dict[str, dict[str, Any]] = {}
    for name, version, rest in (match for text in texts for match in PIN.findall(text)):
        library = component(name, version)
        files = [
            {'type': 'distribution', 'url': library['purl'],
             'hashes': [{'alg': 'SHA-256', 'content': digest}]}
            for digest in HASH.findall(rest)
        ]  # fmt: skip
        pinned[library['bom-ref']] = library | {'externalReferences': files}
    return {
        'bomFormat': 'CycloneDX',
        'specVersion': '1.6',
        'version': 1,
        'metadata': {'component': service},
        'components': [pinned[reference] for reference in sorted(pinned)],
        'dependencies': [{'ref': service['bom-ref'], 'dependsOn': sorted(pinned)}],
    }


if __name__ == '__main__':
    path, *files = map(pathlib.Path, sys.argv[1:])
    path.write_text(json.dumps(bill([file.read_text() for file in files]), indent=1) + '\n')
