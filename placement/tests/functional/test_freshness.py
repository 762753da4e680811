# SPDX-License-Identifier: Apache-2.0
"""Whatever clients do, and whoever else works on the database, searches see what is committed."""

import random
from collections.abc import Iterator

import pytest

from placement import deploy
from placement.db import api, changes

from .fixtures import applications, databases, freshness
from .fixtures.client import Client
from .fixtures.freshness_workload import AGGREGATES, PROVIDERS, Workload
from .fixtures.clouds import uuid_of

STEPS = 500

SEARCHES = (
    'resources=VCPU:2',
    'resources=VCPU:1,DISK_GB:2&limit=3',
    'resources=DISK_GB:5&required=!CUSTOM_FAST',
    f'resources=VCPU:1&member_of=in:{AGGREGATES[0]},{AGGREGATES[1]}',
    f'resources=VCPU:1&in_tree={uuid_of(PROVIDERS[0])}',
    f'resources=VCPU:1&in_tree={uuid_of(PROVIDERS[1])}',
    'resources_A=VCPU:1&resources_B=DISK_GB:1&group_policy=isolate',
    'resources=CUSTOM_GOLD:1',
    'resources=CUSTOM_SILVER:1&root_required=HW_CPU_X86_AVX',
)
