# SPDX-License-Identifier: Apache-2.0
"""Versioned objects, with their rules, generations and transactions.

oslo.versionedobjects is imported without the rest of oslo.messaging. The library needs one class
of it, the base of a serializer for remote procedure calls, which this service does not make. The
package around that class loads oslo.service and eventlet: a third of the time to start, a fifth of
the memory, and a deprecation warning for every operator.
"""

import importlib
import importlib.util
import sys

_PACKAGE = 'oslo_messaging'
_NEEDED = 'oslo_messaging.serializer'


def _import_versioned_objects() -> None:
    """Import `oslo_versionedobjects.base`, with only the module of oslo.messaging that it needs.

    That module is the genuine one and stays loaded, so that a program which imports us and
    oslo.messaging, before or after, has every class once. Where oslo.messaging was loaded before,
    nothing is left to save.
    """
    spec = None if _PACKAGE in sys.modules else importlib.util.find_spec(_PACKAGE)
    if spec is not None:
        # The package as it is found, with the path of its modules, but not executed.
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
