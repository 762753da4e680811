# SPDX-License-Identifier: Apache-2.0
"""Resource classes (specification: resource_classes)."""

from placement.schemas import common

# Also validates a name in the path, as if it were in a body.
NAMED = common.an_object({'name': common.CUSTOM_NAME})
