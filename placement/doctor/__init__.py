# SPDX-License-Identifier: Apache-2.0
"""Checks of a deployment, with remedies, for `placement-manage doctor`.

Specification: commands, "doctor". Each module has the checks of one subject, one function each;
`command` runs them and prints their results.
"""
