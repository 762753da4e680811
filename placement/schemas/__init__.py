# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of bodies and query strings, as data; which version has which, the history says."""
