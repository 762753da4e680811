# SPDX-License-Identifier: Apache-2.0
"""Checks of a deployment, with remedies, for `placement-manage doctor`.

Specification: commands, "doctor". One module for each subject has one function for each check;
`command` runs them and prints what they return.
"""
