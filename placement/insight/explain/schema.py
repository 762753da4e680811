# SPDX-License-Identifier: Apache-2.0
"""The query of an explanation (specification: insight)."""

from placement.schemas import common

# Beside the query of a search for candidates.
EXPLAIN: common.Schema = {'provider': {'type': 'string', 'minLength': 1, 'maxLength': 200}}
