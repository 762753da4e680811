# SPDX-License-Identifier: Apache-2.0
"""Each alert leads to a section of the page of alerts that says what to do."""

import pathlib
import subprocess
from typing import Any

import pytest
import yaml
from docutils import nodes

from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

REPOSITORY = applications.repository_path('.').resolve()
RULES = sorted(
    path
    for path in (REPOSITORY / 'etc' / 'prometheus').glob('*.yml')
    if not path.name.endswith('.test.yml')
)
PAGES = REPOSITORY / 'doc' / 'source'
SITE = 'https://docs.example.org/placement/'
UNITS = {'m': 'minute', 'h': 'hour'}


def alerts_in(path: pathlib.Path) -> list[dict[str, Any]]:
    """The rules of a file that are alerts."""
    groups = yaml.safe_load(path.read_text())['groups']
    return [rule for group in groups for rule in group['rules'] if 'alert' in rule]


ALERTS = [rule for path in RULES for rule in alerts_in(path)]


def sections() -> dict[str, nodes.section]:
    """The sections of the page, by the anchors of what is built of it."""
    tree, complaints = samples.parse_page((PAGES / 'alerts.rst').read_text())
    assert complaints == ''
    return {anchor: one for one in tree.findall(nodes.section) for anchor in one['ids']}


def fields_of(section: nodes.section) -> dict[str, str]:
    """The fields of a section without those of sections in it."""
    (listed,) = (child for child in section.children if isinstance(child, nodes.field_list))
    return {name.astext(): body.astext() for name, body in (one.children for one in listed)}


def lasting(rule: dict[str, Any]) -> str:
    """The duration for which an expression has to be true, as text."""
    number, unit = rule['for'][:-1], UNITS[rule['for'][-1]]
    return f'{number} {unit}{"" if number == "1" else "s"}'


@pytest.mark.parametrize('rule', ALERTS, ids=lambda rule: rule['alert'])
def test_an_alert_leads_to_its_section(rule: dict[str, Any]) -> None:
    page, _, anchor = rule['annotations']['runbook_url'].partition('#')
    section = sections()[anchor]

    assert page == 'alerts.html'
    assert section.next_node(nodes.title).astext() == rule['alert']
    fields = fields_of(section)
    assert list(fields) == ['Severity', 'Meaning', 'Impact', 'Diagnosis', 'Mitigation']
    assert fields['Severity'] == f'{rule["labels"]["severity"]}, after {lasting(rule)}'


def test_the_page_has_no_alert_that_is_gone() -> None:
    described = {one.next_node(nodes.title).astext() for one in sections().values()}

    assert {name for name in described if name.startswith('Placement')} == {
        rule['alert'] for rule in ALERTS
    }


def test_the_command_of_the_page_makes_addresses_of_the_paths(tmp_path: pathlib.Path) -> None:
    tree, _ = samples.parse_page((PAGES / 'monitoring.rst').read_text())
    (command,) = (
        block.astext().removeprefix('# ')
        for block in tree.findall(nodes.literal_block)
        if 'sed ' in block.astext()
    )
    subprocess.run(
        ['bash', '-ec', command.replace('/etc/prometheus/placement-', f'{tmp_path}/')],
        cwd=REPOSITORY,
        check=True,
    )

    for path in RULES:
        for rule, copied in zip(alerts_in(path), alerts_in(tmp_path / path.name), strict=True):
            assert copied['annotations'] == {
                **rule['annotations'],
                'runbook_url': SITE + rule['annotations']['runbook_url'],
            }
