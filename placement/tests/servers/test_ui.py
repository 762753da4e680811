# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium: each view, attacks on it, and a cloud of 10,000 hosts."""

import contextlib
import json
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from placement.cmd.demo_cloud.cloud import uuid_of
from placement.tests.databases.acknowledged_claims import HttpSender
from placement.tests.functional.fixtures import clouds
from placement.tests.functional.fixtures.clouds import Provider
from placement.tests.servers import installation, ui_services
from placement.tests.servers.browser import Browser

WIDE, NARROW = (1440, 900), (390, 844)
HOSTS = 10_000
FULL = (
    'resources=VCPU:4,MEMORY_MB:16384,DISK_GB:40&required=!COMPUTE_STATUS_DISABLED'
    f'&member_of={uuid_of("az1")}'
)
VIEWS = {
    'overview': '#/overview',
    'map': '#/map',
    'fit': '#/map?fit=VCPU:4,MEMORY_MB:8192',
    'host': f'#/host/{uuid_of("az3-numa-022")}',
    'shared': f'#/host/{uuid_of("az2-cpu-117")}',
    'why': '#/why',
    'answer': f'#/why?{FULL}',
    'holders': '#/holders',
    'held': '#/holders?project=project-deleted-in-march',
    'changes': '#/changes',
    'what if': '#/what-if?ask=1',
}
LIVE = 'document.querySelector("#activity").innerText.startsWith("live")'
# A view is drawn in the frame after the activity is told.
ALL_DRAWN = f'{LIVE} && !document.querySelector(".count").innerText.includes("so far")'
# What says that a view has all that it is going to have.
READY = {
    'overview': 'document.querySelectorAll(".fit strong").length === 24'
    ' && document.querySelectorAll(".holders li").length === 8'
    ' && document.querySelector("#hosts-map").innerText === "Where does m1.small fit?"',
    'map': f'document.querySelectorAll("tbody tr").length > 20 && {ALL_DRAWN}',
    'fit': f'document.querySelector("tbody").innerText.startsWith("az4-cpu") && {ALL_DRAWN}',
    'host': 'document.querySelector("tbody")?.innerText.includes("project-web")',
    'shared': 'document.querySelector("#sharing") && document.querySelector("#consumers")',
    'holders': 'document.querySelectorAll("tbody tr").length > 8',
    'held': 'document.querySelector("#held")',
    'changes': 'document.querySelector("#hour")',
    'what if': 'document.querySelector("#losses")',
    'why': 'document.querySelector("#unmet")',
    'answer': 'document.querySelector("#capacity ~ * .tile")',
}


@pytest.fixture(scope='module')
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ui_services.demonstration(tmp_path_factory.mktemp('demo')) as url:
        yield url


