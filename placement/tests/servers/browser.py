# SPDX-License-Identifier: Apache-2.0
"""A real Chromium without a window, driven by chromedriver through the protocol WebDriver."""

from __future__ import annotations

import base64
import pathlib
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Self

import requests

from placement.tests.waiting import TIMEOUT, wait_until

FLAGS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--hide-scrollbars',
)  # fmt: skip
# Attempts at a start of chromedriver, which draws a port for IPv4 that may be taken for IPv6.
STARTS = 5
_ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
KEYS = {
    'Enter': '\ue007',
    'ArrowRight': '\ue014',
    'ArrowDown': '\ue015',
    'End': '\ue010',
    'Tab': '\ue004',
    'Space': ' ',
    '/': '/',
}


class Browser:
    """A context manager; what it gives is a browser with an empty profile of its own."""

    def __init__(self, profile: pathlib.Path) -> None:
        self._profile = profile

    def __enter__(self) -> Self:
        driver = shutil.which('chromedriver')
        assert driver, 'chromedriver is not installed (Debian: chromium-driver)'
        port = next(filter(None, (self._start(driver) for _ in range(STARTS))), None)
        assert port, 'chromedriver does not start'
        self._url = f'http://127.0.0.1:{port}/session'
        options = {
            'binary': shutil.which('chromium'),
            'args': [*FLAGS, f'--user-data-dir={self._profile}'],
        }
        wanted = {
            'pageLoadStrategy': 'none',
            'goog:chromeOptions': options,
            'goog:loggingPrefs': {'browser': 'ALL'},
        }
        session = self._send('POST', '', {'capabilities': {'alwaysMatch': wanted}})
        self._url += f'/{session["sessionId"]}'
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            self._send('DELETE', '')
        finally:
            self._driver.terminate()
            self._driver.communicate(timeout=TIMEOUT)

    def _start(self, driver: str) -> str | None:
        """Start chromedriver; return its port, or None if it ended."""
        self._driver = subprocess.Popen(
            [driver, '--port=0'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            found = re.search(r'started successfully on port (\d+)', line)
            if found:
                return found[1]
        self._driver.communicate(timeout=TIMEOUT)
        return None

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = dict(body or {}) if method == 'POST' else None
        answer = requests.request(method, self._url + path, json=data, timeout=2 * TIMEOUT)
        value = answer.json()['value']
        assert answer.ok, value['message']
        return value

    def open(self, url: str) -> None:
        """Load another page, and wait until it is loaded."""
        self.run('window.isLeft = true')
        self._send('POST', '/url', {'url': url})
        self._wait_for_load(url)

    def reload(self) -> None:
        """Load the page again, and wait until it is loaded."""
        self.run('window.isLeft = true; location.reload()')
        self._wait_for_load('the page')

    def _wait_for_load(self, what: str) -> None:
        # chromedriver's own wait may miss the event when the machine is busy.
        wait_until(self._has_loaded, lambda: f'{what} is not loaded')

    def _has_loaded(self) -> bool:
        try:
            loaded: bool = self.run('return !window.isLeft && document.readyState === "complete"')
        except AssertionError:
            # Between two pages there is nowhere to run it.
            return False
        return loaded

    def command(self, name: str, **parameters: Any) -> Any:
        """Send a command of the protocol of the developer tools."""
        return self._send('POST', '/goog/cdp/execute', {'cmd': name, 'params': parameters})

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Have a window of this size, for eyes that like it dark or light."""
        self.command(
            'Emulation.setDeviceMetricsOverride',
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        theme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self.command('Emulation.setEmulatedMedia', features=[theme])

    def run(self, script: str, *arguments: Any) -> Any:
        """Run the body of a function in the page and return its result; promises are awaited."""
        return self._send('POST', '/execute/sync', {'script': script, 'args': list(arguments)})

    def wait(self, expression: str) -> Any:
        """The value of an expression as soon as it is true."""
        return wait_until(
            lambda: self.run(f'return {expression}'),
            lambda: f'never true: {expression}\n{self.text()[:2000]}',
        )

    def text(self, selector: str = 'body') -> str:
        """The text that is shown in the first element that a selector finds, or an empty one."""
        found: str = self.run(
            'return document.querySelector(arguments[0])?.innerText ?? ""', selector
        )
        return found

    def _element(self, selector: str) -> str:
        found = self._send('POST', '/element', {'using': 'css selector', 'value': selector})
        return f'/element/{found[_ELEMENT]}'

    def click(self, selector: str) -> None:
        """Click an element as a person would: it has to be visible, and not covered."""
        self._send('POST', f'{self._element(selector)}/click')

    def type(self, selector: str, text: str) -> None:
        """Type into an element, in place of what it has."""
        element = self._element(selector)
        self._send('POST', f'{element}/clear')
        self._send('POST', f'{element}/value', {'text': text})

    def press(self, *keys: str) -> None:
        """Press keys, by the names in `KEYS`, wherever the focus is."""
        actions = [
            {'type': kind, 'value': KEYS[key]} for key in keys for kind in ('keyDown', 'keyUp')
        ]
        board = {'type': 'key', 'id': 'keyboard', 'actions': actions}
        self._send('POST', '/actions', {'actions': [board]})

    def log(self) -> Sequence[str]:
        """Return the entries of the console since the last time, violations included."""
        return [entry['message'] for entry in self._send('POST', '/se/log', {'type': 'browser'})]

    def screenshot(self, path: pathlib.Path) -> None:
        """Save what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self._send('GET', '/screenshot')))
