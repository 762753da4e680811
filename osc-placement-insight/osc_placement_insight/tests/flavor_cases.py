# SPDX-License-Identifier: Apache-2.0
"""Extra specs of flavors; nova itself is asked about them in `servers/nova_flavors.py`."""

from osc_placement_insight.flavors import Flavor

Specs = dict[str, str]

DISABLED = '!COMPUTE_STATUS_DISABLED'
REST = 'DISK_GB:20,MEMORY_MB:8192'
#: What is asked for a flavor without extra specs.
PLAIN = {'resources': f'{REST},VCPU:4', 'root_required': DISABLED}

MIXED = {'hw:cpu_policy': 'mixed'}
DEDICATED = {'hw:cpu_policy': 'dedicated'}
ENCRYPTED = {'hw:mem_encryption': 'true'}
WITH_CONTEXT = {'resources': f'{REST},MEM_ENCRYPTION_CONTEXT:1,VCPU:4'}

#: Extra specs, and the parameters by which the query for them differs from `PLAIN`.
TRANSLATED: list[tuple[Specs, dict[str, str]]] = [
    ({}, {}),
    # Extra specs replace amounts, zero asks for nothing.
    (
        {'resources:VCPU': '0', 'resources:MEMORY_MB': '0', 'resources:CUSTOM_BAREMETAL': '1'},
        {'resources': 'CUSTOM_BAREMETAL:1,DISK_GB:20'},
    ),
    (
        {'resources:VGPU': ' 2 ', 'resources1:VGPU': '0', 'trait1:CUSTOM_A': 'required'},
        {'resources': f'{REST},VCPU:4,VGPU:2', 'required1': 'CUSTOM_A'},
    ),
    # Groups have resources and traits of their own.
    (
        {
            'resources1:VGPU': '1',
            'trait1:CUSTOM_A': 'required',
            'resources_NET-b:CUSTOM_VF': '2',
            'trait_NET-b:CUSTOM_B': 'forbidden',
            'group_policy': 'isolate',
            'trait:HW_CPU_X86_AVX2': 'required',
            'trait:CUSTOM_SLOW': 'forbidden',
        },
        {
            'group_policy': 'isolate',
            'required': 'HW_CPU_X86_AVX2,!CUSTOM_SLOW',
            'required1': 'CUSTOM_A',
            'required_NET-b': '!CUSTOM_B',
            'resources1': 'VGPU:1',
            'resources_NET-b': 'CUSTOM_VF:2',
        },
    ),
    # Processors that are pinned.
    ({'resources:PCPU': '2', 'resources:VCPU': '2'}, {'resources': f'{REST},PCPU:2,VCPU:2'}),
    ({'resources:PCPU': '4'}, {'resources': f'{REST},PCPU:4'}),
    ({'hw:cpu_policy': 'shared'}, {}),
    (DEDICATED, {'resources': f'{REST},PCPU:4'}),
    (
        {**DEDICATED, 'hw:emulator_threads_policy': 'isolate', 'hw:cpu_thread_policy': 'require'},
        {'resources': f'{REST},PCPU:5', 'required': 'HW_CPU_HYPERTHREADING'},
    ),
    (
        {**DEDICATED, 'hw:emulator_threads_policy': 'share', 'hw:cpu_thread_policy': 'isolate'},
        {'resources': f'{REST},PCPU:4', 'required': '!HW_CPU_HYPERTHREADING'},
    ),
    ({**MIXED, 'hw:cpu_dedicated_mask': '0-2'}, {'resources': f'{REST},PCPU:3,VCPU:1'}),
    ({**MIXED, 'hw:cpu_dedicated_mask': '^0,^1'}, {'resources': f'{REST},PCPU:2,VCPU:2'}),
    ({**MIXED, 'hw:cpu_dedicated_mask': '0-3,^2'}, {'resources': f'{REST},PCPU:3,VCPU:1'}),
    (
        {**MIXED, 'hw:cpu_realtime': 'yes', 'hw:cpu_realtime_mask': '^0'},
        {'resources': f'{REST},PCPU:3,VCPU:1'},
    ),
    # Features that are traits of some provider.
    ({'os:secure_boot': 'required'}, {'required': 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'}),
    (
        {'hw:tpm_version': '1.2'},
        {'required': 'COMPUTE_SECURITY_TPM_1_2,COMPUTE_SECURITY_TPM_TIS'},
    ),
    (
        {'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'},
        {'required': 'COMPUTE_SECURITY_TPM_2_0,COMPUTE_SECURITY_TPM_CRB'},
    ),
    ({'hw:maxphysaddr_mode': 'passthrough'}, {'required': 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH'}),
    ({'hw:maxphysaddr_mode': 'emulate'}, {'required': 'COMPUTE_ADDRESS_SPACE_EMULATED'}),
    ({'hw:pci_numa_affinity_policy': 'socket'}, {'required': 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'}),
    # Memory that is encrypted is an amount and a trait, persistent memory an amount by label.
    (ENCRYPTED, {**WITH_CONTEXT, 'required': 'HW_CPU_X86_AMD_SEV'}),
    *(
        (
            {**ENCRYPTED, 'hw:mem_encryption_model': model},
            {**WITH_CONTEXT, 'required': f'HW_CPU_X86_{model.upper().replace("-", "_")}'},
        )
        for model in ('amd-sev-es', 'amd-sev-snp', 'intel-tdx')
    ),
    ({'hw:mem_encryption': 'false'}, {}),
    (
        {'hw:pmem': '6GB, 6GB,1-x y'},
        {'resources': f'CUSTOM_PMEM_NAMESPACE_1_X_Y:1,CUSTOM_PMEM_NAMESPACE_6GB:2,{REST},VCPU:4'},
    ),
    # Features of the host itself.
    (
        {'hw:virtio_packed_ring': 'true'},
        {'root_required': f'COMPUTE_NET_VIRTIO_PACKED,{DISABLED}'},
    ),
    (
        {'hw:ephemeral_encryption': '1', 'hw:ephemeral_encryption_format': 'luks'},
        {
            'root_required': 'COMPUTE_EPHEMERAL_ENCRYPTION,COMPUTE_EPHEMERAL_ENCRYPTION_LUKS,'
            f'{DISABLED}'
        },
    ),
    ({'hw:sound_model': 'virtio'}, {'root_required': f'COMPUTE_SOUND_MODEL_VIRTIO,{DISABLED}'}),
    ({'hw:sound_model': 'ich9'}, {}),
]

#: Extra specs that nova does not ask Placement for, or not as they are, and the words why.
UNTRANSLATED: list[tuple[Specs, str]] = [
    ({'pci_passthrough:alias': 'a:1'}, 'the configuration of nova knows'),
    ({'accel:device_profile': 'fpga'}, 'cyborg knows'),
    ({'hw:numa_nodes': '2'}, 'not asked of Placement'),
    ({'hw:cpu_thread_policy': 'prefer'}, 'not asked of Placement'),
    ({'os:secure_boot': 'optional'}, 'not asked of Placement'),
    ({'hw:pci_numa_affinity_policy': 'required'}, 'not asked of Placement'),
    ({'hw:mem_encryption_model': 'amd-sev'}, 'not asked of Placement'),
    ({'aggregate_instance_extra_specs:ssd': 'true'}, 'not asked of Placement'),
    ({'resources:vgpu': '1'}, 'no resource class has such a name'),
    ({'resources:VGPU': 'many'}, 'the amount is no whole number'),
    ({'trait:CUSTOM_X': 'preferred'}, 'traits are required or forbidden'),
    ({'group_policy': 'some'}, 'nova refuses or ignores'),
]
#: Those for which nova makes no server.
REFUSED: list[Specs] = [MIXED, {'hw:tpm_version': '3'}]


def flavor(specs: Specs) -> Flavor:
    """A flavor with these extra specs."""
    return Flavor('m1', vcpus=4, ram=8192, disk=20, extra_specs=specs)
