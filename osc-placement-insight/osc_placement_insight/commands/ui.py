# SPDX-License-Identifier: Apache-2.0
"""The page of the service, on this machine and with the token of the client."""

from __future__ import annotations

import argparse
import json
import webbrowser
from typing import Any

import requests
from osc_lib import exceptions
from osc_lib.command import command

from osc_placement_insight import owner, proxy, refusals
from osc_placement_insight.commands import base
from osc_placement_insight.layout import sentence
from osc_placement_insight.page_names import PageNames, sources
from osc_placement_insight.service import Service

PAGE, INSIGHT, NAMES = f'/{proxy.PAGE}', '/insight', '/names.json'


@base.example('placement ui --open')
class ServePage(command.Command):
    """Serve the page of the service on this machine, with the token of the client.

    The page shows the cloud in a browser, and asks for no token: each of its requests gets that of
    the client, which is renewed when it has expired. Keystone and nova tell it the names of
    projects, servers, flavors and aggregates, as far as you may read them. Whoever knows the
    address reads the cloud with your rights, until you press Ctrl-C.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--port',
            metavar='<port>',
            type=int,
            default=0,
            help='listen on this port of 127.0.0.1; on any free one by default',
        )
        parser.add_argument('--open', action='store_true', help='open the page in a browser')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with base.asking(self, 'asking for the page') as service:
            _check(service)
        manager = self.app.client_manager
        names = PageNames(sources(manager, lambda: owner.is_required(service)))
        with _listening(service, names, parsed_args.port) as server:
            print(f'The page is at {server.url}')
            print('Press Ctrl-C to end.', flush=True)
            if parsed_args.open:
                webbrowser.open(server.url_for_once())
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print()


def _check(service: Service) -> None:
    """Do nothing where the service has a page, and knows the user.

    :raises CommandError: it has none, or does not
    """
    # The page itself needs no token. Who may not ask this may still ask what the page asks.
    answer = service.fetch(INSIGHT)
    if answer.status_code not in (requests.codes.ok, requests.codes.forbidden):
        raise refusals.refused(answer, INSIGHT)
    answer = service.fetch(PAGE)
    if answer.status_code == requests.codes.not_found:
        raise exceptions.CommandError(
            'The service has no page. Its operator can set the option [ui] enabled to true.'
        )
    if answer.status_code != requests.codes.ok:
        raise refusals.refused(answer, PAGE)


def _listening(service: Service, names: PageNames, port: int) -> proxy.Proxy:
    """The server of the page.

    :raises CommandError: the port cannot be had
    """
    try:
        return proxy.Proxy(lambda path, body: _fetched(service, names, path, body), port)
    except (OSError, OverflowError) as error:
        raise exceptions.CommandError(
            f'Port {port} of {proxy.ADDRESS} cannot be had: {sentence(str(error))} '
            'Name another one with --port.'
        ) from error


def _fetched(service: Service, names: PageNames, path: str, body: Any = None) -> proxy.Answer:
    """The answer of the service, or an error message for the page."""
    if path.partition('?')[0] == NAMES:
        return _in_json(200, names.known())
    try:
        answer = service.fetch(path, body)
    except exceptions.CommandError as error:
        return _in_json(502, {'errors': [{'status': 502, 'detail': str(error)}]})
    found = {name: answer.headers[name] for name in proxy.PASSED_ON if name in answer.headers}
    return proxy.Answer(answer.status_code, found, answer.content)


def _in_json(status: int, values: Any) -> proxy.Answer:
    headers = {'Content-Type': 'application/json'}
    return proxy.Answer(status, headers, json.dumps(values).encode())
