# SPDX-License-Identifier: Apache-2.0
"""A field that changes demands a new version of its object.

When one of these fails, and the change of the fields is meant, raise VERSION, say why in a comment
above it, and put the new fingerprint here. The checker of oslo.versionedobjects does the same, but
needs two more libraries, one of which warns when it is imported.
"""

import hashlib
import importlib
import pkgutil
from typing import Any

from oslo_versionedobjects import base, fields

from placement import objects

FINGERPRINTS = {
    'Allocation': '1.1-41bf9a5a4ae97446',
    'AllocationList': '1.0-9c5b5f51cb25df3b',
    'Consumer': '1.0-f01351623b98821e',
    'Inventory': '1.1-6407276d59a290b8',
    'InventoryList': '1.0-2be7f4e0072e3027',
    'ResourceClass': '1.0-06cdcdceb4c5431a',
    'ResourceClassList': '1.0-dbb71e6eb22e1f15',
    'ResourceProvider': '1.0-d6b51e73da00cbd8',
    'Trait': '1.0-06cdcdceb4c5431a',
    'TraitList': '1.0-123cbeb96739bcc1',
    'Usage': '1.1-60d55865c4ae94f7',
    'UsageList': '1.0-074eb29abf48e702',
}


def registered() -> dict[str, Any]:
    """The objects of the service, once all of their modules are imported."""
    for module in pkgutil.iter_modules(objects.__path__):
        importlib.import_module(f'{objects.__name__}.{module.name}')
    return {
        name: classes[0]
        for name, classes in base.VersionedObjectRegistry.obj_classes().items()
        if classes[0].__module__.startswith('placement.objects.')
    }


def fingerprint(versioned: Any) -> str:
    """The version of an object with a digest of its fields: name, type, element, null, default."""
    described = [
        f'{name} {field!r} {element_of(field)}' for name, field in sorted(versioned.fields.items())
    ]
    digest = hashlib.sha256('\n'.join(described).encode()).hexdigest()
    return f'{versioned.VERSION}-{digest[:16]}'


def element_of(field: fields.Field) -> str:
    """Return the element type of a list, which its description leaves out."""
    if not isinstance(field, fields.ListOfObjectsField):
        return ''
    elements: Any = field._type
    name: str = elements._element_type._type._obj_name
    return name


def test_a_changed_field_comes_with_a_new_version() -> None:
    assert {name: fingerprint(found) for name, found in registered().items()} == FINGERPRINTS
