# SPDX-License-Identifier: Apache-2.0
"""Queries of nova for servers of many flavors, beside those that the commands expect.

nova's own environment runs this module, and prints what differs.
"""

import sys
import urllib.parse

from nova import context, objects
from nova.scheduler import request_filter, utils

from osc_placement_insight import flavors
from osc_placement_insight.flavors import Flavor
from osc_placement_insight.tests import flavor_cases

#: What nova adds to a request for the sake of a flavor; the other filters know of more than that.
FILTERS = (
    request_filter.compute_status_filter,
    request_filter.packed_virtqueue_filter,
    request_filter.accelerators_filter,
    request_filter.ephemeral_encryption_filter,
    request_filter.virtio_sound_filter,
)
Query = list[tuple[str, str]]


def asked_by_nova(flavor: Flavor, boot_from_volume: bool) -> Query:
    """The query of nova's scheduler for a server of a flavor, with an image that allows it all."""
    stateless = 'snp' in str(flavor.extra_specs) or 'tdx' in str(flavor.extra_specs)
    properties = objects.ImageMetaProps(hw_firmware_type='uefi', hw_machine_type='q35')
    if stateless:
        properties.hw_firmware_stateless = True
        properties.hw_video_model = 'none'
    request = objects.RequestSpec(
        flavor=objects.Flavor(
            name=flavor.name,
            flavorid=flavor.name,
            vcpus=flavor.vcpus,
            memory_mb=flavor.ram,
            root_gb=flavor.disk,
            ephemeral_gb=flavor.ephemeral,
            swap=flavor.swap,
            extra_specs=dict(flavor.extra_specs),
        ),
        image=objects.ImageMeta(properties=properties, id='3f1d5a3e-0000-4000-8000-000000000000'),
        is_bfv=boot_from_volume,
        requested_resources=[],
        request_level_params=objects.RequestLevelParams(),
    )
    for add in FILTERS:
        add(context.get_admin_context(), request)
    resources = utils.ResourceRequest.from_request_spec(request)
    resources._limit = None
    query = urllib.parse.parse_qsl(resources.to_querystring())
    # That is asked for the image, and not for the flavor.
    return [
        (name, value.replace('COMPUTE_SECURITY_STATELESS_FIRMWARE,', '') if stateless else value)
        for name, value in query
    ]


def ordered(query: Query) -> Query:
    """A query without what makes no difference: the order of parameters, and within one."""
    return sorted((name, ','.join(sorted(value.split(',')))) for name, value in query)


def main() -> int:
    """Print each flavor that is translated otherwise; the exit status."""
    objects.register_all()
    known = (specs for specs, _ in [*flavor_cases.TRANSLATED, *flavor_cases.UNTRANSLATED])
    cases = [
        *map(flavor_cases.flavor, known),
        Flavor('m1', 1, 512, 20, ephemeral=10, swap=1025),
    ]
    different = 0
    for flavor in cases:
        for boot_from_volume in (False, True):
            theirs = ordered(asked_by_nova(flavor, boot_from_volume))
            ours = ordered(flavors.translate(flavor, boot_from_volume).query)
            if theirs != ours:
                different += 1
                print(f'{flavor}\n  nova: {theirs}\n  here: {ours}')
    print(f'{len(cases)} flavors compared')
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
