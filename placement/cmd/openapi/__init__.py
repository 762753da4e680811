# SPDX-License-Identifier: Apache-2.0
"""The API as an OpenAPI document, made of the routing table, the history and the schemas."""
