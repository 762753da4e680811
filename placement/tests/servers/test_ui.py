# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium: each view, attacks on it, and a cloud of 10,000 hosts."""

import contextlib
import json
import os
import pathlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from placement.tests.databases.acknowledged_claims import HttpSender
from placement.tests.functional.fixtures import applications, clouds
from placement.tests.functional.fixtures.client import Client
from placement.tests.functional.fixtures.clouds import Provider
from placement.tests.servers import installation, ui_services
from placement.tests.servers.browser import Browser
from placement.tests.waiting import wait_until
from placement_insight.demo_cloud.cloud import uuid_of

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
    'drained': '#/what-if?step=drain&hosts=az4-cpu-089,az3-numa-088&ask=1',
    'promises': '#/promises',
}
LIVE = 'document.querySelector("#activity").innerText.startsWith("live")'
# A view is drawn in the frame after the activity is shown.
ALL_DRAWN = f'{LIVE} && !document.querySelector(".count").innerText.includes("so far")'
# No answer is awaited before a frame nor after it, so that nothing moves before a click.
SETTLED = (
    '(await import("./api.js")).activity.count === 0 && await new Promise(requestAnimationFrame)'
    ' && (await import("./api.js")).activity.count === 0'
)
SIX_SENTENCES = 'document.querySelectorAll(".sentence").length === 6'
# What says that a view has all that it is going to have.
READY = {
    'overview': '[...document.querySelectorAll("td.fit")]'
    '.filter((one) => one.innerText !== "…").length === 28'
    ' && document.querySelectorAll(".holders li").length === 8'
    ' && document.querySelector("#hosts-map").innerText === "Where does m1.small fit?"',
    'map': f'document.querySelectorAll("tbody tr").length > 20 && {ALL_DRAWN}',
    'fit': f'document.querySelector("tbody").innerText.startsWith("az4-cpu") && {ALL_DRAWN}',
    'host': 'document.querySelector("tbody")?.innerText.includes("project-web")',
    'shared': 'document.querySelector("#sharing") && document.querySelector("#consumers")',
    'holders': 'document.querySelectorAll("tbody tr").length > 8',
    'held': 'document.querySelector("#held")',
    'changes': 'document.querySelector("#minutes")',
    'what if': 'document.querySelector("#losses")',
    'drained': 'document.querySelector("#drained")',
    'promises': 'document.querySelectorAll("tbody").length === 2',
    'why': 'document.querySelector("#unmet")',
    'answer': 'document.querySelector("#capacity ~ * .tile")',
}


@pytest.fixture(scope='module')
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ui_services.demonstration(tmp_path_factory.mktemp('demo')) as url:
        yield url


@pytest.fixture
def untouched_demo(tmp_path: pathlib.Path) -> Iterator[str]:
    """A demo without hosts that another test deletes: the room before that is not known."""
    with ui_services.demonstration(tmp_path) as url:
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
    # A service that is busy with another view is asked again.
    assert [line for line in browser.log() if 'status of 503' not in line] == []


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
    # Nothing is waited for behind the message, whose remedy stands beside it.
    browser.wait('document.querySelector(".count span").textContent === ""')
    assert browser.text('#complaint button') == 'Use another token'
    browser.click('#complaint button')
    give_token(browser)
    browser.wait(READY['map'])


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


def wait_for_log(browser: Browser, *words: str) -> list[str]:
    """The entries of the console until one has some of the words; they may come late."""
    entries: list[str] = []

    def has_words() -> bool:
        entries.extend(browser.log())
        return any(word in entry for word in words for entry in entries)

    wait_until(has_words, lambda: entries)
    return entries


def answered(browser: Browser, words: str) -> list[str]:
    """The addresses with these words that were answered: a busy service is asked again."""
    addresses: list[str] = browser.run(
        'return performance.getEntriesByType("resource")'
        '.filter((one) => one.responseStatus === 200 && one.name.includes(arguments[0]))'
        '.map((one) => one.name)',
        words,
    )
    return addresses


def test_first_view_says_what_is_wrong(browser: Browser, demo: str) -> None:
    enter(browser, demo, hash='')
    browser.wait(READY['overview'])
    browser.wait(SIX_SENTENCES)
    sentences = browser.text('.sentences')
    for words in (
        '2 inventories over capacity',
        'az3-numa-022-node1 by 104 GiB memory',
        'az1 is full',
        'only a disabled host has room',
        '3 hosts disabled',
        '512 vCPU and 2 TiB memory free on them',
        '1 promise is broken',
        'whole-numa-node: room for 3 of 4, 1 short',
        'gpu-lab: room for 467 of 458, 9 to spare',
        '13 migrations hold resources',
        '; the oldest was created ',
        '6 searches found no candidates',
        '1 of which never fits',
        'CUSTOM_GPU_NVIDIA_AA40 does not exist',
    ):
        assert words in sentences
    # How long ago, with the time itself beside the pointer.
    words, title = browser.run(
        'const time = document.querySelector(".sentences time");'
        ' return [time.innerText, time.title]'
    )
    assert re.fullmatch(r'\d+ days ago', words)
    assert re.fullmatch(r'\d{4}-\d\d-\d\d \d\d:\d\d UTC', title)
    # As the file of the operator names zones and flavors.
    zones = ' '.join(browser.text('.zones').split())
    # What is free on disabled hosts is left out, as in the sentence; and what a zone has none of
    # is no alarm.
    assert 'memory at 100 %' in sentences
    assert re.search(
        r'az1 250 0 0 \N{EN DASH} \N{EN DASH} 91 % 3,052 free 100 % 0 MiB free .* az2', zones
    ), zones
    assert browser.run('return document.querySelectorAll(".zones .fit .alarm").length') == 2
    assert 'm1.large fit' in zones
    # The disks of az2 are those of the pool that its hosts share.
    assert re.search(r'az2 250 [^%]* 67 % 12,124 free 73 % 37.2 TiB free \d+ %', zones), zones
    # Sums of all, and a zone that is a part of another one below that.
    assert re.search(r'Hosts .* Whole cloud 1,000 44,684 11,171 160 467 63 %', zones), zones
    rows = browser.run(
        'return [...document.querySelectorAll(".zones tbody tr")]'
        '.map((row) => [row.cells[0].innerText, row.className])'
    )
    assert rows == [
        ['Whole cloud', 'whole'], ['az1', ''], ['az2', ''], ['az3', ''],
        ['az3 / pinned', 'within'], ['az4', ''], ['az4 / gpu', 'within'],
    ]  # fmt: skip
    assert browser.run(
        'return document.querySelector(".zones thead th:nth-child(8)").innerText'
    ) == ('Memory')
    assert browser.run('return document.querySelector("[title=MEMORY_MB]").innerText') == 'Memory'
    assert browser.text('.holders li').split() == ['project-mail', '11,512', '·', '955']
    assert 'never fits' in browser.text('.unmet')


