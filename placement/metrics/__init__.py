# SPDX-License-Identifier: Apache-2.0
"""Counts of each process, by the multiprocess mode of prometheus_client (specification: metrics).

`recorder` counts, in the files of the `slot` of its process; the exporter adds the files of all
slots up. `catalog` alone knows what is counted.
"""
