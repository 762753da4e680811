# SPDX-License-Identifier: Apache-2.0
"""A flavor is asked for as nova asks for it."""

import pytest

from osc_placement_insight import flavors
from osc_placement_insight.flavors import Flavor

FORBIDDEN = ('root_required', '!COMPUTE_STATUS_DISABLED')
AMOUNTS = 'DISK_GB:20,MEMORY_MB:8192,VCPU:4'


def flavor(**extra_specs: str) -> Flavor:
    """A flavor with these extra specs, whose names have __ for a colon."""
    specs = {name.replace('__', ':'): value for name, value in extra_specs.items()}
    return Flavor('m1', vcpus=4, ram=8192, disk=20, extra_specs=specs)


def asked(**extra_specs: str) -> dict[str, str]:
    """The query for that flavor, all of which is translated."""
    translation = flavors.translate(flavor(**extra_specs))
    assert translation.untranslated == {}
    query = dict(translation.query)
    assert '!COMPUTE_STATUS_DISABLED' in query['root_required']
    return query


def test_amounts_are_asked_of_hosts_that_are_not_disabled() -> None:
    assert flavors.translate(flavor()).query == [('resources', AMOUNTS), FORBIDDEN]


def test_disks_are_summed_and_swap_is_rounded_up_to_whole_gibibytes() -> None:
    disks = Flavor('m1', vcpus=1, ram=512, disk=20, ephemeral=10, swap=1025)

    query = dict(flavors.translate(disks).query)
    assert query['resources'] == 'DISK_GB:32,MEMORY_MB:512,VCPU:1'


def test_a_server_that_boots_from_a_volume_needs_no_root_disk() -> None:
    query = dict(flavors.translate(flavor(), boot_from_volume=True).query)

    assert query['resources'] == 'MEMORY_MB:8192,VCPU:4'


def test_extra_specs_replace_amounts_and_zero_asks_for_nothing() -> None:
    query = asked(resources__VCPU='0', resources__MEMORY_MB='0', resources__CUSTOM_BAREMETAL='1')

    assert query['resources'] == 'CUSTOM_BAREMETAL:1,DISK_GB:20'


def test_groups_have_resources_and_traits_of_their_own() -> None:
    query = asked(
        resources1__VGPU='1',
        trait1__CUSTOM_A40='required',
        trait_NET__CUSTOM_PHYSNET='required',
        resources_NET__CUSTOM_VF='2',
        trait__HW_CPU_X86_AVX2='required',
        trait__CUSTOM_SLOW='forbidden',
        group_policy='isolate',
    )
    assert query == {
        'group_policy': 'isolate',
        'required': 'HW_CPU_X86_AVX2,!CUSTOM_SLOW',
        'required1': 'CUSTOM_A40',
        'required_NET': 'CUSTOM_PHYSNET',
        'resources': AMOUNTS,
        'resources1': 'VGPU:1',
        'resources_NET': 'CUSTOM_VF:2',
        'root_required': '!COMPUTE_STATUS_DISABLED',
    }


@pytest.mark.parametrize(
    ('specs', 'resources'),
    [
        ({'hw__cpu_policy': 'shared'}, 'VCPU:4'),
        ({'hw__cpu_policy': 'dedicated'}, 'PCPU:4'),
        ({'hw__cpu_policy': 'dedicated', 'hw__emulator_threads_policy': 'isolate'}, 'PCPU:5'),
        ({'hw__cpu_policy': 'mixed', 'hw__cpu_dedicated_mask': '0-2'}, 'PCPU:3,VCPU:1'),
        ({'hw__cpu_policy': 'mixed', 'hw__cpu_dedicated_mask': '^0,^1'}, 'PCPU:2,VCPU:2'),
        (
            {'hw__cpu_policy': 'mixed', 'hw__cpu_realtime': 'yes', 'hw__cpu_realtime_mask': '^0'},
            'PCPU:3,VCPU:1',
        ),
        ({'resources__PCPU': '4'}, 'PCPU:4'),
    ],
)
def test_pinned_processors_are_asked_for(specs: dict[str, str], resources: str) -> None:
    assert asked(**specs)['resources'] == f'DISK_GB:20,MEMORY_MB:8192,{resources}'


@pytest.mark.parametrize(
    ('specs', 'required'),
    [
        ({'hw__cpu_thread_policy': 'require'}, 'HW_CPU_HYPERTHREADING'),
        ({'hw__cpu_thread_policy': 'isolate'}, '!HW_CPU_HYPERTHREADING'),
        ({'os__secure_boot': 'required'}, 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'),
        ({'hw__tpm_version': '1.2'}, 'COMPUTE_SECURITY_TPM_1_2,COMPUTE_SECURITY_TPM_TIS'),
        (
            {'hw__tpm_version': '2.0', 'hw__tpm_model': 'tpm-crb'},
            'COMPUTE_SECURITY_TPM_2_0,COMPUTE_SECURITY_TPM_CRB',
        ),
        ({'hw__maxphysaddr_mode': 'emulate'}, 'COMPUTE_ADDRESS_SPACE_EMULATED'),
        ({'hw__pci_numa_affinity_policy': 'socket'}, 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'),
    ],
)
def test_features_are_asked_for_as_traits(specs: dict[str, str], required: str) -> None:
    assert asked(**specs)['required'] == required


def test_encrypted_memory_is_asked_for_as_amount_and_trait() -> None:
    query = asked(hw__mem_encryption='true')

    assert query['resources'] == 'DISK_GB:20,MEMORY_MB:8192,MEM_ENCRYPTION_CONTEXT:1,VCPU:4'
    assert query['required'] == 'HW_CPU_X86_AMD_SEV'
    assert 'required' not in asked(hw__mem_encryption='false')


def test_persistent_memory_is_asked_for_by_label() -> None:
    assert 'CUSTOM_PMEM_NAMESPACE_6GB:2' in asked(hw__pmem='6GB, 6GB')['resources']


def test_some_features_are_asked_of_the_host_itself() -> None:
    query = asked(hw__virtio_packed_ring='true', hw__ephemeral_encryption='1')

    assert query['root_required'] == (
        'COMPUTE_EPHEMERAL_ENCRYPTION,COMPUTE_NET_VIRTIO_PACKED,!COMPUTE_STATUS_DISABLED'
    )


@pytest.mark.parametrize(
    ('spec', 'value', 'reason'),
    [
        ('pci_passthrough__alias', 'a:1', 'the configuration of nova knows'),
        ('accel__device_profile', 'fpga', 'cyborg knows'),
        ('hw__numa_nodes', '2', 'not asked of Placement'),
        ('aggregate_instance_extra_specs__ssd', 'true', 'not asked of Placement'),
        ('resources__vgpu', '1', 'no resource class has such a name'),
        ('resources__VGPU', 'many', 'the amount is no whole number'),
        ('trait__CUSTOM_X', 'preferred', 'traits are required or forbidden'),
        ('group_policy', 'some', 'nova refuses'),
        ('hw__cpu_policy', 'mixed', 'nova refuses'),
        ('hw__tpm_version', '3', 'nova refuses'),
        ('hw__mem_encryption_model', 'amd-sev', 'not asked of Placement'),
    ],
)
def test_what_cannot_be_translated_is_told(spec: str, value: str, reason: str) -> None:
    ((name, why),) = flavors.translate(flavor(**{spec: value})).untranslated.items()

    assert name == f'{spec.replace("__", ":")}={value}'
    assert reason in why
