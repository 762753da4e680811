# SPDX-License-Identifier: Apache-2.0
"""Each command refuses what it cannot do, with a reason."""

import shlex

import pytest

from osc_placement_insight.tests import client
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.conftest import running

REQUEST = 'req-51000000-0000-4000-8000-000000000001'
NOBODY = 'd1000000-0000-4000-8000-000000000009'
EXPLAIN = 'allocation candidate explain'
NO_SECONDS = {
    'soon': "'soon' is not a number",
    '-1': '-1 is not a time to wait',
    'nan': 'nan is not a time to wait',
    'inf': 'inf is not a time to wait',
}
ONE_WAY = 'Say what is asked for, in one way: --resource, --flavor, --request or --query.'
LATER = (
    'This is read as a search for allocation candidates, which there is since microversion 1.10; '
    'the request is made at 1.9.'
)
NO_NOVA = (
    'Nova refuses /flavors/detail: Not Found. Is this the endpoint of nova? '
    '--resource and --query need no nova. (HTTP 404)'
)
NOT_NOVA = (
    'Nova refuses /servers/detail: Not Found. Is this the endpoint of nova? '
    'To audit placement alone, add --placement-only. (HTTP 404)'
)
NOT_IN_VAIN = (
    f'The service keeps no unsuccessful search of {REQUEST}. It knows those of other workers '
    'some seconds later, and keeps the last 10,000. Otherwise Placement had hosts to '
    'offer: see in the log of nova-scheduler which filter refused them'
)
NO_NAME = 'Name a resource provider; this name is empty.'
NO_PROVIDER = (
    'There is no resource provider {}. List them with "openstack resource provider list".'
)
NO_QUERY = 'Invalid query string parameters: '
NO_TRAIT = 'No such trait(s): '
NO_CLASS = 'Invalid resource class in resources parameter: No such resource class '

NO_STEPS = {
    'add compute1': "argument --add: 'compute1' is not of the form <host>=<count>[@<aggregate>]",
    'add compute1=0': "argument --add: 'compute1=0' is not of the form ",
    'ratio VCPU=x@y': "argument --ratio: 'VCPU=x@y' is not of the form ",
    'claim m1.large': "argument --claim: 'm1.large' is not of the form <flavor>=<count>",
    'claim m1.large=3': NO_NOVA,
    'remove nowhere': "Scenario step 1 (remove): there is no resource provider 'nowhere'",
    'remove @az1': (
        'Nova refuses /os-aggregates: Not Found. Is this the endpoint of nova? What is named by '
        'its UUID needs no nova. (HTTP 404)'
    ),
    'scenario nowhere.yaml': 'nowhere.yaml cannot be read: ',
}

