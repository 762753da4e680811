# SPDX-License-Identifier: Apache-2.0
"""The file with the requests whose capacity the metrics show."""

import pathlib

import pytest

from placement.metrics.named_files import UnusableFile
from placement_insight.query_text import read_requests


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'names.yaml'


def test_requests_are_read_as_the_newest_microversion_reads_them(file: pathlib.Path) -> None:
    file.write_text(
        'm1.large: resources=VCPU:4,MEMORY_MB:8192\n'
        'gpu: resources=VCPU:1&resources_GPU=VGPU:1&required_GPU=in:CUSTOM_A,CUSTOM_B\n'
    )

    found = read_requests(str(file))
    assert list(found) == ['m1.large', 'gpu']
    assert dict(found['m1.large'].groups[0].resources) == {'VCPU': 4, 'MEMORY_MB': 8192}
    assert {group.suffix for group in found['gpu'].groups} == {'', '_GPU'}


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('a: resources=VCPU', 'Request a: '),
        ('a: nonsense=1', 'Request a: '),
        ('- a', 'is not a mapping from text to text'),
        ('a: 1', 'is not a mapping from text to text'),
        ('a: {', 'names.yaml: '),
        ('\n'.join(f'r{n}: resources=VCPU:1' for n in range(101)), '101 requests, more than 100'),
    ],
)
def test_file_that_cannot_be_used_says_why_in_one_line(
    file: pathlib.Path, text: str, reason: str
) -> None:
    file.write_text(text)

    with pytest.raises(UnusableFile) as caught:
        read_requests(str(file))
    assert reason in str(caught.value)
    assert '\n' not in str(caught.value)


def test_no_file_and_an_empty_one_have_no_requests(file: pathlib.Path) -> None:
    file.touch()

    assert read_requests(None) == read_requests(str(file)) == {}
