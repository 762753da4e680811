# SPDX-License-Identifier: Apache-2.0
"""Claims from request bodies (specification: allocations)."""

from placement.conf import ConfigOpts
from placement.http import claims
from placement.schemas.not_sent import NOT_SENT

PROVIDER = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
BODY = {
    'allocations': {PROVIDER: {'resources': {'VCPU': 1}}},
    'project_id': 'p',
    'user_id': 'u',
    'consumer_generation': 3,
    'consumer_type': 'INSTANCE',
}


def test_claims_keep_the_order_and_the_owners_of_the_bodies(conf: ConfigOpts) -> None:
    other = BODY | {'project_id': 'q', 'allocations': {}}

    first, second = claims.from_bodies(conf, {'b': BODY, 'a': other})

    assert (first.consumer_uuid, first.project_id, first.user_id) == ('b', 'p', 'u')
    assert (first.generation, first.consumer_type) == (3, 'INSTANCE')
    assert first.resources == {PROVIDER: {'VCPU': 1}}
    assert (second.consumer_uuid, second.project_id, second.resources) == ('a', 'q', {})


def test_claim_of_a_client_that_sends_no_owner_is_incomplete(conf: ConfigOpts) -> None:
    (claim,) = claims.from_bodies(
        conf, {'consumer': BODY | {'project_id': NOT_SENT, 'user_id': NOT_SENT}}
    )

    assert claim.project_id == conf.placement.incomplete_consumer_project_id
    assert claim.user_id == conf.placement.incomplete_consumer_user_id