#: How the complaint about each command begins.
COMPLAINTS = [
    ('placement capacity list --all-flavors --resource VCPU=1',
     '--all-flavors says what is asked for; leave out '),
    *((f'placement change list --follow --interval {text}', f'argument --interval: {words}')
      for text, words in NO_SECONDS.items()),
    ('placement audit run --wait soon', f'argument --wait: {NO_SECONDS["soon"]}'),
    ('placement audit run --wait 0', NOT_NOVA),
    ('placement change list --since yesterday', f'{NO_QUERY}since has to be a token'),
    ('placement change list --include usages,colours',
     'argument --include: colours is none of inventories, usages, traits'),
    ('placement consumer list --older-than 999999999999w',
     'argument --older-than: 999999999999w is too long ago'),
    *((f'placement history list --limit={text}',
       f"argument --limit: '{text}' is not a whole number, 0 or more") for text in ('-1', 'many')),
    *((f'placement {command} nowhere', NO_PROVIDER.format('nowhere'))
      for command in ('tree show', 'export --tree')),
    (f'placement export --tree {NOBODY}', NO_PROVIDER.format(NOBODY)),
    ('placement ui',
     'The service has no page. Its operator can set the option [ui] enabled to true.'),
    (EXPLAIN, ONE_WAY),
    (f'{EXPLAIN} --query resources=VCPU:1 --resource VCPU=1', ONE_WAY),
    (f'{EXPLAIN} --query /allocation_candidates?', 'A query has parameters, such as'),
    # Words, and no regular expression; and names that may have been meant.
    (f'{EXPLAIN} --resource VCPU=1 --group a/b --resource VCPU=1',
     f"{NO_QUERY}'resourcesa/b' is no parameter of this request."),
    ('placement unmet demand list --request 7',
     f"{NO_QUERY}'7' is no id of a request, which is req- and a UUID."),
    ('placement consumer list --type instance',
     f"{NO_QUERY}'instance' may have the letters A to Z, digits and _ alone."),
    (f'{EXPLAIN} --resource VPCU=1', f'{NO_CLASS}VPCU. Did you mean VGPU or VCPU or PCPU?'),
    (f'{EXPLAIN} --resource vcpu=1', f'{NO_CLASS}vcpu. Did you mean VCPU?'),
    (f'{EXPLAIN} --resource VCPU=1 --required HW_CPU_X86_AVX512',
     f'{NO_TRAIT}HW_CPU_X86_AVX512. Did you mean HW_CPU_X86_AVX512BITALG or '),
    (f'{EXPLAIN} --resource VCPU=1 --required 0', f'{NO_TRAIT}0. (HTTP 400'),
    (f'{EXPLAIN} --resource VCPU:1', '--resource wants <resource_class>=<value>, such as VCPU=4.'),
    (f'{EXPLAIN} --resource VCPU=1 --provider nowhere',
     f"{NO_QUERY}there is no resource provider 'nowhere'"),
    (f'{EXPLAIN} --request {REQUEST}', NOT_IN_VAIN),
    (f'{EXPLAIN} --flavor m1.large', NO_NOVA),
    *((f'{EXPLAIN} --resource VCPU=1 --{step}', words) for step, words in NO_STEPS.items()),
    ('placement capacity list --resource VCPU=1 --remove compute1',
     'After a scenario, capacities are not known by tree: use --all-flavors, or '),
    *((f'placement drain plan {hosts}', 'Name hosts, or servers with --server, and not both.')
      for hosts in ('', 'compute1 --server db-1')),
    ('placement drain plan nowhere', NO_PROVIDER.format('nowhere')),
    (f'placement drain plan @{NOBODY}', f'No host is in aggregate {NOBODY}.'),
    ('placement moves verify nowhere.json', 'nowhere.json cannot be read: '),
    (f'--os-placement-api-version 1.9 {EXPLAIN} --resource VCPU=1', LATER),
    # A variable of the shell that is not set does not stand for all.
    *((f"placement {command} ''", NO_NAME) for command in (
        'tree show', 'export --tree', 'consumer list --provider', 'history list --provider')),
    *((f"placement {command} ''", NO_QUERY) for command in (
        'consumer list --project', 'consumer list --user', 'consumer list --type',
        'consumer list --older-than', 'history list --consumer', 'history list --request',
        'history list --since', 'unmet demand list --request')),
]  # fmt: skip


#: One service for all, which change nothing.
service = pytest.fixture(scope='module')(running)


@pytest.mark.parametrize(('command', 'words'), COMPLAINTS)
def test_what_a_command_cannot_do_is_refused(openstack: Client, command: str, words: str) -> None:
    printed = openstack(*shlex.split(command))
    complaint = printed.misuse() if printed.status == 2 else printed.refusal()

    assert complaint.startswith(words)
    assert 'schema' not in complaint


@pytest.mark.parametrize(
    'command',
    ['change list --follow --since AAAB', 'ui', 'unmet demand list'],
)
def test_a_service_that_cannot_be_reached_is_told(command: str) -> None:
    refusal = client.administrator_at('http://127.0.0.1:1')(
        'placement', *command.split()
    ).refusal()

    assert refusal.startswith('The Placement service cannot be reached: ')
    assert 'Is it running' in refusal
