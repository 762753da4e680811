# SPDX-License-Identifier: Apache-2.0
"""The comparison of optional features: what is switched, what is asked, what is shown."""

import pathlib

import pytest
from oslo_config import cfg

from benchmarks import clouds, features
from benchmarks.loading import load_as_rows
from benchmarks.measure import Measurement
from placement.conf import insight
from placement.tests.unit.benchmarks.conftest import Serve


def measured(*cpu_ms: float) -> Measurement:
    """Units with that much processor time each."""
    return Measurement(latencies=[0.002] * len(cpu_ms), cpu_ms_by_unit=list(cpu_ms))


def test_every_question_of_operators_is_switched_off() -> None:
    options = [option for option in insight.OPTIONS if isinstance(option, cfg.BoolOpt)]
    assert {f'OS_INSIGHT__{option.name.upper()}' for option in options} <= features.OFF.keys()


def test_only_the_choice_decides_what_differs_from_off() -> None:
    choices = features.choices(pathlib.Path('directory'))
    differing = {
        name: {key for key, value in settings.items() if features.OFF.get(key) != value}
        for name, settings in choices.items()
        if name not in ('default', 'everything')
    }
    assert differing == {
        'off': set(),
        'metrics': {'OS_METRICS__ENABLED', 'OS_METRICS__DIRECTORY'},
        'history': {'OS_HISTORY__ENABLED'},
        'searches': {'OS_INSIGHT__UNMET_DEMAND', 'OS_PLACEMENT__LOG_SEARCHES'},
    }
    everything = set().union(*differing.values())
    assert choices['everything'].keys() == everything


def test_workers_do_not_share_their_counts() -> None:
    choices = features.choices(pathlib.Path('directory')).values()
    directories = [one['OS_METRICS__DIRECTORY'] for one in choices if 'OS_METRICS__ENABLED' in one]
    assert len(directories) == len(set(directories)) == 2


def test_every_request_is_answered(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client, url = serve('features')
    load_as_rows(url, clouds.flat(2))
    monkeypatch.setattr(features, 'SIZE', 2)
    for scenario in features.scenarios():
        scenario.work(0).run(client)
    statuses = client.statuses
    assert statuses == {200: 3, 204: 3}


def test_table_shows_what_a_choice_adds() -> None:
    result = features.FeatureResult(
        'claim', {'off': measured(2.0, 9.0, 1.0), 'history': measured(2.4)}
    )
    assert result.added('history') == pytest.approx(0.2)
    first, second = features.table([result]).splitlines()[1:]
    assert first.split()[:4] == ['claim:', 'off', '2', '+0.0%']
    assert second.split()[:4] == ['claim:', 'history', '2.4', '+20.0%']
    assert result.as_dict()['history']['added'] == pytest.approx(0.2)


def test_features_are_compared_only_when_asked_for() -> None:
    assert features.is_chosen(['features'])
    assert not features.is_chosen(['claim'])
    assert not features.is_chosen([])
