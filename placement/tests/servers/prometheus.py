# SPDX-License-Identifier: Apache-2.0
"""`placement-metrics`, and the Prometheus of Debian that reads it, with our alerts."""

import pathlib
from collections.abc import Mapping
from typing import Any

import requests

from placement.tests.servers import installation
from placement.tests.servers.servers import Process, Server
from placement.tests.waiting import TIMEOUT

PACKAGES = ('prometheus',)
ALERTS = installation.REPOSITORY / 'etc' / 'prometheus' / 'alerts.yml'
SERVICE_LEVELS = ALERTS.with_name('service-levels.yml')

CONFIGURATION = """
global:
  scrape_interval: 5s
  scrape_timeout: 5s
  evaluation_interval: 1s
rule_files: ['{alerts}', '{service_levels}']
scrape_configs:
  - job_name: placement
    static_configs:
      - targets: {targets}
"""


class MetricsProcess(Process):
    """`placement-metrics`, with the configuration of a server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.directory / 'metrics.log')
        self.server = server
        self.address = f'127.0.0.1:{self.port}'

    @property
    def probe(self) -> str:
        """The metrics."""
        return f'{self.url}/metrics'

    @property
    def environ(self) -> Mapping[str, str]:
        """As the server has it."""
        return self.server.environ

    def command(self) -> list[str]:
        """The command that the package installs."""
        program = self.server.environment / 'bin' / 'placement-metrics'
        return [str(program), '--listen', self.address]


class Prometheus(Process):
    """A Prometheus that asks some addresses every five seconds."""

    def __init__(self, directory: pathlib.Path, *targets: str) -> None:
        super().__init__(directory / 'prometheus.log')
        self.directory = directory
        self.configuration = directory / 'prometheus.yml'
        self.configuration.write_text(
            CONFIGURATION.format(
                alerts=ALERTS, service_levels=SERVICE_LEVELS, targets=list(targets)
            )
        )

    @property
    def probe(self) -> str:
        """The URL that answers when it is ready."""
        return f'{self.url}/-/ready'

    def command(self) -> list[str]:
        """Prometheus on a loopback port, with its data in the directory."""
        return [
            'prometheus',
            f'--config.file={self.configuration}',
            f'--storage.tsdb.path={self.directory}/prometheus',
            f'--web.listen-address=127.0.0.1:{self.port}',
        ]

    def ask(self, path: str, **query: str) -> Any:
        """The data of an answer of its API."""
        url = f'{self.url}/api/v1/{path}'
        answer = requests.get(url, params=query, timeout=TIMEOUT).json()
        assert answer['status'] == 'success', answer
        return answer['data']

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """The labels and values that an expression has now."""
        return [
            (one['metric'], float(one['value'][1]))
            for one in self.ask('query', query=expression)['result']
        ]

    def alerts(self) -> dict[str, str]:
        """The states of the alerts whose expressions are true, by name: pending or firing."""
        return {one['labels']['alertname']: one['state'] for one in self.ask('alerts')['alerts']}
