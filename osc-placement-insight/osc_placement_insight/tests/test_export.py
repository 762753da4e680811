# SPDX-License-Identifier: Apache-2.0
"""`openstack placement export`: the file has what the service answers in bulk."""

import io
import pathlib
import stat
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from osc_placement_insight import exported
from osc_placement_insight.commands import export
from osc_placement_insight.exported import Exported
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service
from placement.tests.functional.fixtures.clouds import uuid_of
from placement.tests.functional.fixtures.freshness_workload import AGGREGATES, TRAITS

EXPORT = ('placement', 'export')


def providers(cloud: Cloud, query: str = '') -> Any:
    """Return the providers that meet a query, as the service answers in bulk."""
    include = 'include=inventories,usages,traits,aggregates&page_limit=1000'
    return cloud.send('GET', f'/insight/providers?{include}{query}')['providers']


def consumers(cloud: Cloud) -> Any:
    """Return all consumers, as the service answers in bulk."""
    return cloud.send('GET', '/insight/consumers?page_limit=1000')['consumers']


def read(openstack: Client, *options: str) -> Exported:
    """Read the output of the command."""
    return exported.read(io.StringIO('\n'.join(openstack(*EXPORT, *options).lines())))


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two, so that there are several."""
    monkeypatch.setattr(export, 'PAGE_LIMIT', ('page_limit', '2'))


@pytest.fixture
def cloud(service: Service) -> Cloud:
    """Two trees, of which one has a child, and three servers, one on both."""
    cloud = Cloud(service)

    def provider(name: str, **more: Any) -> str:
        return cloud.provider(name, {'VCPU': 8}, uuid=uuid_of(name), **more)

    host = provider('host')
    child = provider('child', parent=host)
    other = provider('other', traits=(TRAITS[1],), aggregates=(AGGREGATES[0],))
    provider('unused')
    for server, uuids in (
        ('both', (host, child, other)),
        ('inside', (child, host)),
        ('outside', (other,)),
    ):
        held = {uuid: {'VCPU': 1} for uuid in uuids}
        cloud.claim(uuid_of(server), held, 'INSTANCE', 'project', 'user')
    return cloud


def test_nothing_is_exported_of_an_empty_cloud(openstack: Client) -> None:
    assert read(openstack)[3:] == ([], [])


@pytest.mark.usefixtures('small_pages')
def test_whole_is_what_the_service_answers_in_bulk(cloud: Cloud, openstack: Client) -> None:
    found = read(openstack)
    assert found.providers == providers(cloud)
    assert found.consumers == consumers(cloud)
    assert (len(found.providers), len(found.consumers or ()), found.query) == (4, 3, {})


def test_token_tells_what_changed_since(cloud: Cloud, openstack: Client) -> None:
    token = read(openstack).token
    cloud.send('DELETE', f'/resource_providers/{uuid_of("unused")}')
    changes = cloud.send('GET', f'/insight/changes?since={token}')
    assert (changes['providers'], changes['deleted']) == ([], [uuid_of('unused')])


@pytest.mark.parametrize('tree', [uuid_of('host'), 'host', 'child'])
@pytest.mark.usefixtures('small_pages')
def test_part_is_one_tree_with_whoever_uses_it(cloud: Cloud, openstack: Client, tree: str) -> None:
    found = read(openstack, '--tree', tree)
    assert found.providers == providers(cloud, f'&in_tree={uuid_of("host")}')
    assert {one['name'] for one in found.providers} == {'host', 'child'}
    wanted = [one for one in consumers(cloud) if one['uuid'] != uuid_of('outside')]
    assert sorted(found.consumers or (), key=lambda one: str(one['uuid'])) == wanted
    assert list(found.query) == ['in_tree']


@pytest.mark.parametrize(
    ('options', 'names'),
    [
        (('--aggregate', AGGREGATES[0]), {'other'}),
        (('--aggregate', AGGREGATES[1], '--aggregate', AGGREGATES[0]), {'other'}),
        (('--aggregate', AGGREGATES[1]), set()),
        (('--required', TRAITS[1]), {'other'}),
        (('--required', TRAITS[1], '--required', TRAITS[0]), set()),
        (('--tree', 'host', '--aggregate', AGGREGATES[0]), set()),
    ],
)
@pytest.mark.usefixtures('cloud')
def test_part_meets_every_restriction(
    openstack: Client, options: tuple[str, ...], names: set[str]
) -> None:
    found = read(openstack, *options)
    assert {one['name'] for one in found.providers} == names
    uuids = {one['uuid'] for one in found.consumers or ()}
    assert uuids == ({uuid_of('both'), uuid_of('outside')} if names else set())
    without = read(openstack, *options, '--without-consumers')
    assert (without.providers, without.consumers) == (found.providers, None)


@pytest.mark.usefixtures('cloud')
def test_file_is_written_and_told(openstack: Client, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'cloud.yaml'
    assert openstack(*EXPORT, '--file', str(path)).lines() == [
        f'Wrote 4 providers and 3 consumers to {path}.'
    ]
    with path.open() as file:
        found = exported.read(file)
    # These two say when it was written.
    again = read(openstack)._replace(written_at=found.written_at, token=found.token)
    assert found == again
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures('cloud')
def test_file_stays_as_it_was_where_the_service_fails_in_between(
    openstack: Client, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'cloud.yaml'
    path.write_text('before')
    monkeypatch.setattr(export, 'CONSUMERS', '/insight/nothing')
    assert '/insight/nothing' in openstack(*EXPORT, '--file', str(path)).refusal()
    assert path.read_text() == 'before'
    assert list(tmp_path.iterdir()) == [path]


def test_path_that_cannot_be_written_is_told(openstack: Client, tmp_path: pathlib.Path) -> None:
    for path, why in (
        (tmp_path / 'missing' / 'cloud.yaml', 'No such file or directory'),
        (tmp_path, 'Is a directory'),
    ):
        refusal = openstack(*EXPORT, '--file', str(path)).refusal()
        assert refusal == f'{path} cannot be written: {why}.'
    assert list(tmp_path.iterdir()) == []


def test_each_page_is_written_before_the_next_is_asked_for() -> None:
    stream = io.StringIO()

    def pages() -> Iterator[Sequence[dict[str, Any]]]:
        for number in range(5):
            assert stream.getvalue().count('uuid: ') == number
            yield [{'uuid': str(number)}]

    assert exported.write_list(stream, exported.PROVIDERS, pages()) == 5


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', 'no export'),
        ('- a', 'no export'),
        ('format: something', 'no export'),
        ('format: placement-export\nversion: 2', 'version 2'),
        ('format: placement-export\nversion: 1', "no 'written_at'"),
        ('format: [', 'no YAML'),
        ('format: !!python/object:os.system {}', 'no YAML'),
    ],
)
def test_file_that_is_no_export_is_refused(text: str, words: str) -> None:
    with pytest.raises(exported.UnknownFormat, match=words):
        exported.read(io.StringIO(text))
