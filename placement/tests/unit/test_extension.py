# SPDX-License-Identifier: Apache-2.0
"""The extensions that are installed and on (specification: configuration, "[placement]")."""

import pathlib
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from oslo_config import cfg

from placement import deploy, extension
from placement.conf import ConfigOpts, installed
from placement.conf.installed import UnusableExtensionError
from placement.extension import Extension
from placement.tests.unit.middleware.samples import configuration

ADDED = Extension(
    options=[
        (cfg.OptGroup('added'), [cfg.BoolOpt('first', default=True)]),
        (cfg.OptGroup('api'), [cfg.BoolOpt('second', default=True)]),
    ]
)
NO_EXTENSION = object()


class Named(NamedTuple):
    """An entry point that loads what stands in it; a text is the reason why it cannot."""

    name: str
    loaded: object

    def load(self) -> object:
        if isinstance(self.loaded, str):
            raise ImportError(self.loaded)
        return self.loaded


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Named]]:
    """The entry points that are installed, to be filled."""
    found = list[Named]()
    monkeypatch.setattr(installed.metadata, 'entry_points', lambda group: found)
    installed.find.cache_clear()
    yield found
    installed.find.cache_clear()


def configured(*names: str) -> ConfigOpts:
    return configuration(placement__extensions=list(names))


def test_insight_is_installed_and_on_by_default() -> None:
    assert len(extension.list_installed()) == 1
    assert extension.list_enabled(configuration()) == extension.list_installed()


def test_an_empty_option_switches_off_all(entry_points: list[Named]) -> None:
    entry_points += [Named('added', ADDED), Named('broken', 'no module named so')]

    assert extension.list_enabled(configured()) == []


def test_an_option_names_those_that_are_on(entry_points: list[Named]) -> None:
    entry_points += [Named('added', ADDED), Named('other', Extension())]

    assert extension.list_enabled(configured('added')) == [ADDED]


def test_options_are_known_whether_the_extension_is_on_or_off(entry_points: list[Named]) -> None:
    entry_points.append(Named('added', ADDED))
    conf = configured()

    assert (conf.added.first, conf.api.second) == (True, True)


@pytest.mark.parametrize(
    ('name', 'reason'),
    [
        ('broken', 'ImportError: no module named so'),
        ('absent', 'it is not installed'),
        ('odd', r"AttributeError: 'object' object has no attribute 'options'"),
    ],
)
def test_one_that_cannot_be_loaded_keeps_the_service_from_starting(
    name: str, reason: str, entry_points: list[Named], tmp_path: pathlib.Path
) -> None:
    entry_points += [Named('broken', 'no module\nnamed so'), Named('odd', NO_EXTENSION)]
    conf = configuration(
        placement__extensions=[name],
        placement_database__connection=f'sqlite:///{tmp_path / "placement.sqlite"}',
        placement_database__sync_on_startup=True,
    )
    with pytest.raises(UnusableExtensionError) as caught:
        deploy.loadapp(conf)

    assert str(caught.value) == f'The extension {name} cannot be loaded: {reason}'


def test_by_default_one_that_cannot_be_loaded_is_an_error(entry_points: list[Named]) -> None:
    entry_points += [Named('added', ADDED), Named('broken', 'no module named so')]
    with pytest.raises(UnusableExtensionError, match='The extension broken cannot be loaded'):
        extension.list_enabled(configuration())
