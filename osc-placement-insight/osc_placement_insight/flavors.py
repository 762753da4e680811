# SPDX-License-Identifier: Apache-2.0
"""Translates a flavor into the request that nova sends to Placement for a server.

It follows the scheduler of nova 34, for the flavor only: an image, ports, a project or an
availability zone may add conditions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from osc_placement_insight.owner import OWNER

#: The trait of hosts whose nova-compute is disabled; nova forbids it in every request.
DISABLED = 'COMPUTE_STATUS_DISABLED'

EXTRA_SPEC = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.+)')
RESOURCE_CLASS = re.compile('[A-Z0-9_]+')
CPU_RANGE = re.compile(r'(\^?)(\d+)(?:-(\d+))?')
POLICIES = ('none', 'isolate')

#: Traits of extra specs that have one for a value, in the request group without a suffix.
REQUIRED_TRAITS = {
    ('os:secure_boot', 'required'): 'COMPUTE_SECURITY_UEFI_SECURE_BOOT',
    ('hw:maxphysaddr_mode', 'passthrough'): 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
    ('hw:maxphysaddr_mode', 'emulate'): 'COMPUTE_ADDRESS_SPACE_EMULATED',
    ('hw:pci_numa_affinity_policy', 'socket'): 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY',
    ('hw:cpu_thread_policy', 'require'): 'HW_CPU_HYPERTHREADING',
    ('hw:cpu_thread_policy', 'isolate'): '!HW_CPU_HYPERTHREADING',
}
TPM_VERSIONS = {'1.2': 'COMPUTE_SECURITY_TPM_1_2', '2.0': 'COMPUTE_SECURITY_TPM_2_0'}
TPM_MODELS = {'tpm-tis': 'COMPUTE_SECURITY_TPM_TIS', 'tpm-crb': 'COMPUTE_SECURITY_TPM_CRB'}
MEMORY_ENCRYPTION_MODELS = {
    'amd-sev': 'HW_CPU_X86_AMD_SEV',
    'amd-sev-es': 'HW_CPU_X86_AMD_SEV_ES',
    'amd-sev-snp': 'HW_CPU_X86_AMD_SEV_SNP',
    'intel-tdx': 'HW_CPU_X86_INTEL_TDX',
}

NOT_A_CLASS = 'nova ignores it: no resource class has such a name'
NOT_A_NUMBER = 'nova ignores it: the amount is no whole number'
NOT_A_TRAIT_VALUE = 'nova ignores it: traits are required or forbidden'
INVALID = 'nova refuses or ignores this value'
NOT_OF_PLACEMENT = 'not asked of Placement: a filter or a driver of nova may decide by it'
#: Why an extra spec, or all that begin so, cannot be translated.
UNTRANSLATABLE = {
    'accel:device_profile': 'cyborg knows what the device profile asks for',
    'pci_passthrough:alias': 'the configuration of nova knows what the alias asks for',
    'hw:tpm_secret_security': 'depends on the release of nova',
}
#: What says more about an extra spec that is translated.
OF_OTHERS = {
    'hw:tpm_model': 'hw:tpm_version',
    'hw:mem_encryption_model': 'hw:mem_encryption',
    'hw:ephemeral_encryption_format': 'hw:ephemeral_encryption',
    'hw:cpu_dedicated_mask': 'hw:cpu_policy',
    'hw:cpu_realtime': 'hw:cpu_policy',
    'hw:cpu_realtime_mask': 'hw:cpu_policy',
    'hw:emulator_threads_policy': 'hw:cpu_policy',
}


class Flavor(NamedTuple):
    """A flavor as nova shows it: memory and swap in MiB, disks in GiB."""

    name: str
    vcpus: int
    ram: int
    disk: int = 0
    ephemeral: int = 0
    swap: int = 0
    extra_specs: Mapping[str, str] = {}


class Translation(NamedTuple):
    """The query for allocation candidates, and why some extra specs are not in it."""

    query: list[tuple[str, str]]
    untranslated: dict[str, str]


def translate(
    flavor: Flavor, boot_from_volume: bool = False, is_owned: bool = False
) -> Translation:
    """The request of nova for a server, as far as its flavor determines it.

    A server that boots from a volume needs no root disk. With `is_owned` the providers of each
    group have to be those of nova.
    """
    translator = _Translator(flavor)
    for name, value in flavor.extra_specs.items():
        translator.add(name, value)
    translator.add_cpus()
    translator.add_missing_amounts(boot_from_volume)
    if is_owned:
        translator.add_owner()
    return Translation(translator.query(), translator.untranslated)


class _Group(NamedTuple):
    resources: dict[str, int]
    required: set[str]
    forbidden: set[str]

    def parameters(self, suffix: str) -> Iterator[tuple[str, str]]:
        amounts = sorted(self.resources.items())
        if amounts:
            yield f'resources{suffix}', ','.join(f'{name}:{amount}' for name, amount in amounts)
        traits = [*sorted(self.required), *(f'!{trait}' for trait in sorted(self.forbidden))]
        if traits:
            yield f'required{suffix}', ','.join(traits)


class _Translator:
    """The request while it is made."""

    def __init__(self, flavor: Flavor) -> None:
        self.flavor = flavor
        self.untranslated: dict[str, str] = {}
        self._specs = flavor.extra_specs
        self._groups: dict[str, _Group] = {}
        self._policy: str | None = None
        self._root_required: set[str] = set()

    def add(self, name: str, value: str) -> None:
        """Add what one extra spec asks for, or why it is not in the request."""
        match = EXTRA_SPEC.fullmatch(name)
        if match:
            kind, suffix, what = match.groups()
            self._add_to_group(kind, suffix or '', what, value)
        elif name in HANDLERS:
            if not HANDLERS[name](self, value):
                self.untranslated[f'{name}={value}'] = INVALID
        elif (name, value) in REQUIRED_TRAITS:
            self._trait(REQUIRED_TRAITS[name, value])
        elif OF_OTHERS.get(name) not in self._specs:
            self.untranslated[f'{name}={value}'] = UNTRANSLATABLE.get(name, NOT_OF_PLACEMENT)

    def _add_to_group(self, kind: str, suffix: str, name: str, value: str) -> None:
        spec = f'{"resources" if kind == "resources" else "trait"}{suffix}:{name}={value}'
        group = self._group(suffix)
        if kind == 'resources':
            if not RESOURCE_CLASS.fullmatch(name):
                self.untranslated[spec] = NOT_A_CLASS
            elif not value.strip().isdecimal():
                self.untranslated[spec] = NOT_A_NUMBER
            else:
                group.resources[name] = int(value)
        elif value in ('required', 'forbidden'):
            (group.required if value == 'required' else group.forbidden).add(name)
        else:
            self.untranslated[spec] = NOT_A_TRAIT_VALUE

    def add_cpus(self) -> None:
        """Add processors that are pinned, as the policy says."""
        policy = self._specs.get('hw:cpu_policy')
        if policy not in ('dedicated', 'mixed'):
            return
        pinned = self.flavor.vcpus
        resources = self._group('').resources
        if policy == 'mixed':
            pinned = len(self._dedicated_cpus())
            resources['VCPU'] = self.flavor.vcpus - pinned
        resources['PCPU'] = pinned + (self._specs.get('hw:emulator_threads_policy') == 'isolate')

    def _dedicated_cpus(self) -> set[int]:
        mask = self._specs.get('hw:cpu_dedicated_mask')
        if mask is None and _is_true(self._specs.get('hw:cpu_realtime', '')):
            mask = self._specs.get('hw:cpu_realtime_mask')
        return _cpus(mask or '', self.flavor.vcpus)

    def add_missing_amounts(self, boot_from_volume: bool) -> None:
        """Add the amounts of the flavor that no extra spec sets, and drop those that are zero."""
        flavor = self.flavor
        asked = {name for group in self._groups.values() for name in group.resources}
        root_disk = 0 if boot_from_volume else flavor.disk
        amounts = {
            'MEMORY_MB': flavor.ram,
            'DISK_GB': root_disk + flavor.ephemeral + -(-flavor.swap // 1024),
        }
        if 'PCPU' not in asked:
            amounts['VCPU'] = flavor.vcpus
        unsuffixed = self._group('').resources
        unsuffixed.update((name, amounts[name]) for name in amounts.keys() - asked)
        for group in self._groups.values():
            for name in [name for name, amount in group.resources.items() if not amount]:
                del group.resources[name]

    def add_owner(self) -> None:
        """Require the trait of nova's providers in each group."""
        for group in self._groups.values():
            if group.resources:
                group.required.add(OWNER)

    def query(self) -> list[tuple[str, str]]:
        """The parameters, sorted as nova sorts them."""
        root_required = [*sorted(self._root_required), f'!{DISABLED}']
        parameters = [('root_required', ','.join(root_required))]
        if self._policy is not None:
            parameters.append(('group_policy', self._policy))
        for suffix, group in self._groups.items():
            parameters += group.parameters(suffix)
        return sorted(parameters)

    def _group(self, suffix: str) -> _Group:
        return self._groups.setdefault(suffix, _Group({}, set(), set()))

    def _trait(self, trait: str) -> None:
        """Require a trait, or forbid it if it begins with an exclamation mark."""
        group = self._group('')
        kept = group.forbidden if trait.startswith('!') else group.required
        kept.add(trait.removeprefix('!'))

    def group_policy(self, value: str) -> bool:
        """Add how groups with suffixes share providers."""
        self._policy = value if value in POLICIES else None
        return value in POLICIES

    def cpu_policy(self, value: str) -> bool:
        """Say whether the policy is one; `add_cpus` follows it."""
        return value in ('shared', 'dedicated') or (
            value == 'mixed' and bool(self._dedicated_cpus())
        )

    def memory_encryption(self, value: str) -> bool:
        """Add what a guest with encrypted memory needs."""
        if _is_true(value):
            model = self._specs.get('hw:mem_encryption_model', 'amd-sev')
            if model not in MEMORY_ENCRYPTION_MODELS:
                return False
            self._group('').resources['MEM_ENCRYPTION_CONTEXT'] = 1
            self._trait(MEMORY_ENCRYPTION_MODELS[model])
        return True

    def persistent_memory(self, value: str) -> bool:
        """Add the namespaces of persistent memory."""
        resources = self._group('').resources
        for label in filter(None, map(str.strip, value.split(','))):
            name = 'CUSTOM_PMEM_NAMESPACE_' + re.sub('[^A-Z0-9]+', '_', label.upper())
            resources[name] = resources.get(name, 0) + 1
        return True

    def tpm(self, version: str) -> bool:
        """Add what an emulated TPM needs."""
        model = self._specs.get('hw:tpm_model', 'tpm-tis')
        if version not in TPM_VERSIONS or model not in TPM_MODELS:
            return False
        self._trait(TPM_VERSIONS[version])
        self._trait(TPM_MODELS[model])
        return True

    def packed_ring(self, value: str) -> bool:
        """Add what packed virtqueues need."""
        if _is_true(value):
            self._root_required.add('COMPUTE_NET_VIRTIO_PACKED')
        return True

    def ephemeral_encryption(self, value: str) -> bool:
        """Add what encrypted ephemeral disks need."""
        if _is_true(value):
            self._root_required.add('COMPUTE_EPHEMERAL_ENCRYPTION')
            kind = self._specs.get('hw:ephemeral_encryption_format')
            if kind:
                self._root_required.add(f'COMPUTE_EPHEMERAL_ENCRYPTION_{kind.upper()}')
        return True

    def sound(self, value: str) -> bool:
        """Add what a virtio sound device needs; others are no matter of Placement."""
        if value == 'virtio':
            self._root_required.add('COMPUTE_SOUND_MODEL_VIRTIO')
        return True

    def device_profile(self, value: str) -> bool:
        """Add that the host has accelerators; the rest cannot be known here."""
        self._root_required.add('COMPUTE_ACCELERATORS')
        name = 'accel:device_profile'
        self.untranslated[f'{name}={value}'] = UNTRANSLATABLE[name]
        return True