@pytest.fixture(scope='module')
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    installation.install_system_packages('chromium', 'chromium-driver')
    with Browser(tmp_path_factory.mktemp('profile')) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The browser, wide and light, without what it was shown before."""
    chromium.open('about:blank')
    chromium.look(*WIDE)
    chromium.log()
    return chromium


def open_page(browser: Browser, url: str, hash: str = '') -> None:
    """Open the page anew, which asks for a token."""
    browser.open('about:blank')
    browser.open(f'{url}/ui/{hash}')
    browser.wait('document.querySelector("#token-dialog").open')


def give_token(browser: Browser, token: str = 'admin') -> None:
    """Give the page a token."""
    browser.type('#token', token)
    browser.click('#token-form button[type=submit]')


def enter(browser: Browser, url: str, token: str = 'admin', hash: str = '#/map') -> None:
    """Open the page, and give it a token."""
    open_page(browser, url, hash)
    give_token(browser, token)


def show(browser: Browser, name: str) -> None:
    """Show a view, until it has everything."""
    browser.run('location.hash = arguments[0]', VIEWS[name])
    browser.wait(READY[name])


@pytest.fixture
def cloud(browser: Browser, demo: str) -> Browser:
    """The browser, which shows the cloud of the demonstration."""
    enter(browser, demo)
    browser.wait(READY['map'])
    return browser


def build(url: str, *cloud: Provider) -> None:
    """Create providers in the cloud of a service."""
    clouds.build(cloud, HttpSender(url))


def delete(url: str, *names: str) -> None:
    """Delete providers."""
    for name in names:
        answer = HttpSender(url).send('DELETE', f'/resource_providers/{clouds.uuid_of(name)}')
        assert answer.status == 204, answer.text


@pytest.fixture(scope='module')
def proxied(demo: str) -> Iterator[str]:
    """The address of the page that the proxy of the command line prints."""
    with ui_services.client_proxy(demo) as (_process, url):
        yield url


def test_each_view_works_through_the_proxy_which_asks_for_no_token(
    browser: Browser, proxied: str
) -> None:
    browser.open(proxied)
    for name in VIEWS:
        show(browser, name)
        shown = browser.run(
            'return [document.querySelector("#token-dialog").open,'
            ' document.querySelector("#open-token").checkVisibility(),'
            ' document.querySelector("#complaint").textContent]'
        )
        assert (name, shown) == (name, [False, False, ''])
    assert browser.log() == []


def test_proxy_answers_for_no_other_name_that_leads_to_it(browser: Browser, proxied: str) -> None:
    """As under DNS rebinding: browsers take names below localhost to the loopback."""
    data = proxied.replace('ui/?token=proxy', 'insight/providers')
    for url in (proxied, data):
        browser.open(url.replace('127.0.0.1', 'rebound.localhost'))
        assert browser.text().strip() == '403 Forbidden'


def test_proxy_answers_no_foreign_page(browser: Browser, proxied: str) -> None:
    """Not even one that knows the random path."""
    data = proxied.replace('ui/?token=proxy', 'insight/providers')
    assert tried_by_foreign_page(browser, data, proxied) == ['TypeError', 'TypeError', 'error', 0]


def tried_by_foreign_page(browser: Browser, data: str, page: str) -> Any:
    """What becomes of `FOREIGN_READS`."""
    with ui_services.foreign_page('<!doctype html><title>Foreign</title>') as foreign:
        browser.open(foreign)
        return browser.run(FOREIGN_READS, data, page)


# What a foreign page can try: read it, send it without reading, run it, and frame it.
FOREIGN_READS = """
const [data, page] = arguments;
const named = (error) => error.name;
const read = await fetch(data).then((answer) => answer.text(), named);
const sent = await fetch(data, {mode: 'no-cors'}).then((answer) => answer.type, named);
const ran = await new Promise((resolve) => {
  const script = document.createElement('script');
  script.onload = () => resolve('ran');
  script.onerror = () => resolve('error');
  script.src = data;
  document.head.append(script);
});
const frame = document.createElement('iframe');
frame.src = page;
const framed = new Promise((resolve) => { frame.onload = resolve; });
document.body.append(frame);
await framed;
let seen = 0;
try { seen = frame.contentDocument.body.children.length; } catch { }
return [read, sent, ran, seen];
"""


def test_nothing_is_asked_for_before_there_is_a_token(browser: Browser, demo: str) -> None:
    open_page(browser, demo)
    asked = browser.run('return performance.getEntriesByType("resource").map((one) => one.name)')
    assert [name for name in asked if '/ui/' not in name] == []


def test_a_token_without_rights_is_told_so(browser: Browser, demo: str) -> None:
    enter(browser, demo, token='nobody')
    wait_for(browser, '#complaint', 'may not read this')


def test_the_token_is_kept_in_memory_alone(browser: Browser, demo: str) -> None:
    enter(browser, demo, token='admin:secret-project')
    browser.wait(READY['map'])
    kept = browser.run(
        'return [localStorage.length, sessionStorage.length, document.cookie,'
        ' location.href.includes("secret"),'
        ' document.documentElement.outerHTML.includes("secret"),'
        ' document.querySelector("#token").value]'
    )
    assert kept == [0, 0, '', False, False, '']
    open_page(browser, demo)


def choose(browser: Browser, control: str, value: str) -> None:
    """Choose from a list, or fill a field, as soon as it is there."""
    browser.wait(f'document.getElementById("{control}")')
    browser.run(
        'const field = document.getElementById(arguments[0]); field.value = arguments[1];'
        ' field.dispatchEvent(new Event("change"))',
        control,
        value,
    )


def wait_for(browser: Browser, selector: str, text: str) -> None:
    """Wait until an element has a text."""
    browser.wait(f'document.querySelector("{selector}")?.innerText.includes({json.dumps(text)})')


def test_first_view_says_what_is_wrong(browser: Browser, demo: str) -> None:
    enter(browser, demo, hash='')
    browser.wait(READY['overview'])
    browser.wait('document.querySelectorAll(".sentence").length === 5')
    sentences = browser.text('.sentences')
    for words in (
        '2 inventories over capacity',
        'az3-numa-022-node1: 104 GiB MEMORY_MB too much',
        'az1 is full',
        'only a disabled host has room',
        '3 hosts disabled',
        '512 VCPU free behind them',
        '12 migrations hold resources',
        '4 searches found nothing',
        '1 that no host can ever serve',
    ):
        assert words in sentences
    # As the file of the operator names zones and flavors.
    zones = ' '.join(browser.text('.zones').split())
    assert re.search(r'az1 250 99 % 0 MiB free .* 0 0 0 0 az2 250 73 %', zones), zones
    assert 'm1.large fit' in zones
    # The disks of az2 are those of the pool that its hosts share.
    assert re.search(r'az2 250 73 % 37 TiB free 67 % 12,068 free \d+ %', zones), zones
    assert browser.text('.holders li').split() == ['project-mail', '11,508', '·', '954']
    assert 'no host can' in browser.text('.unmet')


def test_an_empty_cloud_and_one_without_problems_are_told(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    with ui_services.below_prefix(tmp_path, '/placement') as url:
        browser.open(f'{url}/ui')
        assert browser.run('return location.pathname') == '/placement/ui/'
        for view in ('overview', 'map'):
            enter(browser, url, hash=f'#/{view}')
            wait_for(browser, 'main', 'no resource providers in this cloud yet')
        build(url, Provider('below-a-prefix'))
        wait_for(browser, 'tbody', 'below-a-prefix')
        browser.run('location.hash = "#/overview"')
        wait_for(browser, '.sentence', 'Nothing is wrong')
        wait_for(browser, '.card', 'Nobody holds anything.')
        assert 'consumers' not in browser.text('.card')


def test_title_of_the_small_map_tells_what_its_colours_mean(browser: Browser, demo: str) -> None:
    open_page(browser, demo)
    change(browser, '/insight/capacity', 'await new Promise(() => {});')
    give_token(browser)
    browser.wait('document.querySelectorAll(".sentence").length === 5')
    assert browser.text('#hosts-map') == 'How full is every host?'
    assert 'below 25 % used' in browser.text('.legend')


def test_a_question_that_is_off_names_its_option(browser: Browser, demo: str) -> None:
    open_page(browser, demo)
    off = (
        'if (!new URL(answer.url).pathname.endsWith("/insight")) return answer;'
        ' const found = await answer.json();'
        ' for (const one of found.questions) one.enabled = false;'
        ' answer = Response.json(found);'
    )
    change(browser, '/insight', off)
    give_token(browser)
    for view, option in {
        'map': '[insight] cloud', 'why': '[insight] allocation_candidates',
        'overview': '[insight] unmet_demand',
    }.items():  # fmt: skip
        browser.run('location.hash = arguments[0]', f'#/{view}')
        wait_for(browser, 'main', f'{option} is false')
    asked = browser.run('return performance.getEntriesByType("resource").map((one) => one.name)')
    assert [one for one in asked if '/insight/' in one] == []


def test_hosts_are_counted_filtered_and_sorted(cloud: Browser) -> None:
    # What shares with hosts is none.
    assert cloud.text('.count span') == '1,000 hosts, 1 sharing provider, 3 disabled'
    assert cloud.text('.attention') == '2 hosts over capacity'
    assert {'VCPU', 'MEMORY_MB', 'VGPU'} <= set(cloud.text('.tiles').split())
    assert 'free but disabled' in cloud.text('.tile')

    cloud.type('#search', 'gpu')
    wait_for(cloud, '.count', '60 of 1,000 hosts')
    cloud.type('#search', ' ')
    cloud.click('.attention')
    wait_for(cloud, '.count', '2 of')
    rows = cloud.text('tbody')
    assert 'GiB on az3-numa-022-node1' in rows
    assert 'az3-numa-061' in rows

    choose(cloud, 'shown', 'disabled')
    wait_for(cloud, '.count span', '3 of 1,000 hosts')
    assert cloud.text('tbody').count('(disabled)') == 3
    # "Used" is of the class that is chosen; of disks nobody uses as much.
    choose(cloud, 'shown', 'full')
    choose(cloud, 'class', 'DISK_GB')
    wait_for(cloud, '.count span', '0 of 1,000 hosts')

    # All of that is in the address.
    cloud.run('location.hash = "#/map?zone=" + arguments[0]', uuid_of('az4'))
    wait_for(cloud, '.count span', '250 of 1,000 hosts')
    cloud.click('thead th:nth-child(4) button')
    cloud.wait('document.querySelector("[aria-sort=descending]")?.innerText.includes("Free VCPU")')
    first = cloud.text('tbody th')
    cloud.click('thead th:nth-child(4) button')
    cloud.wait('document.querySelector("[aria-sort=ascending]")')
    assert cloud.text('tbody th') != first
    assert cloud.run('return location.hash').endswith('&sort=Free+VCPU')


def test_a_table_is_saved_as_it_is_sorted_and_no_cell_of_it_is_a_formula(cloud: Browser) -> None:
    text = cloud.run(
        'const {csv} = await import("./table.js");'
        ' return csv([{name: "a", value: (row) => row}], arguments[0])',
        [1.5, '=1+1', 'x,"y"'],
    )
    assert text.split('\r\n') == ['a', '1.5', "'=1+1", '"x,""y"""']


