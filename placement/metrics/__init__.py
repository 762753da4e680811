# SPDX-License-Identifier: Apache-2.0
"""Counts of each process, in the multiprocess mode of prometheus_client (specification: metrics).

`catalog` declares the metrics, `recorder` counts in the files of the process's `slot`, and the
`endpoint` adds up the files of all slots.
"""
