# SPDX-License-Identifier: Apache-2.0
"""Sums of usage (specification: usages)."""

from placement.objects.usage import UsageList
from placement.tests.unit.objects.cloud import Cloud


def test_sums_are_integers_that_may_exceed_the_column_of_an_amount(cloud: Cloud) -> None:
    largest = 2**31 - 1
    for name in ('big', 'bigger'):
        cloud.add(name, MEMORY_MB=largest)
        cloud.take(f'user of {name}', {name: {'MEMORY_MB': largest}}, project='vast')

    (of_provider,) = UsageList.list_by_provider(cloud.context, cloud.provider('big'))
    (of_project,) = UsageList.get_by_project(cloud.context, 'vast', None)
    assert (of_provider.used, type(of_provider.used)) == (largest, int)
    assert of_project.used == 2 * largest
