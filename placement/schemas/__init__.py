# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of bodies and query strings, as data; the history assigns them to versions."""
