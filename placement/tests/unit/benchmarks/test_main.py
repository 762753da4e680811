# SPDX-License-Identifier: Apache-2.0
"""What the benchmark is asked for on its command line."""

import pytest

from benchmarks import __main__ as command
from benchmarks.scenarios.base import Scenario


def known() -> list[Scenario]:
    """Every scenario of a cloud of a thousand."""
    return [scenario for kind in command.KINDS for scenario in kind([1_000])]


def test_titles_are_unique() -> None:
    titles = [scenario.title for scenario in known()]
    assert len(titles) == len(set(titles))


def test_only_option_selects_scenarios_by_title() -> None:
    chosen = list(command.choose(known(), ['four hosts', 'reshaper'], is_quick=True))
    assert len(chosen) == 8
    assert {scenario.name.split(',')[0] for scenario in chosen} == {
        'scheduling',
        'reshaper with 100 providers',
    }


def test_quick_run_omits_some_scenarios() -> None:
    everything = known()
    assert list(command.choose(everything, [], is_quick=False)) == everything
    quick = list(command.choose(everything, [], is_quick=True))
    assert 0 < len(quick) < len(everything)


def test_unknown_sizes_are_ignored() -> None:
    sizes = {scenario.size for kind in command.KINDS for scenario in kind([50_000])}
    assert 50_000 in sizes
    assert not [s for s in known() if s.size == 50_000]


def test_list_option_measures_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(['--list', '--only', 'claim cycle', '--sizes', '100']) == 0
    assert capsys.readouterr().out == 'claim cycle PUT GET DELETE [100]\n'


def test_unknown_scenario_name_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(['--only', 'no such']) == 2
    assert 'see --list' in capsys.readouterr().err


def test_waitress_has_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(['--list', '--processes', '2'])
    assert '--processes needs --wsgi-server uwsgi' in capsys.readouterr().err
