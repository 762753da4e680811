# SPDX-License-Identifier: Apache-2.0
"""Versioned objects, with their rules, generations and transactions.

oslo.versionedobjects is imported without most of oslo.messaging. The library needs one class of
it, a base for serializers of remote procedure calls, which this service does not use. The rest of
the package would import oslo.service and eventlet, which slow down the start, take memory, and
print a deprecation warning.
"""

import importlib
import importlib.util
import sys

_PACKAGE = 'oslo_messaging'
_NEEDED = 'oslo_messaging.serializer'


def _import_versioned_objects() -> None:
    """Import `oslo_versionedobjects.base`, with only the module of oslo.messaging that it needs.

    That module is the original one and stays loaded, so a program that also imports oslo.messaging
    has every class once. If oslo.messaging is loaded already, this is a plain import.
    """
    spec = None if _PACKAGE in sys.modules else importlib.util.find_spec(_PACKAGE)
    if spec is not None:
        # The package with the path of its modules, but not executed.
        package = importlib.util.module_from_spec(spec)
        sys.modules[_PACKAGE] = package
        try:
            package.NoOpSerializer = importlib.import_module(_NEEDED).NoOpSerializer  # type: ignore[attr-defined]
            importlib.import_module('oslo_versionedobjects.base')
        finally:
            del sys.modules[_PACKAGE]
    else:
        importlib.import_module('oslo_versionedobjects.base')


_import_versioned_objects()
