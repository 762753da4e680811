# SPDX-License-Identifier: Apache-2.0
"""The text of the list of providers (specification: resource_providers)."""

import json
from typing import NamedTuple

import pytest

from placement.http import provider_list, views

ROOT = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
CHILD = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a2'


class Row(NamedTuple):
    uuid: str = ROOT
    name: str = 'host'
    generation: int = 0
    root_provider_uuid: str | None = ROOT
    parent_provider_uuid: str | None = None
    modified_at: object = None
    id: int = 1


@pytest.mark.parametrize('mount_point', ['', '/placement', '/100%s"\\é'])
def test_text_is_the_json_of_the_views_of_the_providers(mount_point: str) -> None:
    rows = [
        Row(name='a "quoted" \\ name'),
        Row(name='Grüße 🐧 %(uuid)s \x00', generation=7),
        Row(name=provider_list.MARK + 'generation'),
        Row(uuid=CHILD, parent_provider_uuid=ROOT),
        Row(root_provider_uuid=None),
    ]

    (text,) = provider_list.as_text(rows, mount_point).pieces

    shown = {'resource_providers': [views.provider(r, mount_point) for r in rows]}
    assert text == json.dumps(shown).encode()