def test_hosts_are_selected_and_summed(cloud: Browser) -> None:
    cloud.run('document.querySelector(".map").focus()')
    cloud.press('ArrowRight', 'Space', 'ArrowRight', 'Space')
    wait_for(cloud, '.hosts h2', '2 hosts selected')
    assert cloud.run('return document.querySelectorAll("tbody tr").length') == 2
    assert cloud.text('.tip strong') == 'az1-cpu-002'
    # A reload has them; and pulling the pointer over cells selects others.
    assert uuid_of('az1-cpu-001') in cloud.run('return location.hash')
    cloud.run(
        'const map = document.querySelector(".map");'
        ' const {left, top} = document.querySelector("canvas").getBoundingClientRect();'
        ' const send = (type, x, y, buttons) => map.dispatchEvent(new PointerEvent(type,'
        ' {clientX: left + x, clientY: top + y, buttons, button: 0, bubbles: true}));'
        ' send("pointerdown", 2, 30, 1); send("pointermove", 50, 35, 1);'
        ' send("pointerup", 50, 35, 0)'
    )
    wait_for(cloud, '.hosts h2', '4 hosts selected')
    cloud.click('.hosts .small')
    wait_for(cloud, '.hosts h2', 'Hosts')


def test_hosts_are_coloured_by_how_many_fit_and_by_who_has_them(cloud: Browser) -> None:
    cloud.run('location.hash = "#/map?fit=PCPU:4&zone=" + arguments[0]', uuid_of('az3'))
    wait_for(cloud, '.marks', 'none fits')
    wait_for(cloud, 'thead', 'Fit now')
    cloud.wait('!document.querySelector("tbody").innerText.includes("…")')
    first, last = cloud.run(
        'const rows = [...document.querySelectorAll("tbody tr")];'
        ' return [rows.at(0), rows.at(-1)].map((row) => row.cells[1].innerText)'
    )
    assert int(first) >= int(last) > 0
    cloud.run('location.hash = "#/map?project=" + arguments[0]', 'project-mail')
    wait_for(cloud, '.chosen', 'held by project-mail')
    cloud.wait('/^[0-9]+ %$/.test(document.querySelector("tbody tr").cells[1].innerText)')


def test_a_disabled_host_is_hatched(cloud: Browser) -> None:
    colours = (
        'new Set(new Uint32Array(document.querySelector("canvas").getContext("2d")'
        '.getImageData(2, 30, 14, 14).data.buffer)).size'
    )
    cloud.run('location.hash = "#/map?q=az1-cpu-078"')
    cloud.wait(f'{colours} === 1')
    cloud.run('location.hash = "#/map?q=az1-cpu-077"')
    cloud.wait(f'{colours} > 1')


def test_hosts_with_a_trait_are_shown_also_after_going_back(cloud: Browser) -> None:
    counts = {'COMPUTE_STATUS_DISABLED': '3 of', 'NO_SUCH': '0 of', 'HW_NUMA_ROOT': '100 of'}
    for trait, count in counts.items():
        cloud.type('#trait', trait)
        wait_for(cloud, '.count', count)
    show(cloud, 'why')
    cloud.run('history.back()')
    wait_for(cloud, '.count', '100 of')
    assert cloud.run('return document.querySelector("#trait").value') == 'HW_NUMA_ROOT'


def change(browser: Browser, words: str, change: str) -> None:
    """Have statements change the `answer` to each request with these words."""
    browser.run(
        'const send = window.fetch;'
        ' window.fetch = async (url, options) => {'
        '   let answer = await send(url, options);'
        f'  if (String(url).includes(arguments[0])) {{ {change} }}'
        '   return answer;'
        ' }',
        words,
    )


def delay(browser: Browser, words: str) -> None:
    """Have an answer to a request with these words come late; then `window.isLate` is true."""
    late = (
        'await new Promise((resolve) => setTimeout(resolve, 1500));'
        ' setTimeout(() => { window.isLate = true; }, 500);'
    )
    change(browser, words, late)


def test_reading_and_its_failure_are_seen(browser: Browser, demo: str) -> None:
    open_page(browser, demo, '#/map')
    delay(browser, '/insight/providers')
    busy = 'new Response("{}", {status: 503, headers: {"Retry-After": "1"}})'
    change(browser, '/insight/providers', f'if (!window.isBusy--) answer = {busy};')
    browser.run('window.isBusy = 0')
    give_token(browser)
    wait_for(browser, '#activity', 'Reading …')
    wait_for(browser, '.count span', 'Reading the cloud …')
    wait_for(browser, '#activity', 'Service busy')
    wait_for(browser, '.count', 'so far')
    # Sums of a part would look like those of the cloud.
    assert browser.text('.tiles') == browser.text('#complaint') == ''
    browser.wait(ALL_DRAWN)
    assert browser.text('.tiles')

    # What was read before stays, with its age, and the message goes when the service is back.
    browser.run('window.kept = window.fetch')
    change(browser, '/insight/changes', 'answer = await Promise.reject(new TypeError());')
    wait_for(browser, '#complaint', 'does not answer')
    assert 'Everything here is as it was at ' in browser.text('#complaint')
    assert browser.text('#activity').startswith('as of ')
    assert browser.text('.count span').startswith('1,000 hosts')
    browser.run('window.fetch = window.kept')
    browser.click('#complaint button')
    browser.wait(f'document.querySelector("#complaint").innerText === "" && {LIVE}')


def test_a_change_is_shown_and_disturbs_nobody(cloud: Browser, demo: str) -> None:
    cloud.run('document.querySelector("#search").focus()')
    build(demo, Provider('zz-new-host'))
    try:
        wait_for(cloud, '.count', '1,001 hosts')
        wait_for(cloud, '#activity', 'changed')
        assert cloud.run('return document.activeElement.id') == 'search'
    finally:
        delete(demo, 'zz-new-host')
    wait_for(cloud, '.count', '1,000 hosts')
    asked = cloud.run('return performance.getEntriesByType("resource").map((one) => one.name)')
    assert len([one for one in asked if '/insight/providers?' in one]) == 2


