# SPDX-License-Identifier: Apache-2.0
"""Files with names of aggregates."""

import pathlib

import pytest

from placement.metrics import named_files
from placement.metrics.named_files import UnusableFile, read_aggregate_names, read_names


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'names.yaml'


def test_file_that_is_not_there_cannot_be_used(file: pathlib.Path) -> None:
    with pytest.raises(UnusableFile, match='No such file'):
        read_aggregate_names(str(file))


def test_a_file_is_parsed_again_when_it_has_changed(
    file: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('a: one\n')
    assert read_names(str(file)) == {'a': 'one'}
    with monkeypatch.context() as patch:
        patch.setattr(named_files.yaml, 'safe_load', None)
        assert read_names(str(file)) == {'a': 'one'}
    file.write_text('a: two, which is longer\n')
    assert read_names(str(file)) == {'a': 'two, which is longer'}


def test_names_of_aggregates_are_found_by_uuid_in_any_case(file: pathlib.Path) -> None:
    file.write_text('AE5C70E3-8E3F-4C3A-8E55-2F6D0E54E3C1: zone1\n')

    assert read_aggregate_names(str(file)) == {'ae5c70e3-8e3f-4c3a-8e55-2f6d0e54e3c1': 'zone1'}


def test_no_file_and_an_empty_one_have_no_names(file: pathlib.Path) -> None:
    file.touch()

    assert read_aggregate_names(None) == read_aggregate_names(str(file)) == {}
