# SPDX-License-Identifier: Apache-2.0
"""Names that the operator gives to aggregates and requests."""
