# SPDX-License-Identifier: Apache-2.0
"""The problems of the cloud of the demonstration, and the requests that find them."""

import shlex
from typing import NamedTuple

from placement.cmd.demo_cloud.hosts import GPU_MODEL, uuid_of
from placement.search.model.kind import DISABLED_TRAIT

_SMALL = 'resources=VCPU:4,MEMORY_MB:16384,DISK_GB:40'
_IN_SERVICE = f'required=!{DISABLED_TRAIT}'
_SMALL_IN_AZ1 = f'{_SMALL}&member_of={uuid_of("az1")}&{_IN_SERVICE}'

_WITH_GPU = (
    'resources=VCPU:8,MEMORY_MB:32768&required=HW_CPU_X86_AVX512F'
    f'&resources_GPU=VGPU:1&required_GPU={GPU_MODEL}'
)
_TWO_WHOLE_NODES = (
    'resources=DISK_GB:100&resources_NUMA0=PCPU:30,MEMORY_MB:250000'
    '&resources_NUMA1=PCPU:30,MEMORY_MB:250000&group_policy=isolate'
)


class DemoProblem(NamedTuple):
    """A question of an operator, the command of the client that answers it, the request that does,
    and what to print of its answer.

    `shown` is an expression of Python over `answer`, the answer as values.
    """

    question: str
    client: str
    path: str
    shown: str

    def command(self, url: str) -> str:
        """The line for a shell that asks the service at this address."""
        curl = ['curl', '-s', '-H', 'X-Auth-Token: admin', url + self.path]
        program = f'import json, sys; answer = json.load(sys.stdin); print({self.shown})'
        return f'{shlex.join(curl)} | python3 -c {shlex.quote(program)}'


#: Searches in vain that are made before the service starts, with the request ids of the clients.
SEARCHES_IN_VAIN = (
    ('req-3b0f44ac-0000-4000-8000-000000000001', _SMALL_IN_AZ1),
    ('req-3b0f44ac-0000-4000-8000-000000000002', _SMALL_IN_AZ1),
    (
        'req-3b0f44ac-0000-4000-8000-000000000003',
        _WITH_GPU,
    ),
    (
        'req-3b0f44ac-0000-4000-8000-000000000004',
        _TWO_WHOLE_NODES,
    ),
)

_EXPLAIN = 'openstack allocation candidate explain --query'

PROBLEMS = (
    DemoProblem(
        'Why does not even a small server fit in zone az1?',
        f"{_EXPLAIN} '{_SMALL_IN_AZ1}'",
        f'/insight/allocation_candidates?{_SMALL_IN_AZ1}',
        'answer["verdict"], answer["summary"]',
    ),
    DemoProblem(
        'Why does az2-cpu-117, which is empty, get no servers?',
        f"{_EXPLAIN} '{_SMALL}&{_IN_SERVICE}' --provider az2-cpu-117",
        f'/insight/allocation_candidates?{_SMALL}&{_IN_SERVICE}&provider=az2-cpu-117',
        '[one["words"] for one in answer["provider"]["failed"]]',
    ),
    DemoProblem(
        'Why does no server with a GPU and AVX-512 fit anywhere?',
        f"{_EXPLAIN} '{_WITH_GPU}'",
        f'/insight/allocation_candidates?{_WITH_GPU}',
        'answer["verdict"], answer["summary"]',
    ),
    DemoProblem(
        'Of which NUMA nodes is more in use than there is?',
        'openstack placement audit run --placement-only',
        '/insight/providers?include=inventories,usages&required=HW_NUMA_ROOT&page_limit=1000',
        '[(one["name"], name) for one in answer["providers"]'
        ' for name, had in one["inventories"].items() if one["usages"][name]'
        ' > (had["total"] - had["reserved"]) * had["allocation_ratio"]]',
    ),
    DemoProblem(
        'Which migrations still hold what they should have given back?',
        'openstack placement consumer list --type MIGRATION',
        '/insight/consumers?type=MIGRATION',
        'len(answer["consumers"]), "migrations,", answer["consumers"][0]["allocations"]',
    ),
    DemoProblem(
        'What do projects hold, among them one that was deleted?',
        'openstack placement usage list --by project',
        '/insight/usages?by=project',
        '*((one["project_id"], one["resources"]) for one in answer["usages"]), sep="\\n"',
    ),
    DemoProblem(
        'How many servers were written by clients that know no consumer types?',
        'openstack placement consumer list --type unknown',
        '/insight/consumers?type=unknown&page_limit=1000',
        'len(answer["consumers"])',
    ),
    DemoProblem(
        'How many more small servers fit?',
        f"openstack placement capacity show --query '{_SMALL}&{_IN_SERVICE}'",
        f'/insight/capacity?{_SMALL}&{_IN_SERVICE}',
        '"now:", answer["now"], "if nothing were used:", answer["if_empty"]',
    ),
    DemoProblem(
        'What was asked for in vain?',
        'openstack placement unmet demand list',
        '/insight/unmet_demand',
        '*((a["times"], a["verdict"], a["query"]) for a in answer["unmet_demand"]), sep="\\n"',
    ),
)
