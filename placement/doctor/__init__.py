# SPDX-License-Identifier: Apache-2.0
"""`placement-manage doctor`: what is wrong with a deployment, and what to do about it.

Specification: commands, "doctor". One module for each subject has one function for each check;
`examination` runs them and `report` prints what they found.
"""