#: Extra specs that take more than a trait; each answers whether nova takes the value.
HANDLERS: dict[str, Callable[[_Translator, str], bool]] = {
    'accel:device_profile': _Translator.device_profile,
    'group_policy': _Translator.group_policy,
    'hw:cpu_policy': _Translator.cpu_policy,
    'hw:ephemeral_encryption': _Translator.ephemeral_encryption,
    'hw:mem_encryption': _Translator.memory_encryption,
    'hw:pmem': _Translator.persistent_memory,
    'hw:sound_model': _Translator.sound,
    'hw:tpm_version': _Translator.tpm,
    'hw:virtio_packed_ring': _Translator.packed_ring,
}


def _is_true(value: str) -> bool:
    """True if oslo.utils takes a value for true."""
    return value.strip().lower() in ('1', 't', 'true', 'on', 'y', 'yes')


def _cpus(mask: str, number: int) -> set[int]:
    """The processors that a mask names, such as `0-3,^1`; all others than those it excludes."""
    named: set[int] = set(range(number)) if mask.strip().startswith('^') else set()
    excluded: set[int] = set()
    for part in filter(None, map(str.strip, mask.split(','))):
        match = CPU_RANGE.fullmatch(part)
        if not match:
            return set()
        hat, first, last = match.groups()
        (excluded if hat else named).update(range(int(first), int(last or first) + 1))
    return named - excluded