def test_after_a_token_has_expired_the_page_goes_on_where_it_was(cloud: Browser) -> None:
    cloud.run('window.kept = window.fetch; location.hash = "#/map?q=gpu"')
    change(cloud, '/insight/changes', 'answer = new Response("{}", {status: 401});')
    cloud.wait('document.querySelector("#token-dialog").open')
    assert 'it has expired' in cloud.text('#token-error')
    cloud.run('window.fetch = window.kept')
    give_token(cloud)
    cloud.wait(f'document.querySelector("#complaint").innerText === "" && {ALL_DRAWN}')
    assert cloud.text('.count').startswith('60 of 1,000 hosts')


def test_a_token_is_kept_in_the_tab_by_choice_until_it_has_expired(
    browser: Browser, demo: str
) -> None:
    open_page(browser, demo, '#/map')
    browser.click('#keep-token')
    give_token(browser)
    browser.wait(READY['map'])
    browser.run('location.reload()')
    browser.wait(READY['map'])
    change(browser, '/insight/changes', 'answer = new Response("{}", {status: 401});')
    browser.wait('document.querySelector("#token-dialog").open')
    assert browser.run('return sessionStorage.length') == 0


#: What is typed into the search, the beginning of what is found, and the address that it leads to.
SEARCHES = {
    'numa-022': ('az3-numa-022 host', f'#/host/{uuid_of("az3-numa-022")}'),
    uuid_of('az3-numa-022-node1'): (
        'az3-numa-022-node1 on az3-numa-022',
        f'#/host/{uuid_of("az3-numa-022-node1")}',
    ),
    'req-3b0f44ac-0000-4000-8000-000000000003': ('resources=', '#/why?resources='),
    'project-mail': ('project-mail project', '#/holders?project=project-mail'),
}


@pytest.mark.parametrize('text', SEARCHES, ids=['host', 'provider', 'request', 'project'])
def test_one_search_finds_everything(cloud: Browser, text: str) -> None:
    words, address = SEARCHES[text]
    # From anywhere, by its key.
    cloud.press('/')
    cloud.type('placement-search input', text)
    cloud.wait(
        'document.querySelector("#found [aria-selected=true]")?.innerText'
        f'.startsWith({json.dumps(words)})'
    )
    cloud.press('Enter')
    cloud.wait(f'location.hash.startsWith({json.dumps(address)})')


class Task(NamedTuple):
    """A question of an operator, from the overview.

    Each of the `steps` is a click, given the selector of an element, or a field that is filled in
    and sent off, given that and the text. The answer has some `words` in the element `place`.
    """

    question: str
    steps: Sequence[str | tuple[str, str]]
    place: str
    words: str
    service: str = 'demo'


def search(text: str) -> tuple[str, str]:
    return 'placement-search input', text


TASKS = [
    Task('Is the cloud full? Where, in which zone, of which class?', (), '.zones', '99 %'),
    Task('How many more m1.large fit, in each zone?', (), '.zones', 'm1.large fit'),
    Task('What was asked for in vain, by which request?', (), '.unmet', 'req-3b0f44ac-'),
    Task(
        'Which projects have most, and what does one of them have?',
        ['.holders li a'], '#held', '954 consumers',
    ),
    Task(
        'What is over its capacity, and how far?',
        ['.sentence[href*="show=over"]'], 'tbody', 'MEMORY_MB 224 GiB of 120 GiB',
    ),
    Task(
        'Which hosts are disabled, and what is free on them?',
        ['.sentence[href*="show=disabled"]'], '.count', '3 of 1,000 hosts',
    ),
    Task(
        'Why did this request of nova (``req-…``) find no host?',
        [search('req-3b0f44ac-0000-4000-8000-000000000003')], '.relaxations', 'asking for VGPU',
    ),
    Task(
        'What does a host have, and who holds it, since when?',
        [search('az3-numa-022')], 'placement-host tbody', 'project-web',
    ),
    Task('On which host is this server?', [search('{server}')], 'h1', 'az4-cpu-001'),
    Task('What has changed in the last hour?', ['[data-view=changes]'], '#hour', 'In the hour'),
    Task(
        'What happened to this host?',
        [search('one'), '[href*="tab=history"]'], 'tbody', 'resource_providers.create', 'history',
    ),
    Task(
        'Why does a request fit nowhere, and what would help?',
        ['[data-view=why]', ('#query', FULL), '.question .main-button'],
        '.relaxations', 'COMPUTE_STATUS_DISABLED',
    ),
]  # fmt: skip


