# SPDX-License-Identifier: Apache-2.0
"""What the service is about: versioned objects with their rules, generations and transactions."""

import os
import warnings

with warnings.catch_warnings():
    # The library loads oslo.messaging, and that loads eventlet, which the service does not use.
    # So it need not tell every operator that it is deprecated, nor bring its own resolver of
    # names, which would be a tenth of the time to start.
    warnings.simplefilter('ignore')
    os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')
    import oslo_versionedobjects.base  # noqa: F401
