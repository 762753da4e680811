# SPDX-License-Identifier: Apache-2.0
"""A region in a box: a database of three nodes, API instances, load balancers before both, faults,
clients that record what they were answered, and a checker of the record.

`python -m placement.tests.region --help`.
"""
