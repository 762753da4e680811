# SPDX-License-Identifier: Apache-2.0
"""The report of an audit: a file of YAML, or of JSON where its name ends so."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from osc_lib import exceptions

from osc_placement_insight import files
from osc_placement_insight.audit import kinds
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.model import Consumer, Flavor, Server

#: Version of the format of reports; a repair accepts no other.
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Report:
    """The findings of an audit.

    `created_at` is UTC in ISO 8601. `cloud` is the address of the placement service. `with_nova`
    is True if nova was read; `counts` are the numbers of objects read.
    """

    created_at: str
    cloud: str
    with_nova: bool
    counts: Mapping[str, int]
    findings: Sequence[Finding]

    @property
    def id(self) -> str:
        """An id of the report: a digest of its contents."""
        text = json.dumps(to_values(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def now() -> str:
    """The time, as reports and journals write it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')


def to_values(report: Report) -> dict[str, Any]:
    """A report as plain values, each finding with its words and what to do first."""
    values = {'version': VERSION, **vars(report)}
    return values | {'findings': [dataclasses.asdict(one) for one in report.findings]}


def text(report: Report, as_json: bool) -> str:
    """A report as JSON or YAML, in ASCII."""
    values = to_values(report)
    if as_json:
        return json.dumps(values, indent=2) + '\n'
    dumper = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
    return str(yaml.dump(values, Dumper=dumper, sort_keys=False, width=100))


def read(path: pathlib.Path) -> Report:
    """The report in a file.

    :raises osc_lib.exceptions.CommandError: the file holds no report
    """
    values = files.read(path, 'The report')
    if not isinstance(values, dict) or 'version' not in values:
        raise exceptions.CommandError(f'{path} is not a report of audit run.')
    if values['version'] != VERSION:
        raise exceptions.CommandError(
            f'{path} is a report of version {values["version"]}, not {VERSION}. '
            'Run the audit again.'
        )
    try:
        return from_values(values)
    except (KeyError, TypeError, AttributeError) as error:
        raise exceptions.CommandError(
            f'{path} is damaged ({type(error).__name__}: {error}). Run the audit again.'
        ) from error


def from_values(values: Mapping[str, Any]) -> Report:
    """A report from plain values.

    :raises KeyError, TypeError, AttributeError: the values are not those of a report
    """
    return Report(
        values['created_at'],
        values['cloud'],
        values['with_nova'],
        dict(values['counts']),
        [_finding(row) for row in values['findings']],
    )


def _finding(row: Mapping[str, Any]) -> Finding:
    if row['kind'] not in kinds.KINDS:
        raise KeyError(row['kind'])
    consumer, server = row['consumer'], row['server']
    return Finding(
        **{
            **row,
            'consumer': None if consumer is None else Consumer(**consumer),
            'server': None if server is None else _server(server),
        }
    )


def _server(row: Mapping[str, Any]) -> Server:
    flavor = row['flavor']
    return Server(**{**row, 'flavor': None if flavor is None else Flavor(**flavor)})
