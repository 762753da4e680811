# SPDX-License-Identifier: Apache-2.0
"""What the service is about: versioned objects with their rules, generations and transactions."""

from placement.objects import without_messaging

without_messaging.import_versioned_objects()
