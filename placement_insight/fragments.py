# SPDX-License-Identifier: Apache-2.0
"""Fragments of OpenAPI documents for the questions below `/insight`."""

import functools
import pkgutil

import yaml

from placement.extension import Fragments
from placement.schemas.common import Schema
from placement_insight.demand.handlers import VERDICTS
from placement_insight.history.statements import SubjectKind
from placement_insight.search.promise import PromiseState
from placement_insight.what_if.schemas import VERBS


@functools.cache
def load_fragments() -> Fragments:
    """Load the descriptions of parameters and bodies, and the templates of replies."""
    content = yaml.safe_load(pkgutil.get_data(__name__, 'openapi.yaml'))
    return Fragments(
        content['parameters'],
        content['members'],
        frozenset(content['repeatable']),
        content['replies'],
        {
            'verdict': _one_of('fits', *VERDICTS),
            'verdict_in_vain': _one_of(*VERDICTS),
            'promise_state': _one_of(*map(str, PromiseState)),
            'step': _one_of(*VERBS),
            'kind': _one_of(*map(str, SubjectKind)),
        },
    )


def _one_of(*values: str) -> Schema:
    return {'type': 'string', 'enum': list(values)}
