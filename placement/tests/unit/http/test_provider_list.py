# SPDX-License-Identifier: Apache-2.0
"""The text of the list of providers (specification: resource_providers)."""

import json
from typing import NamedTuple

import pytest

from placement import microversions
from placement.http import provider_list, views
from placement.http.microversion import Api
from placement.http.reply import Reply

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
@pytest.mark.parametrize('api', microversions.APIS.values(), ids=lambda api: str(api.version))
def test_text_is_the_json_of_the_views_of_the_providers(api: Api, mount_point: str) -> None:
    rows = [
        Row(name='a "quoted" \\ name'),
        Row(name='Grüße 🐧 %(uuid)s \x00', generation=7),
        Row(name='\ue000\ue001'),
        Row(uuid=CHILD, parent_provider_uuid=ROOT),
        Row(root_provider_uuid=None),
    ]

    shape = api.shape('resource_providers.list')
    (text,) = provider_list.as_text(rows, mount_point, shape).pieces

    newest = {'resource_providers': [views.provider(row, mount_point) for row in rows]}
    shown = api.downgraded('resource_providers.list', Reply(newest)).body
    assert text == json.dumps(shown).encode()
