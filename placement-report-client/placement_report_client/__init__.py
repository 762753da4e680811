# SPDX-License-Identifier: Apache-2.0
"""The scheduler report client: a library for schedulers and agents that use Placement.

It sends requests through an adapter of keystoneauth1, to this service or upstream, and imports
nothing of either.
"""

from placement_report_client.allocations import Allocations, Consumer
from placement_report_client.candidate_request import CandidateRequest, RequestGroup
from placement_report_client.candidates import Candidate, Candidates, ProviderSummary, Stock
from placement_report_client.client import ReportClient
from placement_report_client.errors import (
    ClientError,
    Conflict,
    Gone,
    InUse,
    NameTaken,
    NoCapacity,
    OutOfTime,
    Refused,
    TooOld,
    Unreachable,
)
from placement_report_client.microversions import Microversion
from placement_report_client.provider import Inventory, Provider
from placement_report_client.retry_policy import RetryPolicy

__all__ = [
    'Allocations',
    'Candidate',
    'CandidateRequest',
    'Candidates',
    'ClientError',
    'Conflict',
    'Consumer',
    'Gone',
    'InUse',
    'Inventory',
    'Microversion',
    'NameTaken',
    'NoCapacity',
    'OutOfTime',
    'Provider',
    'ProviderSummary',
    'Refused',
    'ReportClient',
    'RequestGroup',
    'RetryPolicy',
    'Stock',
    'TooOld',
    'Unreachable',
]
