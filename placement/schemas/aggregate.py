# SPDX-License-Identifier: Apache-2.0
"""Aggregates of a provider (specification: aggregates)."""

from placement.schemas import common

SET: common.Schema = {'type': 'array', 'items': common.UUID_AS_SPELLED, 'uniqueItems': True}
SET_WITH_GENERATION = common.an_object(
    {'aggregates': SET, 'resource_provider_generation': common.GENERATION}
)
