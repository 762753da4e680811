# SPDX-License-Identifier: Apache-2.0
"""Importing the engines of oslo.db without the object-relational mapper of SQLAlchemy.

`oslo_db.sqlalchemy.utils`, which the engines use, imports `oslo_db.sqlalchemy.models` for a
function that this service does not call. The mapper behind that is a tenth of the time to start,
and 6 MB of memory.
"""

import importlib
import importlib.util
import sys
from types import ModuleType

PACKAGE = 'oslo_db.sqlalchemy'
MODELS = 'models'


def import_engines() -> ModuleType:
    """`oslo_db.sqlalchemy.engines`, with the models of oslo.db loaded when somebody uses them.

    They are the genuine module, whose attributes are all there from the first use or import of it
    on. Where it was loaded before, nothing is left to save.
    """
    name = f'{PACKAGE}.{MODELS}'
    package = importlib.import_module(PACKAGE)
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is not None and spec.loader is not None:
        spec.loader = importlib.util.LazyLoader(spec.loader)
        models = importlib.util.module_from_spec(spec)
        sys.modules[name] = models
        spec.loader.exec_module(models)
        # Found here, it is not imported, which would load it.
        setattr(package, MODELS, models)
    return importlib.import_module(f'{PACKAGE}.engines')