def test_an_empty_cloud_and_one_without_problems_are_told(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    with ui_services.below_prefix(tmp_path, '/placement') as url:
        browser.open(f'{url}/ui')
        assert browser.run('return location.pathname') == '/placement/ui/'
        for view in ('overview', 'map'):
            enter(browser, url, hash=f'#/{view}')
            wait_for(browser, 'main', 'no resource providers in this cloud yet')
        # As the operator calls it.
        assert browser.text('#cloud') == 'East'
        build(url, Provider('below-a-prefix'))
        wait_for(browser, 'tbody', 'below-a-prefix')
        browser.run('location.hash = "#/overview"')
        wait_for(browser, '.sentence', 'Nothing is wrong')
        wait_for(browser, '.card', 'There are no allocations.')
        assert 'consumers' not in browser.text('.card')


def test_colours_of_the_small_map_keep_their_meaning_while_it_is_read(
    browser: Browser, demo: str
) -> None:
    open_page(browser, demo)
    browser.run('window.kept = window.fetch')
    change(browser, '/insight/capacity', 'await new Promise(() => {});')
    give_token(browser)
    browser.wait(SIX_SENTENCES)
    assert browser.text('#hosts-map') == 'Where does m1.small fit?'
    assert browser.text('.legend').startswith('none fits')
    # No colour is used before its value is known.
    steps = (
        'new Set(document.querySelector("heat-map").groups.flatMap(({roots}) =>'
        ' roots.map((root) => document.querySelector("heat-map").behaviour.look(root).step)))'
    )
    assert browser.run(f'return [...{steps}]') == [None]


def test_many_aggregates_are_zones_by_name_or_the_largest_and_others(
    browser: Browser, demo: str
) -> None:
    browser.open(f'{demo}/ui/')
    script = """
        const {groupsOf, labelsOf, zonesOf} = await import("./cloud.js");
        const [named, azs] = arguments;
        const roots = Array.from({length: 400}, (_, number) =>
          ({name: `host-${number}`,
            aggregates: [`rack${number % 200}`, number % 2 ? 'odd' : 'even']}));
        const names = {aggregates: new Map(named), zones: new Map(azs)};
        const zones = zonesOf(roots, names, labelsOf(roots, names.aggregates));
        return groupsOf(roots, zones).map(({label, roots, within}) =>
          [label, roots.length, within]);
    """
    groups = browser.run(script, [['odd', 'Odd hosts']], [])
    assert groups == [['Odd hosts', 200, ''], ['Others', 200, '']]
    # Without names those with most hosts, and the availability zones before them.
    groups = browser.run(script, [], [['rack7', 'az7']])
    assert len(groups) == 48
    assert [group[1] for group in groups if group[2] == ''] == [200, 200]
    assert {group[1] for group in groups if group[2] != ''} == {2}
    assert browser.run(script, [['rack7', 'Rack 7'], ['odd', 'Odd']], []) == [
        ['Odd', 200, ''], ['Rack 7', 2, 'odd'], ['Others', 200, ''],
    ]  # fmt: skip


def test_names_that_do_not_exist_are_told(browser: Browser, demo: str) -> None:
    open_page(browser, demo)
    unknown = (
        'const found = await answer.json();'
        ' const one = {kind: "trait", name: "CUSTOM_GONE", times: 3, last_at: "2026-01-01T00:00"};'
        ' answer = Response.json({...found, unknown_names: [one]});'
    )
    change(browser, '/insight/unmet_demand', unknown)
    give_token(browser)
    wait_for(browser, '.unknown-names', 'in searches: trait CUSTOM_GONE (3 searches)')
    assert '; CUSTOM_GONE does not exist' in browser.text('.sentences')


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
    assert {'vCPU', 'Memory', 'vGPU'} <= set(cloud.text('.tiles').split())
    assert 'free on disabled hosts' in cloud.text('.tile')
    # Classes have one order everywhere.
    names = cloud.run(
        'return [...document.querySelectorAll(".tile-name")].map((one) => one.innerText)'
    )
    assert names == ['vCPU', 'Memory', 'Disk', 'PCPU', 'SR-IOV VF', 'vGPU']
    words = cloud.run('return document.querySelector("heat-map").groups.map((one) => one.words)')
    # A pool is no host, nor in a zone; and the same part of az1 is used as on the overview.
    assert words[0] == '250 hosts · memory 100 % used'
    assert words[1].startswith('250 hosts · memory 73 %')
    assert words[-1] == '1 sharing provider · disk 43 % used'

    cloud.type('#search', 'gpu')
    wait_for(cloud, '.count', '60 of 1,000 hosts')
    cloud.type('#search', ' ')
    wait_for(cloud, '.count', '1,000 hosts, 1 sharing')
    cloud.click('.attention')
    wait_for(cloud, '.count', '2 of')
    rows = cloud.text('tbody')
    assert 'GiB on az3-numa-022-node1' in rows
    # What is used is that of the whole tree; one inventory over capacity is named beside it.
    assert re.search(r'az3-numa-061[^%]*\s119 % memory', rows), rows
    choose(cloud, 'class', 'MEMORY_MB')
    wait_for(cloud, 'thead', 'Memory used')
    assert re.search(r'az3-numa-022[^%]*\s97 %', cloud.text('tbody')), cloud.text('tbody')
    choose(cloud, 'class', '')
    # The words break, so that the figures stay in view.
    alarm = 'getComputedStyle(document.querySelector("tbody .alarm"))'
    assert cloud.run(f'return {alarm}.maxWidth') != 'none'

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
    cloud.click('thead th:nth-child(3) button')
    cloud.wait('document.querySelector("[aria-sort=descending]")?.innerText.includes("Free vCPU")')
    first = cloud.text('tbody th')
    cloud.click('thead th:nth-child(3) button')
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
    address = cloud.run('return location.hash')
    assert address == '#/map?hosts=' + ','.join(
        uuid_of(name)[:8] for name in ('az1-cpu-001', 'az1-cpu-002')
    )
    cloud.run(
        'const map = document.querySelector(".map");'
        ' const {left, top} = document.querySelector("canvas").getBoundingClientRect();'
        ' const send = (type, x, y, buttons) => map.dispatchEvent(new PointerEvent(type,'
        ' {clientX: left + x, clientY: top + y, buttons, button: 0, bubbles: true}));'
        ' send("pointerdown", 2, 30, 1); send("pointermove", 50, 35, 1);'
        ' send("pointerup", 50, 35, 0)'
    )
    wait_for(cloud, '.hosts h2', '5 hosts selected')
    cloud.click('.hosts .small')
    wait_for(cloud, '.hosts h2', 'Hosts')
    # Whoever is sent the link has the same selection.
    cloud.run('location.hash = "#/overview"')
    cloud.wait('document.querySelector("placement-overview")')
    cloud.run('location.hash = arguments[0]', address)
    wait_for(cloud, '.hosts h2', '2 hosts selected')
    assert cloud.text('tbody').startswith('az1-cpu-001')


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
    # Asked again after 3 to 6 seconds, so that it is seen.
    busy = 'new Response("{}", {status: 503, headers: {"Retry-After": "20"}})'
    change(browser, '/insight/providers', f'if (!window.isBusy--) answer = {busy};')
    browser.run('window.isBusy = 0')
    give_token(browser)
    wait_for(browser, '#activity', 'Reading …')
    wait_for(browser, '.count span', 'Reading the cloud …')
    wait_for(browser, '#activity', 'Service busy')
    shown = browser.wait(
        'document.querySelector(".count").innerText.includes("so far")'
        ' && [".tiles", "#complaint"].map((one) => document.querySelector(one)?.innerText ?? "")'
    )
    # Sums of a part would look like those of the cloud.
    assert shown == ['', '']
    browser.wait(ALL_DRAWN)
    assert browser.text('.tiles')

    # What was read before stays, with its age, and the message goes when the service is back.
    browser.run('window.kept = window.fetch')
    change(browser, '/insight/changes', 'answer = await Promise.reject(new TypeError());')
    wait_for(browser, '#complaint', 'does not answer')
    # Of a token that was good nothing is guessed; times are UTC; no green is beside it.
    assert re.fullmatch(
        r'The service does not answer\. All data is as of'
        r' \d\d:\d\d:\d\d UTC\.\s+Retry',
        browser.text('#complaint'),
    )
    assert browser.text('#activity').startswith('as of ')
    assert browser.run('return document.querySelector("#activity .dot").className') == 'dot stale'
    assert browser.text('.count span').startswith('1,000 hosts')
    # Not before the click, since the page also tries again by itself.
    browser.run(
        'document.querySelector("#complaint").addEventListener("click",'
        ' () => { window.fetch = window.kept; }, {capture: true, once: true})'
    )
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
    assert len(answered(cloud, '/insight/providers?')) == 2


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
    browser.reload()
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
    assert cloud.run('return document.querySelector("placement-search input").value') == ''


class Task(NamedTuple):
    """A question of an operator, from the overview.

    Each of the `steps` is a click, given the selector of an element, or a field that is filled in
    and sent off, given that and the text. The answer has some `words` in the element `place`.
    """

    question: str
    steps: Sequence[str | tuple[str, str]]
    place: str
    words: str


def search(text: str) -> tuple[str, str]:
    return 'placement-search input', text


TASKS = [
    Task('Is the cloud full? Where, in which zone, of which class?', (), '.zones', '100 %'),
    Task('How many more m1.large fit, in each zone?', (), '.zones', 'm1.large fit'),
    Task('Which searches found nothing, by which request?', (), '.unmet', 'req-3b0f44ac-'),
    Task(
        'Which projects have most, and what does one of them have?',
        ['.holders li a'], '#held', '955 consumers',
    ),
    Task(
        'What is over its capacity, and how far?',
        ['.sentence[href*="show=over"]'], 'tbody', 'memory 224 GiB of 120 GiB',
    ),
    Task(
        'Which hosts are disabled, and what is free on them?',
        ['.sentence[href*="show=disabled"]'], '.count', '3 of 1,000 hosts',
    ),
    Task(
        'Why did this request of nova (``req-…``) find no host?',
        [search('req-3b0f44ac-0000-4000-8000-000000000003')], '.relaxations', 'asking for vGPU',
    ),
    Task(
        'What does a host have, and who holds it, since when?',
        [search('az3-numa-022')], 'placement-host tbody', 'project-web',
    ),
    Task('On which host is this server?', [search('{server}')], 'h1', 'az4-cpu-001'),
    Task(
        'What has changed in the last hour?',
        ['[data-view=changes]'], 'tbody', 'nova-compute-az3-numa-014',
    ),
    Task(
        'What happened to this host?',
        [search('az4-cpu-087'), '[href*="tab=history"]'], 'tbody', 'nova-compute-az4-cpu-087',
    ),
    Task(
        'Why does a request fit nowhere, and what would help?',
        ['[data-view=why]', ('#query', FULL), '.question .main-button'],
        '.relaxations', 'COMPUTE_STATUS_DISABLED',
    ),
    Task(
        'Which promise of room is broken, and by whom?',
        ['.sentence[href*="promises"]'], '#takers + .scroll tbody', 'nova-compute-az3-numa-014',
    ),
    Task(
        'Which hosts must not fail?',
        ['[data-view=what-if]', '.question .button'], '#losses', '2 of 996 must not fail',
    ),
    Task(
        'Where do the servers of two hosts go that I empty tonight?',
        ['[data-view=what-if]', '.question [href*=drain]', ('#host', 'az4-cpu-089 az4-cpu-090')],
        '#drained', 'All 6 consumers find a place',
    ),
]  # fmt: skip


@pytest.fixture(scope='module')
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a history, which has three hosts."""
    with ui_services.below_prefix(tmp_path_factory.mktemp('history'), '/placement') as url:
        # Within a minute, by which the page groups changes.
        wait_until(lambda: time.time() % 60 < 50)
        build(url, *map(Provider, ('one', 'two', 'three')))
        yield url


@pytest.mark.parametrize('task', TASKS, ids=[task.question for task in TASKS])
def test_a_question_of_an_operator_takes_as_many_clicks_as_the_guide_says(
    browser: Browser, demo: str, task: Task
) -> None:
    enter(browser, demo, hash='')
    browser.wait(f'{READY["overview"]} && {SIX_SENTENCES}')
    for step in task.steps:
        if isinstance(step, str):
            browser.wait(f'{SETTLED} && document.querySelector({json.dumps(step)})')
            browser.click(step)
            continue
        field, text = step
        browser.type(field, text.format(server=_server_of(browser, 'az4-cpu-001')))
        if field.startswith('placement-search'):
            # Results for a part of the text may still be shown before that.
            browser.wait(f'{SETTLED} && document.querySelector("#found [aria-selected=true]")')
        if field != '#query':
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
    browser.wait('window.isLate && document.querySelector(".verdict h3")')
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
    assert 'az3-numa-022-node1 is over capacity by 104 GiB memory' in browser.text('.refusal')
    assert '7 consumers of 5 projects' in browser.text('.facts')
    assert len(answered(browser, '/insight/consumers?')) == 1

    # All allocations of a consumer are highlighted: on a NUMA node, its card, and the root.
    lit = 'return document.querySelectorAll(".piece.lit").length'
    browser.run('document.querySelector(".box .box .box .piece").click()')
    wait_for(browser, '[aria-pressed=true]', '-')
    assert browser.run(lit) == 4
    browser.wait(SETTLED)
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
    3: 'No changes since',
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
    assert {'Consumers', 'vCPU ▾', 'Memory'} <= set(browser.text('thead').split('\t'))
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
    # The view is the same as before, so that it may still show what was chosen.
    browser.run('location.hash = arguments[0]', VIEWS['held'])
    browser.wait('document.querySelector("#held")?.innerText === "35 consumers"')
    # The names of their hosts come later.
    browser.wait(SETTLED)
    browser.click('tbody td a')
    wait_for(browser, '[aria-pressed=true]', '-')


def test_hosts_that_must_not_fail_are_outlined_and_unplaced_servers_listed(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash='#/what-if')
    # The view says what it can do, and has two examples.
    browser.wait(f'{LIVE} && document.querySelectorAll(".question .button").length === 3')
    assert browser.text('.question').split('\n')[-2:] == [
        'What if az1 fails?', 'Drain some hosts',
    ]  # fmt: skip
    browser.click('.question .button')
    wait_for(browser, '#losses', 'must not fail')
    assert browser.text('.question') == ''
    assert browser.text('#losses').startswith('2 of ')
    assert 'Outlined in red: 2 hosts' in browser.text('.answer')
    assert {'az3-numa-088', 'az4-gpu-042'} <= set(browser.text('tbody').split())
    assert 'most free' in browser.text('tbody')
    browser.click('tbody td a')
    wait_for(browser, '[aria-pressed=true]', '-')
    # A zone is chosen by its name; what was answered before is not about it.
    browser.run('history.back()')
    wait_for(browser, '#losses', 'must not fail')
    choose(browser, 'zone', uuid_of('az4'))
    browser.wait('document.querySelector("#ask") && !document.querySelector("#losses")')
    # What is not survived comes first, then names in their order.
    hosts = ','.join(map(uuid_of, ('az2-cpu-002', 'az2-cpu-001', 'az3-numa-088')))
    browser.run('location.hash = arguments[0]', f'#/what-if?hosts={hosts}&ask=1')
    wait_for(browser, '#losses', '1 of 3 must not fail')
    lost = browser.run(
        'return [...document.querySelectorAll("tbody th")].map((one) => one.innerText)'
    )
    assert lost == ['az3-numa-088', 'az2-cpu-001', 'az2-cpu-002']


AZ4 = uuid_of('az4')
#: Choices, and the commands that ask the same; the shell gets nothing of an address to run.
COMMANDS = {
    f'zone={AZ4}': f'openstack placement survival show --lose @{AZ4}',
    'zone=x;id': "openstack placement survival show --lose '@x;id'",
    f'step=remove&zone={AZ4}&fit=VCPU:4': 'openstack placement capacity show --query'
    f" 'resources=VCPU:4&root_required=!COMPUTE_STATUS_DISABLED' --remove @{AZ4}",
    'step=ratio&zone=z&class=$(id)&fit=VCPU:4': 'openstack placement capacity show --query'
    " 'resources=VCPU:4&root_required=!COMPUTE_STATUS_DISABLED' --ratio '$(id)=4@z'",
}


def test_commands_ask_what_the_page_asks(browser: Browser, demo: str) -> None:
    enter(browser, demo, hash='#/what-if?each=zones')
    copied = 'document.querySelector(".copies pre")?.textContent'
    domains = json.loads(browser.wait(copied).split("<<'END'\n")[1].split('\nEND\n')[0])
    assert domains['az4'] == f'@{AZ4}'
    assert len(domains) == 6
    for choice, command in COMMANDS.items():
        browser.run('location.hash = arguments[0]', f'#/what-if?{choice}')
        browser.wait(f'{copied} === {json.dumps(command)}')


def test_capacity_is_shown_before_and_after_a_scenario_that_can_be_copied(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash='#/what-if?step=copy&count=3')
    wait_for(browser, '#incomplete', 'Choose a host to copy.')
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
    question = json.loads(body)
    assert question['scenario'] == [{'add': {'like': uuid_of('az4-cpu-001'), 'count': 3}}]
    assert command.splitlines() == [
        line
        for name, query in question['requests'].items()
        for line in (
            f'# {name}',
            f"openstack placement capacity show --query '{query}' --add az4-cpu-001=3",
        )
    ]

    choose(browser, 'step', 'ratio')
    choose(browser, 'ratio', '0.01')
    browser.wait('document.querySelector("#ask")')
    browser.click('#ask')
    wait_for(browser, '#over', '1 provider over capacity after the change')
    # What cannot be is refused in words, where the answer would be.
    choose(browser, 'ratio', '1e39')
    browser.wait('document.querySelector("#ask")')
    browser.click('#ask')
    wait_for(browser, '.answer', 'greater than the maximum')
    entries = wait_for_log(browser, 'status of 400')
    # A service that is busy with another question is asked again.
    assert len([entry for entry in entries if 'status of 503' not in entry]) == 1


def test_what_has_changed_is_told_though_the_history_is_off(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    options = {('history', 'enabled'): False}
    with ui_services.below_prefix(tmp_path, '/placement', options) as url:
        build(url, Provider('old-host'))
        enter(browser, url)
        wait_for(browser, 'tbody', 'old-host')
        browser.run('location.hash = "#/host/old-host?tab=history"')
        wait_for(browser, 'placement-host', '[history] enabled is false')
        browser.run('location.hash = "#/changes"')
        browser.wait('document.querySelector("#hour")')
        assert '[history] enabled is false' in browser.text('.refusal')
        assert 'openstack placement change list --since 1h' in browser.run(
            'return document.querySelector(".copies pre").textContent'
        )
        build(url, Provider('new-host'), Provider('short-lived'))
        # Both, since the page shows no deletion of a provider that it has not read.
        browser.wait(
            'document.querySelector("tbody")?.innerText.split("was created").length === 3'
        )
        body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}}
        path = f'/resource_providers/{clouds.uuid_of("new-host")}/inventories'
        assert HttpSender(url).send('PUT', path, body).status == 200
        delete(url, 'short-lived')
        wait_for(browser, 'tbody', '8 vCPU added')
        wait_for(browser, 'tbody', 'was deleted')
        browser.run('location.hash = "#/holders"')
        wait_for(browser, 'h1', 'Holders')
        browser.run('location.hash = "#/changes"')
        wait_for(browser, '#hour', 'In the hour before, 3 providers changed')
        assert browser.text('[aria-labelledby=hour] tbody').splitlines() == [
            f'{clouds.uuid_of("short-lived")}\tdeleted',
            'new-host\tnew-host',
            'old-host\told-host',
        ]


def test_the_history_is_shown_by_minute_action_and_caller(browser: Browser, history: str) -> None:
    enter(browser, history, hash='#/changes')
    wait_for(browser, '#minutes', '3 rows of ')
    assert 'created\tadmin\t3\tthree, two, one' in browser.text('tbody')
    browser.click('tbody td a')
    wait_for(browser, 'placement-host .facts', 'created by admin')
    browser.run('location.hash = "#/host/one?tab=history"')
    wait_for(browser, 'tbody', 'created')
    browser.click('tbody td:last-child a')
    wait_for(browser, '#minutes', '1 row')


def test_promises_are_shown_the_worst_first_and_red_is_for_broken_ones(
    browser: Browser, untouched_demo: str
) -> None:
    enter(browser, untouched_demo, hash='#/promises')
    browser.wait(READY['promises'])
    said = 'room for 4 became room for 3 when inventory was changed'
    browser.wait(f'document.querySelector("#summary")?.innerText.includes("{said}")')
    assert browser.text('#promises').startswith(
        '1 of 3 promises is broken, 1 is kept with little to spare.'
    )
    rows = browser.run(
        'return [...document.querySelectorAll("tbody")].map((one) =>'
        ' [...one.rows].map((row) => [...row.cells].map((cell) => cell.innerText)))'
    )
    assert [row[:5] for row in rows[0]] == [
        ['whole-numa-node', 'broken', '-1', '4', '3'],
        ['gpu-lab', 'tight', '9', '458', '467'],
        ['large-servers', 'kept', '6,007', '5,164', '11,171'],
    ]
    assert rows[0][0][5:] == ['244.1 GiB memory, 30 PCPU', '9 days ago by alice']
    assert browser.run('return document.querySelectorAll("main .alarm, .badge.bad").length') == 2
    assert browser.text('#promise') == 'whole-numa-node: room for 3 of 4, 1 short'
    # The newest change that took room, and those of which the history does not tell.
    changed = ['nova-compute-az3-numa-014', 'inventory changed', 'az3-numa-014']
    assert rows[1][0][1:] == [*changed, '1', '3']
    assert rows[1][-1][3:] == ['az3-numa-022', 'unknown', 'unknown']
    assert all('az3-numa' in row[3] for row in rows[1])
    # Another one is chosen with the keyboard.
    browser.run('document.querySelectorAll("tbody th a")[1].focus()')
    browser.press('Enter')
    wait_for(browser, '#promise', 'gpu-lab: room for 467 of 458, 9 to spare')
    wait_for(browser, '#takers', 'Latest changes that took room')
    browser.wait('document.querySelectorAll("#takers + .scroll tbody tr").length === 3')
    assert browser.text('.chosen-row').startswith('gpu-lab')
    browser.click('thead th:nth-child(1) button')
    browser.wait('document.querySelector("tbody th").innerText === "gpu-lab"')


def test_promises_that_are_not_decided_are_not_called_kept(browser: Browser, demo: str) -> None:
    open_page(browser, demo, '#/promises')
    states = r'/"state": "(broken|tight)"/g'
    undecided = f"""(await answer.text()).replaceAll({states}, '"state": "unknown"')"""
    change(browser, '/insight/promises', f'answer = new Response({undecided});')
    give_token(browser)
    wait_for(browser, '#promises', '1 of 3 promises is kept, 2 are not decided.')


def test_a_promise_of_what_does_not_exist_any_more_is_shown_with_the_reason(
    browser: Browser, tmp_path: pathlib.Path
) -> None:
    with ui_services.below_prefix(tmp_path, '/placement') as url:
        enter(browser, url, hash='#/promises')
        wait_for(browser, '#promises', 'There are no promises.')
        sender = HttpSender(url)
        sender.send('PUT', '/traits/CUSTOM_FOR_A_WHILE')
        request = 'resources=VCPU:1&required=CUSTOM_FOR_A_WHILE'
        body = {'request': request, 'count': 1}
        assert sender.send('PUT', '/insight/promises/any', body).status == 201
        assert sender.send('DELETE', '/traits/CUSTOM_FOR_A_WHILE').status == 204
        enter(browser, url, hash='#/promises')
        wait_for(browser, '#promise', 'any: room for 0 of 1, 1 short')
        assert browser.text('.refusal') == 'No such trait(s): CUSTOM_FOR_A_WHILE.'
        assert 'the room on disabled hosts is counted' in browser.text('section .quiet')
        assert browser.text('tbody').split('\t')[5] == '1 vCPU, CUSTOM_FOR_A_WHILE'


def test_servers_of_hosts_that_are_emptied_have_places_or_a_reason(
    browser: Browser, demo: str
) -> None:
    enter(browser, demo, hash='#/what-if?step=drain')
    wait_for(browser, '#incomplete', 'Choose hosts or a zone.')
    browser.type('#host', 'az4-cpu-089, nowhere')
    browser.press('Enter')
    wait_for(browser, '#status', 'There is no host nowhere.')
    browser.type('#host', 'az4-cpu-089 az3-numa-088')
    browser.press('Enter')
    wait_for(browser, '#drained', '1 of 5 consumers finds no place')
    assert browser.text('#moves') == '4 moves'
    rows = browser.text('tbody').splitlines()
    assert 'az3-numa-088\tnowhere' in rows[0]
    assert 'PCPU: 60 asked, most free 44 in one tree' in browser.text('.lacks')
    assert rows[-1].split('\t')[1] == 'az4-cpu-089'
    browser.run('document.querySelector(".copies").open = true')
    assert '"providers": [' in browser.text('.copies pre:last-of-type') + browser.text('.copies')


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
    assert browser.text('.verdict-words').startswith('Full now')
    # Once the cloud is read, aggregates have names.
    wait_for(browser, '.funnel > ol', 'Aggregate az1')
    # Of the conditions only those are shown that turn somebody away.
    assert browser.text('.funnel > ol').splitlines() == [
        'Has vCPU', '900 left, 101 lost',
        'Forbidden trait COMPUTE_STATUS_DISABLED for VCPU, MEMORY_MB',
        '897 left, 3 lost; 1 lacks only this',
        'Aggregate az1', '249 left, 648 lost; 638 lack only this',
        'Room for 16 GiB memory now (most free 0 GiB)',
        '0 left, 249 lost; 249 lack only this',
    ]  # fmt: skip
    assert browser.text('.funnel summary') == '7 conditions that reject no host'
    browser.click('.funnel summary')
    assert 'Room for 40 GiB disk when empty' in browser.text('.funnel details')
    assert browser.text('.verdict p') == (
        'No tree in aggregate az1 has 16 GiB memory free; the most is 0 GiB (of 249).'
    )
    # Those that are full come before the one that is disabled.
    assert 'az1-cpu-001' in browser.text('.reports')
    relaxations = browser.text('.relaxations')
    assert 'forbidden trait COMPUTE_STATUS_DISABLED' in relaxations
    # The disabled host that would serve it.
    assert re.search(r'\baz1-cpu-\d+\b', relaxations), relaxations
    assert browser.text('.answer .tile strong') == '0'
    zones = browser.run(
        'return [...document.querySelectorAll("#capacity ~ * tbody th")]'
        '.map((one) => one.innerText)'
    )
    # In order, those with none too.
    assert zones == ['az1', 'az2', 'az3', 'az3 / pinned', 'az4', 'az4 / gpu']


#: Texts of the service, and how they are shown: amounts have units, and counts have separators.
READABLE = {
    '3000 trees would fit with another amount of MEMORY_MB in group 2024: 884736 is the largest'
    ' now, on 1000 trees.': (
        '3,000 trees would fit with another amount of MEMORY_MB in group 2024: 864 GiB is the'
        ' largest now, on 1,000 trees.'
    ),
    'the unsuffixed group (VCPU:4,MEMORY_MB:16384): no tree left has 16384 MEMORY_MB free; the'
    ' most is 1000 (the last 1890 of 2870 trees examined, of 10010; before that: MEMORY_MB:'
    ' 16384 asked, largest 8192 (too small) 980)': (
        'the unsuffixed group (4 vCPU, 16 GiB memory): no tree left has 16,384 MiB memory free;'
        ' the most is 1,000 MiB (the last 1,890 of 2,870 trees examined, of 10,010; before that:'
        ' memory: 16 GiB asked, largest 8 GiB (too small) 980)'
    ),
    'group 20240001: no tree has trait CUSTOM_A (of 1000).': (
        'group 20240001: no tree has trait CUSTOM_A (of 1,000).'
    ),
    'no tree gives 1200 VCPU to one consumer; the most is 64, by max_unit (of 12).': (
        'no tree gives 1,200 vCPU to one consumer; the most is 64, by max_unit (of 12).'
    ),
    'no tree has what all groups ask for: 6000 have what group 1 (VGPU:1) asks for': (
        'no tree has what all groups ask for: 6,000 have what group 1 (1 vGPU) asks for'
    ),
    'Fits 1200 trees of 3000, 2 of them disabled (COMPUTE_STATUS_DISABLED): 20240001, 2025.': (
        'Fits 1,200 trees of 3,000, 2 of them disabled (COMPUTE_STATUS_DISABLED): 20240001, 2025.'
    ),
}


#: Amounts that are compared, and how they are shown: in one unit, with enough digits to differ.
COMPARED = [
    ('MEMORY_MB', [16_384, 0], ['16 GiB', '0 GiB']),
    ('MEMORY_MB', [250_000, 253_952], ['244.1 GiB', '248 GiB']),
    ('MEMORY_MB', [16_384, 16_380], ['16 GiB', '15.996 GiB']),
    ('DISK_GB', [40, 5_347], ['40 GiB', '5,347 GiB']),
    ('DISK_GB', [967_168, 4_500_000], ['944.5 TiB', '4,394.5 TiB']),
    ('MEMORY_MB', [1, 253_952], ['0 GiB', '248 GiB']),
    ('MEMORY_MB', [0, 0], ['0 MiB', '0 MiB']),
    ('VCPU', [1_000, 12], ['1,000', '12']),
]


def test_amounts_that_are_compared_have_one_unit(browser: Browser, demo: str) -> None:
    browser.open(f'{demo}/ui/')
    script = 'return (await import("./words.js")).inOneUnit(...arguments)'
    found = [(name, values, browser.run(script, name, values)) for name, values, _ in COMPARED]
    assert found == COMPARED


def test_texts_of_the_service_are_readable_and_names_stay(browser: Browser, demo: str) -> None:
    browser.open(f'{demo}/ui/')
    script = 'return (await import("./words.js")).readable(arguments[0])'
    assert {text: browser.run(script, text) for text in READABLE} == READABLE


def test_a_verdict_has_names_with_points_and_of_digits_as_they_are(
    browser: Browser, demo: str
) -> None:
    names = ('20240001', 'Rack 7. Upper 1000')
    large, disabled = {'VCPU': 1_000_000}, ('COMPUTE_STATUS_DISABLED',)
    build(demo, *(Provider(name, large, disabled) for name in names))
    try:
        enter(browser, demo, hash='#/why?resources=VCPU:500000')
        wait_for(browser, '.verdict-words', 'Fits')
        assert browser.text('.verdict p') == (
            '2 of them are disabled: 20240001, Rack 7. Upper 1000'
        )
    finally:
        delete(demo, *names)


def test_disabled_hosts_are_no_room(browser: Browser, demo: str) -> None:
    query = f'resources=VCPU:4,MEMORY_MB:16384&member_of={uuid_of("az1")}'
    enter(browser, demo, hash=f'#/why?{query}')
    browser.wait(READY['answer'])
    assert browser.text('.verdict-words').startswith('Fits only on disabled hosts')
    assert browser.text('.answer .tile strong') == '0'
    assert 'Enabled hosts only' in browser.text('section[aria-labelledby=capacity]')


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
    (smaller,) = [link for words, link in links if 'memory' in words]
    assert 'COMPUTE_STATUS_DISABLED' not in trait
    assert 'member_of' not in wider
    assert 'MEMORY_MB' not in smaller
    browser.run('document.querySelector(`.relaxations a[href="${arguments[0]}"]`).click()', wider)
    browser.wait('document.querySelector(".verdict-words")?.textContent.startsWith("Fits")')
    browser.run('location.hash = "#/why?resources=VCPU:400"')
    browser.wait(
        'document.querySelector(".relaxations")?.innerText === "900 trees with less vCPU;'
        ' 112 at most, on 3 112 on 3 44 on 460 4 on 900"'
    )
    browser.click('.relaxations a:nth-of-type(2)')
    browser.wait('document.querySelector(".verdict-words")?.innerText.includes("460 trees of")')
    group = 'resources{0}=MEMORY_MB:250000,PCPU:30&'
    query = f'{group.format(1)}{group.format(2)}group_policy=isolate'
    browser.run('location.hash = arguments[0]', f'#/why?{query}')
    browser.wait('document.querySelectorAll(".funnel").length === 3')
    assert 'for memory in group 2 and asking for PCPU in g' in browser.text('.relaxations')
    # Amounts that are compared are exact.
    assert 'Room for 244.1 GiB memory now (most free 248 GiB)' in browser.text('.funnels')


#: What the service answers, and what the page says then.
FAILURES = {
    'Response.json({errors: [{detail: "Off."}]}, {status: 404})': 'Off.',
    'new Response("{\\"now\\": ")': 'The response is truncated',
    'await Promise.reject(new TypeError())': 'The service does not answer',
}


@pytest.mark.parametrize('answer', FAILURES, ids=['off', 'cut', 'gone'])
def test_a_failure_is_told_where_the_answer_would_be(cloud: Browser, answer: str) -> None:
    change(cloud, '/insight/capacity', f'answer = {answer};')
    cloud.run('location.hash = arguments[0]', VIEWS['answer'])
    cloud.wait('document.querySelector("#capacity ~ * .refusal")')
    assert FAILURES[answer] in cloud.text('#capacity ~ *')
    assert cloud.text('.verdict-words').startswith('Full now')
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
    # A group that asks for nothing any more goes, also from the subtrees.
    ('resources1=X:1&resources2=Y:1&required3=A&same_subtree=1,3&same_subtree=2,1', 'subtree',
     '1,2', 'resources1=X:1&resources2=Y:1&required3=A&same_subtree=1,3', {'suffix': None}),
    ('resources1=X:1&resources2=Y:1&required3=A&same_subtree=3,1&same_subtree=2,1', 'subtree',
     '1,3', 'resources1=X:1&resources2=Y:1&same_subtree=2,1', {'suffix': None}),
    ('resources1=X:1&required3=A&same_subtree=3,1', 'required trait', 'A',
     'resources1=X:1&same_subtree=1', {'suffix': '3'}),
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
    # As that command joins them: one of several aggregates, or traits.
    'openstack allocation candidate list --resource X=1 --required A --required B,C --required D'
    ' --aggregate-uuid a --aggregate-uuid b': (
        'resources=X:1&required=A,D&member_of=in:a,b&required=in:B,C'
    ),
    '': None,
}


#: A flavor whose groups require the trait of nova's providers once all hosts have it.
OWNED = (
    '{"vcpus": 4, "ram": 8, "disk": 0,'
    ' "extra_specs": {"resources1:V": "1", "trait:T": "required"}}'
)


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
    amount = {'reason': 'used', 'names': ['X'], 'suffix': '', 'asked': 4}
    missing = {'reason': 'class missing', 'names': ['Z'], 'suffix': '', 'asked': None}
    # A pair has the amount that fits without the class.
    assert call('relaxed', 'resources=X:4,Z:1', [amount, missing], 3) == 'resources=X:3'
    assert {text: call('pasted', text) for text in PASTED} == PASTED
    assert call('pasted', OWNED, True) == (
        'resources=VCPU:4,MEMORY_MB:8&resources1=V:1&required=OWNER_NOVA,T&required1=OWNER_NOVA'
        '&root_required=!COMPUTE_STATUS_DISABLED'
    )
    are_owned = (
        'const {Cloud} = await import("./cloud.js"); const cloud = new Cloud();'
        'cloud.roots = arguments[0].map((traits) => ({traits: new Set(traits)}));'
        'return cloud.areOwned'
    )
    host, storage = ['COMPUTE_NODE'], ['MISC_SHARES_VIA_AGGREGATE']
    upgraded = [*host, 'OWNER_NOVA']
    clouds: tuple[list[list[str]], ...] = [], [storage], [upgraded, host], [upgraded, storage]
    assert [browser.run(are_owned, cloud) for cloud in clouds] == [False, False, False, True]


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
    wait_for(browser, '.question .refusal', 'No query was found')
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


#: The command below each view, by the name of the view.
COMMAND_OF = {
    'overview': 'openstack placement unmet demand list',
    'map': 'openstack resource provider list',
    'fit': 'openstack placement capacity list --query',
    'host': 'openstack placement tree show az3-numa-022',
    'answer': f"openstack allocation candidate explain --query '{FULL}'",
    'holders': 'openstack placement usage list --by project',
    'held': 'openstack placement consumer list --project project-deleted-in-march',
    'changes': 'openstack placement history list --since 1h',
    'what if': 'openstack placement survival show --failing',
    'drained': 'openstack placement drain plan az4-cpu-089 az3-numa-088',
    'promises': 'openstack placement promise show whole-numa-node',
}


def test_each_view_has_its_command_and_ids_are_copied(browser: Browser, demo: str) -> None:
    enter(browser, demo)
    browser.command(
        'Browser.grantPermissions', permissions=['clipboardReadWrite', 'clipboardSanitizedWrite']
    )
    for name, command in COMMAND_OF.items():
        show(browser, name)
        shown = browser.wait('document.querySelector(".copies pre")?.textContent')
        assert command in shown, name
    browser.run(
        'location.hash = arguments[0]',
        f'#/host/az3-numa-022?consumer={_server_of(browser, "az3-numa-022-node1")}',
    )
    browser.wait(f'{SETTLED} && document.querySelector(".chosen-holder .id button")')
    ids = browser.run('return [...document.querySelectorAll(".id")].map((one) => one.innerText)')
    assert ids[0].split() == [uuid_of('az3-numa-022'), 'Copy']
    browser.click('.id button')
    browser.wait('document.querySelector("#status").textContent.endsWith("d.")')
    copied = browser.run('return navigator.clipboard.readText()')
    assert copied == uuid_of('az3-numa-022')
    # In the colour of its pieces.
    colour = 'getComputedStyle(document.querySelector(arguments[0])).backgroundColor'
    lit = browser.run(f'return {colour}', '.piece.lit')
    assert lit == browser.run(f'return {colour}', '[aria-pressed=true] .swatch')
    assert browser.run('return document.title') == 'az3-numa-022 · 127.0.0.1 · Placement'
    assert browser.text('#cloud') == '127.0.0.1'


def test_paper_says_which_cloud_it_is_and_when(cloud: Browser) -> None:
    cloud.run('window.dispatchEvent(new Event("beforeprint"))')
    printed = cloud.run('return document.querySelector("#printed").textContent')
    assert re.match(
        r'Map · 127.0.0.1 · Placement · as of \d{4}-\d\d-\d\d \d\d:\d\d UTC · http://', printed
    )
    cloud.command('Emulation.setEmulatedMedia', media='print')
    assert cloud.run('return document.querySelector("#printed").checkVisibility()')
    cloud.command('Emulation.setEmulatedMedia', media='')
    assert not cloud.run('return document.querySelector("#printed").checkVisibility()')


def test_on_a_phone_the_header_is_low_and_names_stay_in_view(cloud: Browser) -> None:
    cloud.look(*NARROW)
    show(cloud, 'overview')
    height = cloud.run('return document.querySelector("header").offsetHeight')
    assert height <= 120, height
    # What fits comes before the bars, and the name of the zone stays when the table is moved.
    cells = cloud.run(
        'return [...document.querySelectorAll(".zones thead th")].map((one) => one.innerText)'
    )
    assert cells.index('m1.small fit') < cells.index('vCPU')
    left = (
        'const table = document.querySelector(".zones"); table.scrollLeft = arguments[0];'
        ' return table.querySelector("tbody th a").getBoundingClientRect().left'
    )
    assert cloud.run(left, 0) == cloud.run(left, 300)


def test_forced_colours_leave_borders_on_bars_and_the_current_view(cloud: Browser) -> None:
    cloud.command(
        'Emulation.setEmulatedMedia', features=[{'name': 'forced-colors', 'value': 'active'}]
    )
    border = (
        'return [...arguments].map((one) =>'
        ' getComputedStyle(document.querySelector(one)).borderLeftStyle)'
    )
    assert cloud.run(border, 'nav a[aria-current]', '.tile .track') == ['solid', 'solid']


def test_a_name_that_turns_the_order_of_letters_round_is_shown_as_such(
    browser: Browser, demo: str
) -> None:
    name = 'host-\u202etxt.exe'
    build(demo, Provider(name))
    try:
        enter(browser, demo, hash='#/map?q=txt.exe')
        wait_for(browser, 'tbody', 'host-[U+202E]txt.exe')
        # Sums above the table come with the rest of the cloud.
        browser.wait(ALL_DRAWN)
        browser.click('tbody a')
        wait_for(browser, 'h1', 'host-[U+202E]txt.exe')
        browser.wait('document.title.includes("[U+202E]")')
        assert browser.run('return document.documentElement.outerHTML.includes("\u202e")') is False
    finally:
        delete(demo, name)


def test_dark_paper_has_no_colour_that_glares(cloud: Browser) -> None:
    ramps = cloud.run(
        'const {steps} = await import("./colours.js"); return [steps(false), steps(true)]'
    )
    for colours in ramps:
        lights = [_luminance(colour) for colour in colours]
        assert lights == sorted(lights, reverse=True)
    assert max(map(_luminance, ramps[1])) < 0.45


def _luminance(colour: str) -> float:
    """The relative luminance of WCAG 2, from 0 to 1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
    wait_for_log(cloud, 'img-src')
    refused = cloud.run(
        'return fetch("http://127.0.0.2:1/").then(() => "sent", (error) => error.name)'
    )
    assert refused == 'TypeError'
    wait_for_log(cloud, 'connect-src')


def test_pages_of_others_can_neither_frame_nor_read_it(browser: Browser, demo: str) -> None:
    for path in ('/ui/', '/ui/app.js', '/insight/providers'):
        read, _sent, ran, seen = tried_by_foreign_page(browser, demo + path, f'{demo}/ui/')
        assert (path, read, ran, seen) == (path, 'TypeError', 'error', 0)
        wait_for_log(browser, 'frame-ancestors', 'X-Frame-Options')


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
        asked = [answered(page, '/insight/providers') for page in (browser, *others)]
    assert elements < HOSTS / 10
    for addresses in asked:
        assert len(addresses) == HOSTS / 1000
        # No page is of an earlier moment than the first.
        assert all('not_before=' in address for address in addresses[1:])


def test_page_beside_another_service_says_how_old_it_is_and_what_is_off(browser: Browser) -> None:
    service = applications.Service()
    client = Client(service.application)
    clouds.build((Provider('one', {'VCPU': 8}),), client)
    try:
        with ui_services.beside(service.database, max_age=1) as url:
            enter(browser, url, hash='#/overview')
            wait_for(browser, '#activity', 'UTC, ')
            assert re.fullmatch(
                r'as of \d\d:\d\d:\d\d UTC, \d+ s ago · 1 host', browser.text('#activity')
            )
            wait_for(browser, 'main', 'another service answers the searches')
            command = browser.run('return document.querySelector(".copies pre").textContent')
            assert f'export OS_AUTH_TYPE=admin_token OS_ENDPOINT={url}\n' in command
            clouds.build((Provider('other', {'VCPU': 8}),), client)
            wait_for(browser, '#activity', '2 hosts')
            browser.run('location.hash = "#/changes"')
            wait_for(browser, '.refusal', 'keeps no feed of changes')
            assert browser.log() == []
    finally:
        service.stop()
