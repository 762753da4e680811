# SPDX-License-Identifier: Apache-2.0
"""Resource classes (specification: resource_classes)."""

from placement.schemas import common

# Also what a name in the path is checked by, as if it were sent in a body.
NAMED = common.an_object({'name': common.CUSTOM_NAME})