@pytest.fixture(scope='module')
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a history, which has three hosts."""
    with ui_services.below_prefix(tmp_path_factory.mktemp('history'), '/placement') as url:
        build(url, *map(Provider, ('one', 'two', 'three')))
        yield url


@pytest.mark.parametrize('task', TASKS, ids=[task.question for task in TASKS])
def test_a_question_of_an_operator_takes_as_many_clicks_as_the_guide_says(
    browser: Browser, request: pytest.FixtureRequest, task: Task
) -> None:
    enter(browser, request.getfixturevalue(task.service), hash='')
    browser.wait(LIVE)
    for step in task.steps:
        if isinstance(step, str):
            browser.wait(f'document.querySelector({json.dumps(step)})')
            browser.click(step)
            continue
        field, text = step
        browser.type(field, text.format(server=_server_of(browser, 'az4-cpu-001')))
        if field.startswith('placement-search'):
            browser.wait('document.querySelector("#found [aria-selected=true]")')
            browser.press('Enter')
    wait_for(browser, task.place, task.words)
    guide = installation.REPOSITORY.joinpath('doc/source/ui.rst').read_text()
    (clicks,) = re.findall(rf'^{re.escape(task.question)} +(\d) ', guide, re.MULTILINE)
    assert len(task.steps) == int(clicks)


def _server_of(browser: Browser, host: str) -> str:
    """The uuid of a consumer that holds of a host; empty where there is none."""
    consumer: str = browser.run(
        'const {get} = await import("./api.js");'
        ' const path = `insight/consumers?provider=${arguments[0]}`;'
        ' return (await get(path)).consumers[0]?.uuid ?? ""',
        uuid_of(host),
    )
    return consumer


def test_an_answer_about_the_host_that_was_asked_about_before_is_not_shown(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo)
    show(browser, 'answer')
    delay(browser, 'provider=az1-cpu-001')
    for host in ('az1-cpu-001', 'az1-cpu-002'):
        browser.type('#provider', host)
        browser.click('.question .main-button')
    browser.wait('window.isLate')
    assert browser.text('.verdict h3') == 'az1-cpu-002'
    assert browser.run('return location.hash').endswith('&provider=az1-cpu-002')


def test_a_cell_opens_its_tree_by_pointer_or_key(cloud: Browser) -> None:
    # The first cell is below the name of its group.
    cloud.run(
        'const {left, top} = document.querySelector("canvas").getBoundingClientRect();'
        ' const place = {clientX: left + 5, clientY: top + 33, bubbles: true};'
        ' document.elementFromPoint(place.clientX, place.clientY)'
        '.dispatchEvent(new MouseEvent("click", place))'
    )
    cloud.wait('document.querySelector("h1").textContent === "az1-cpu-001"')
    show(cloud, 'map')
    cloud.run('document.querySelector(".map").focus()')
    cloud.press('ArrowRight', 'ArrowRight')
    cloud.wait('document.querySelector("#status").textContent.startsWith("az1-cpu-002: ")')
    cloud.press('Enter')
    cloud.wait('document.querySelector("h1").textContent === "az1-cpu-002"')


def test_a_tree_is_nested_boxes_whose_bars_are_cut_into_holders(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash='#/host/az3-numa-022')
    browser.wait(READY['host'])
    assert browser.run('return document.querySelectorAll(".box").length') == 5
    assert browser.text('.is-over .words').startswith('104 GiB over 120 GiB')
    assert 'az3-numa-022-node1 has 104 GiB of MEMORY_MB more in use' in browser.text('.refusal')
    assert '7 consumers of 5 projects' in browser.text('.facts')
    asked = browser.run('return performance.getEntriesByType("resource").map((one) => one.name)')
    assert len([one for one in asked if '/insight/consumers?' in one]) == 1

    # All pieces of a holder light up, wherever they are: in a NUMA node, its card, and the root.
    lit = 'return document.querySelectorAll(".piece.lit").length'
    browser.run('document.querySelector(".box .box .box .piece").click()')
    wait_for(browser, '[aria-pressed=true]', '-')
    assert browser.run(lit) == 4
    browser.click('[aria-pressed=true]')
    browser.wait('!document.querySelector("[aria-pressed=true]")')
    browser.run('document.querySelector(".light").focus()')
    browser.press('Enter')
    browser.wait('document.querySelector("[aria-pressed=true]")')
    assert browser.run(lit) >= 3
    assert browser.text('.tabs [aria-current]') == 'Tree'

    for tab, words in TABS.items():
        browser.run('document.querySelectorAll(".tabs a")[arguments[0]].click()', tab)
        wait_for(browser, 'placement-host', words)
    # Who shares with it, and that it is disabled.
    show(browser, 'shared')
    assert browser.text('.badge') == 'disabled'
    wait_for(browser, 'placement-host section', 'az2-ceph')
    browser.run('location.hash = "#/host/none & nowhere"')
    browser.wait('document.querySelector("main").innerText.includes("There is no such provider.")')


TABS = {
    1: 'CUSTOM_PHYSNET_PUBLIC',
    2: uuid_of('az3'),
    3: '[history] enabled is false',
    4: '"generation": ',
}


def test_equal_siblings_are_one_box_until_each_is_wanted(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    with ui_services.below_prefix(tmp_path, '/placement') as url:
        functions = [
            Provider(f'vf-host-vf{number}', {'SRIOV_NET_VF': total}, parent='vf-host')
            for number, total in enumerate([8, *[1] * 11])
        ]
        build(url, Provider('vf-host'), *functions)
        enter(browser, url, hash='#/host/vf-host?fit=SRIOV_NET_VF:1')
        wait_for(browser, '.folded', '…-vf\n0 in use')
        assert browser.text('.folded h3').startswith('11 ')
        assert browser.run('return document.querySelectorAll(".box").length') == 3
        # As many of a request as fit this host alone.
        wait_for(browser, '.facts', '19')
        browser.click('.folded button')
        browser.wait('document.querySelectorAll(".box").length === 13')


def test_holders_lead_to_their_consumers_and_these_to_their_hosts(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash=VIEWS['holders'])
    browser.wait(READY['holders'])
    assert browser.text('tbody tr').startswith('project-mail')
    assert {'Consumers', 'VCPU ▾', 'MEMORY_MB'} <= set(browser.text('thead').split('\t'))
    choose(browser, 'by', 'type')
    wait_for(browser, 'tbody', 'MIGRATION')
    browser.run(
        '[...document.querySelectorAll("tbody a")].find((one) =>'
        ' one.innerText === "MIGRATION").click()'
    )
    wait_for(browser, '#held', 'consumers')
    assert browser.text('.tiles').startswith('Hosts')
    choose(browser, 'age', 'old365')
    wait_for(browser, '#held', 'There are none.')
    show(browser, 'held')
    assert browser.text('#held') == '35 consumers'
    browser.click('tbody td a')
    wait_for(browser, '[aria-pressed=true]', '-')


def test_hosts_that_must_not_fail_are_outlined_and_the_homeless_listed(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash='#/what-if')
    browser.wait(f'{LIVE} && document.querySelector("#ask")')
    browser.click('#ask')
    wait_for(browser, '#losses', 'must not fail')
    assert browser.text('#losses').startswith('2 of ')
    assert 'Outlined: 2 hosts' in browser.text('.answer')
    assert {'az3-numa-088', 'az4-gpu-042'} <= set(browser.text('tbody').split())
    assert 'most free' in browser.text('tbody')
    browser.click('tbody td a')
    wait_for(browser, '[aria-pressed=true]', '-')
    # A zone is chosen by its name; what was answered before is not about it.
    browser.run('history.back()')
    wait_for(browser, '#losses', 'must not fail')
    choose(browser, 'zone', uuid_of('az4'))
    browser.wait('document.querySelector("#ask") && !document.querySelector("#losses")')


def test_capacity_is_shown_before_and_after_a_scenario_that_can_be_copied(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash='#/what-if?step=copy&count=3')
    wait_for(browser, '#incomplete', 'Choose a host that gets copies.')
    browser.type('#host', 'az4-cpu-001')
    browser.press('Enter')
    browser.wait('document.querySelector("#ask")')
    browser.click('#ask')
    wait_for(browser, '#capacities', 'How many fit')
    assert '+' in browser.text('tbody')
    browser.run('document.querySelector(".copies").open = true')
    command, body = browser.run(
        'return [...document.querySelectorAll(".copies pre")].map((one) => one.innerText)'
    )
    assert command == 'openstack placement capacity list --all-flavors --add az4-cpu-001=3'
    expected = [{'add': {'like': uuid_of('az4-cpu-001'), 'count': 3}}]
    assert json.loads(body)['scenario'] == expected

    choose(browser, 'step', 'ratio')
    choose(browser, 'ratio', '0.01')
    browser.wait('document.querySelector("#ask")')
    browser.click('#ask')
    wait_for(browser, '#over', '1 provider over capacity after it')
    # What cannot be is refused in words, where the answer would be.
    choose(browser, 'ratio', '1e39')
    browser.wait('document.querySelector("#ask")')
    browser.click('#ask')
    wait_for(browser, '.answer', 'greater than the maximum')
    assert len(browser.log()) == 1


def test_what_has_changed_is_told_though_the_history_is_off(browser: Browser, demo: str) -> None:
    enter(browser, demo)
    browser.wait(READY['map'])
    show(browser, 'changes')
    assert '[history] enabled is false' in browser.text('.refusal')
    build(demo, Provider('new-host'), Provider('short-lived'))
    wait_for(browser, 'tbody', 'was created')
    body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}}
    path = f'/resource_providers/{clouds.uuid_of("new-host")}/inventories'
    assert HttpSender(demo).send('PUT', path, body).status == 200
    delete(demo, 'short-lived')
    wait_for(browser, 'tbody', '8 VCPU more')
    wait_for(browser, 'tbody', 'was deleted')
    show(browser, 'holders')
    show(browser, 'changes')
    wait_for(browser, '#hour', 'In the hour before, ')
    rows = browser.text('[aria-labelledby=hour] tbody').splitlines()
    deleted = rows[: rows.index('az1-cpu-001\taz1-cpu-001')]
    assert f'{clouds.uuid_of("short-lived")}\tdeleted' in deleted
    assert all(row.endswith('\tdeleted') for row in deleted)
    assert len(set(rows)) == len(rows)
    delete(demo, 'new-host')


def test_the_history_is_shown_by_minute_action_and_caller(browser: Browser, history: str) -> None:
    enter(browser, history, hash='#/changes')
    wait_for(browser, '#minutes', '3 rows of ')
    assert 'resource_providers.create\tadmin\t3\tthree, two, one' in browser.text('tbody')
    browser.click('tbody td a')
    wait_for(browser, 'placement-host .facts', 'resource_providers.create by admin')
    browser.run('location.hash = "#/host/one?tab=history"')
    wait_for(browser, 'tbody', 'resource_providers.create')
    browser.click('tbody td:last-child a')
    wait_for(browser, '#minutes', '1 row')


def test_a_consumer_whose_age_is_not_known_is_shown(cloud: Browser) -> None:
    ageless = (
        'const found = await answer.json();'
        ' for (const one of found.consumers) one.created_at = null;'
        ' answer = Response.json(found);'
    )
    change(cloud, '/insight/consumers?', ageless)
    show(cloud, 'host')
    assert '7 consumers' in cloud.text('#consumers')
    assert 'INSTANCE' in cloud.text('placement-host tbody')


def test_an_answer_has_funnel_nearest_trees_and_capacity(browser: Browser, demo: str) -> None:
    enter(browser, demo)
    show(browser, 'answer')
    assert browser.text('.verdict-words').startswith('Full at present')
    # Once the cloud is read, aggregates have names.
    wait_for(browser, '.funnel > ol', 'Aggregate az1')
    # Of the conditions only those are shown that turn somebody away.
    assert browser.text('.funnel > ol').splitlines() == [
        'Has VCPU', '900 left, 101 lost',
        'Forbidden trait COMPUTE_STATUS_DISABLED for VCPU, MEMORY_MB',
        '897 left, 3 lost; 1 fails nothing else',
        'Aggregate az1', '249 left, 648 lost; 638 fail nothing else',
        'Room for 16 GiB MEMORY_MB now (most free 0 MiB)',
        '0 left, 249 lost; 249 fail nothing else',
    ]  # fmt: skip
    assert browser.text('.funnel summary') == '7 conditions that turn nobody away'
    browser.click('.funnel summary')
    assert 'Room for 40 GB DISK_GB when empty\n' in browser.text('.funnel details')
    assert 'MEMORY_MB: 16 GiB asked, most free 0 MiB, largest' in browser.text('.verdict')
    # Those that are full come before the one that is disabled.
    assert 'az1-cpu-001' in browser.text('.reports')
    relaxations = browser.text('.relaxations')
    assert 'forbidden trait COMPUTE_STATUS_DISABLED' in relaxations
    # The disabled host that would serve it.
    assert re.search(r'\baz1-cpu-\d+\b', relaxations), relaxations
    assert browser.text('.answer .tile strong') == '0'


def test_a_relaxation_is_one_click_away(browser: Browser, demo: str) -> None:
    enter(browser, demo)
    show(browser, 'answer')
    links = browser.run(
        'return [...document.querySelectorAll(".relaxations a")].map((one) =>'
        ' [one.parentElement.innerText, one.hash])'
    )
    links = [[words, link] for words, link in links if '/why?' in link]
    (trait,) = [link for words, link in links if 'forbidden trait' in words]
    (wider,) = [link for words, link in links if 'without aggregate' in words]
    (smaller,) = [link for words, link in links if 'MEMORY_MB' in words]
    assert 'COMPUTE_STATUS_DISABLED' not in trait
    assert 'member_of' not in wider
    assert 'MEMORY_MB' not in smaller
    browser.run('document.querySelector(`.relaxations a[href="${arguments[0]}"]`).click()', wider)
    browser.wait('document.querySelector(".verdict-words")?.textContent.startsWith("It fits")')
    browser.run('location.hash = "#/why?resources=VCPU:400"')
    browser.wait(
        'document.querySelector(".relaxations")?.innerText === "900 trees with less VCPU;'
        ' 112 at most, on 3 112 on 3 44 on 460 4 on 900"'
    )
    browser.click('.relaxations a:nth-of-type(2)')
    browser.wait('document.querySelector(".verdict-words")?.innerText.includes("460 trees of")')
    group = 'resources{0}=MEMORY_MB:250000,PCPU:30&'
    query = f'{group.format(1)}{group.format(2)}group_policy=isolate'
    browser.run('location.hash = arguments[0]', f'#/why?{query}')
    browser.wait('document.querySelectorAll(".funnel").length === 3')
    assert 'for MEMORY_MB in group 2 and asking for PCPU in g' in browser.text('.relaxations')
    # Amounts that are compared are exact.
    assert 'Room for 250,000 MiB MEMORY_MB now (most free 248 GiB)' in browser.text('.funnels')


#: What the service answers, and what the page says then.
FAILURES = {
    'Response.json({errors: [{detail: "Off."}]}, {status: 404})': 'Off.',
    'new Response("{\\"now\\": ")': 'The answer of the service is cut off',
    'await Promise.reject(new TypeError())': 'The service does not answer',
}


@pytest.mark.parametrize('answer', FAILURES, ids=['off', 'cut', 'gone'])
def test_a_failure_is_told_where_the_answer_would_be(cloud: Browser, answer: str) -> None:
    change(cloud, '/insight/capacity', f'answer = {answer};')
    cloud.run('location.hash = arguments[0]', VIEWS['answer'])
    cloud.wait('document.querySelector("#capacity ~ * .refusal")')
    assert FAILURES[answer] in cloud.text('#capacity ~ *')
    assert cloud.text('.verdict-words').startswith('Full at present')
    change(cloud, '/insight/allocation_candidates', f'answer = {answer};')
    cloud.click('.question .main-button')
    cloud.wait('document.querySelector(".answer > .refusal")')
    assert FAILURES[answer] in cloud.text('.answer')


#: A query; the reason and the name of the condition that is given up; the query that is left, None
#: where there is no such query; and other members of the condition.
RELAXATIONS: list[tuple[str, str, str, str | None, dict[str, Any]]] = [
    ('resources=X:1&required=A,B', 'required trait', 'A', 'resources=X:1&required=B', {}),
    ('resources=X:1&required=in:B,A', 'required trait', 'A or B', 'resources=X:1', {}),
    ('resources=X:1&required=!A', 'forbidden trait', 'A', 'resources=X:1', {}),
    ('resources_X=X:1&required_X=A', 'required trait', 'A', 'resources_X=X:1', {'suffix': '_X'}),
    ('resources=X:4,Y:1', 'too small', 'X', 'resources=X:2,Y:1', {'asked': 4, 'largest': 2}),
    ('resources=X:4,Y:1', 'used', 'X', 'resources=Y:1', {'asked': 4}),
    ('resources=X:1&member_of=in:b,a', 'aggregate', 'a or b', 'resources=X:1', {}),
    ('resources=X:1&member_of=!in:b,a', 'aggregate', '!a', 'resources=X:1&member_of=!in:b', {}),
    ('resources=X:1&in_tree=u', 'tree', 'u', 'resources=X:1', {}),
    ('resources=X:1&root_required=A,!B', 'root_required', '!B', 'resources=X:1&root_required=A',
     {}),
    ('resources1=X:1&group_policy=isolate', 'isolate', '', 'resources1=X:1&group_policy=none', {}),
    ('resources=Y:1&resources1=X:1&required1=A', 'class missing', 'X', 'resources=Y:1',
     {'suffix': '1'}),
    ('resources=X:1', 'all groups from one tree', '', None, {}),
    ('resources=X:1', 'used', 'X', None, {'asked': 1}),
]  # fmt: skip

#: What somebody pasted, and the query in it.
PASTED = {
    '?limit=9&resources1=X:1': 'limit=9&resources1=X:1',
    'curl "http://c/allocation_candidates?resources=X:1&limit=9#x"': 'resources=X:1&limit=9',
    'in_tree=u': 'in_tree=u',
    'member_of_A-1=u&root_required=T': 'member_of_A-1=u&root_required=T',
    'VCPU:4': 'resources=VCPU:4',
    'VCPU=4, MEMORY_MB=8': 'resources=VCPU:4,MEMORY_MB:8',
    '{"flavor": {"vcpus": 4, "extra_specs": {"trait:T": "required"}}}': None,
    '{"vcpus": 4, "ram": 8, "disk": 0, "swap": "2", "properties": {"trait:T": "forbidden",'
    ' "resources1:V": "1", "group_policy": "none", "hw:numa_nodes": "2"}}': (
        'resources=VCPU:4,MEMORY_MB:8,DISK_GB:1&resources1=V:1&required=!T&group_policy=none'
        '&root_required=!COMPUTE_STATUS_DISABLED'
    ),
    'openstack allocation candidate list --resource VCPU=4 --resource X=1 --forbidden T'
    ' --group 1 --resource Y=2 --member-of a,b': (
        'resources=VCPU:4,X:1&required=!T&resources1=Y:2&member_of1=in:a,b'
    ),
    '': None,
}


def test_queries_are_read_and_changed(browser: Browser, demo: str) -> None:
    browser.open(f'{demo}/ui/')

    def call(name: str, *given: Any) -> Any:
        module = './pasted.js' if name == 'pasted' else './query.js'
        script = 'return (await import(arguments[0]))[arguments[1]](...arguments[2])'
        return browser.run(script, module, name, given)

    for query, reason, name, left, others in RELAXATIONS:
        condition = {'reason': reason, 'names': [name], 'suffix': '', 'asked': None, **others}
        found = call('relaxed', query, [condition], others.get('largest'))
        assert found == left, (query, reason)
    assert {text: call('pasted', text) for text in PASTED} == PASTED


def test_a_query_is_pasted_or_written_with_a_form(browser: Browser, demo: str) -> None:
    enter(browser, demo)
    show(browser, 'why')
    browser.type('#query', f'GET "http://cloud:8778/allocation_candidates?{FULL}" HTTP/1.1')
    browser.type('#provider', 'az2-cpu-117')
    browser.click('.question button[type=submit]')
    browser.wait(READY['answer'])
    assert browser.text('.verdict-words').startswith('No: az2-cpu-117 is disabled')
    assert 'Forbidden trait COMPUTE_STATUS_DISABLED' in browser.text('.verdict .card')

    browser.run('document.querySelector("details").open = true')
    browser.type('#form-cpus', '2')
    browser.type('#form-traits', 'HW_CPU_X86_AVX2')
    assert browser.run('return document.querySelector("#query").value') == (
        'resources=VCPU:2&required=HW_CPU_X86_AVX2'
    )


def test_no_query_is_told_and_a_refusal_says_why(browser: Browser, demo: str) -> None:
    enter(browser, demo)
    show(browser, 'why')
    browser.type('#query', 'm1.large')
    browser.click('.question .main-button')
    wait_for(browser, '.question .refusal', 'no query in this')
    assert browser.run('return document.querySelector("#query").value') == 'm1.large'

    # The request by which nova asked leads to what it asked for.
    browser.type('#query', 'ERROR [req-3b0f44ac-0000-4000-8000-000000000003 admin]')
    browser.click('.question .main-button')
    browser.wait('document.querySelector("#unmet")?.innerText.includes("this request")')
    assert browser.text('.question .refusal') == ''
    assert browser.run('return document.querySelectorAll(".unmet a").length') == 1
    browser.click('.unmet a')
    browser.wait(READY['answer'])

    browser.type('#query', 'NO_SUCH:1')
    browser.click('.question .main-button')
    browser.wait('document.querySelector(".refusal")')
    assert browser.text('.refusal').endswith('No such resource class NO_SUCH.')


@pytest.mark.parametrize(
    ('size', 'dark'), [(WIDE, False), (NARROW, True)], ids=['wide-light', 'narrow-dark']
)
def test_axe_finds_nothing(
    browser: Browser, demo: str, size: tuple[int, int], dark: bool, tmp_path: pathlib.Path
) -> None:
    axe = pathlib.Path(os.environ['PLACEMENT_TEST_AXE']).read_text()
    browser.look(*size, dark=dark)
    # The policy of the page lets nobody look into it; the rules do not depend on it.
    browser.command('Page.setBypassCSP', enabled=True)
    try:
        open_page(browser, demo)
        violations = {'token': violated(browser, axe)}
        enter(browser, demo)
        for name in VIEWS:
            show(browser, name)
            violations[name] = violated(browser, axe)
            browser.screenshot(tmp_path / f'{name}.png')
            assert browser.run('return document.documentElement.scrollWidth') <= size[0], name
    finally:
        browser.command('Page.setBypassCSP', enabled=False)
    assert json.dumps({name: found for name, found in violations.items() if found}) == '{}'


def violated(browser: Browser, axe: str) -> list[Any]:
    if not browser.run('return "axe" in window'):
        browser.run(axe)
    found: list[Any] = browser.run(
        'return axe.run().then(({violations}) => violations.map((one) =>'
        ' [one.id, one.nodes.map((node) => node.target.join(" ") + ": " + node.failureSummary)]))'
    )
    return found


def test_the_switch_changes_the_colours(cloud: Browser) -> None:
    colour = 'return getComputedStyle(document.documentElement).backgroundColor'
    system = cloud.run(colour)
    cloud.click('#theme')
    light = cloud.run(colour)
    cloud.click('#theme')
    assert system == light != cloud.run(colour)


def test_the_whole_map_is_printed(cloud: Browser) -> None:
    # So small that not all is seen at once.
    cloud.look(390, 500)
    # The layout may change after the first picture; the canvas follows in the next frame.
    as_tall_as_seen = (
        'document.querySelector("canvas").height === document.querySelector(".map").clientHeight'
    )
    cloud.wait(as_tall_as_seen)
    seen = cloud.run('return document.querySelector("canvas").height')
    cloud.run('window.dispatchEvent(new Event("beforeprint"))')
    printed = cloud.run('return document.querySelector("canvas").height')
    whole = cloud.run('return document.querySelector(".sheet").offsetHeight')
    assert seen < printed == whole
    cloud.run('window.dispatchEvent(new Event("afterprint"))')
    cloud.wait(as_tall_as_seen)
    assert len(cloud.command('Page.printToPDF', printBackground=True)['data']) > 10_000


NAMES = (
    '<img src=x onerror="window.attacked=1">',
    '"><script>window.attacked=1</script>',
    '<svg onload=window.attacked=1>',
    '${window.attacked=1}{{constructor.constructor("window.attacked=1")()}}',
    'javascript:window.attacked=1',
)


def test_names_are_texts_and_nothing_else(browser: Browser, demo: str) -> None:
    build(demo, *(Provider(name, {'VCPU': 1}) for name in NAMES))
    try:
        enter(browser, demo)
        browser.wait(READY['map'])
        browser.type('#search', 'attacked')
        browser.wait(f'document.querySelectorAll("tbody tr").length === {len(NAMES)}')
        for name in NAMES:
            assert name in browser.text('tbody')
        browser.click('tbody a')
        browser.wait('document.querySelector(".box")')
        for name in NAMES:
            browser.run('location.hash = arguments[0]', f'#/host/{clouds.uuid_of(name)}')
            browser.wait(f'document.querySelector(".box h2")?.textContent === {json.dumps(name)}')
        browser.run('location.hash = "#/why?resources=VCPU:64&required=<img src=x>"')
        browser.wait('document.querySelector(".refusal")')
        assert browser.run('return window.attacked ?? null') is None
        assert browser.run('return document.querySelectorAll("main img, main script").length') == 0
    finally:
        delete(demo, *NAMES)
    assert [line for line in browser.log() if 'Content Security Policy' in line] == []


def test_scripts_of_others_are_forbidden_on_the_page(cloud: Browser) -> None:
    """Attacks that the policy stops even if the page had a hole."""
    markup = cloud.run(
        'try { document.body.innerHTML = "<b>x</b>"; return "done" }'
        ' catch (error) { return error.name }'
    )
    assert markup == 'TypeError'
    cloud.run(
        'const image = new Image(); image.src = "http://127.0.0.2:1/leak";'
        ' document.body.append(image)'
    )
    assert 'img-src' in '\n'.join(cloud.log())
    refused = cloud.run(
        'return fetch("http://127.0.0.2:1/").then(() => "sent", (error) => error.name)'
    )
    assert refused == 'TypeError'
    assert 'connect-src' in '\n'.join(cloud.log())


def test_pages_of_others_can_neither_frame_nor_read_it(browser: Browser, demo: str) -> None:
    for path in ('/ui/', '/ui/app.js', '/insight/providers'):
        read, _sent, ran, seen = tried_by_foreign_page(browser, demo + path, f'{demo}/ui/')
        assert (path, read, ran, seen) == (path, 'TypeError', 'error', 0)
        log = '\n'.join(browser.log())
        assert 'frame-ancestors' in log or 'X-Frame-Options' in log


def test_ten_thousand_hosts(browser: Browser, tmp_path: pathlib.Path) -> None:
    """Four pages that are opened at once read them in ten requests each, whatever providers each
    host has, and none gives up. Their documents stay small: frames are short."""
    with ui_services.cloud_of_hosts(tmp_path, HOSTS) as url, contextlib.ExitStack() as stack:
        others = [
            stack.enter_context(Browser(tmp_path / f'profile{number}')) for number in range(3)
        ]
        for page in (browser, *others):
            enter(page, url)
        for page in (browser, *others):
            page.wait(f'document.querySelector(".count span").textContent === "{HOSTS:,} hosts"')
        elements = browser.run('return document.querySelectorAll("*").length')
        answered = [_answered_pages(page) for page in (browser, *others)]
    assert elements < HOSTS / 10
    for addresses in answered:
        assert len(addresses) == HOSTS / 1000
        # No page is of an earlier moment than the first.
        assert all('not_before=' in address for address in addresses[1:])


def _answered_pages(browser: Browser) -> list[str]:
    """The addresses of the pages of hosts that were answered."""
    addresses: list[str] = browser.run(
        'return performance.getEntriesByType("resource")'
        '.filter((one) => one.responseStatus === 200 && one.name.includes("/insight/providers"))'
        '.map((one) => one.name)'
    )
    return addresses
