# SPDX-License-Identifier: Apache-2.0
"""What the service is about: versioned objects with their rules, generations and transactions."""

import warnings

with warnings.catch_warnings():
    # The library loads oslo.messaging, that loads eventlet, and eventlet says to every operator
    # that it is deprecated. The service does not use it.
    warnings.simplefilter('ignore')
    import oslo_versionedobjects.base  # noqa: F401
