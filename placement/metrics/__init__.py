# SPDX-License-Identifier: Apache-2.0
"""What each process counts, in files that one scrape adds up (specification: metrics).

`recorder` counts, `process_files` writes, `ended` merges what processes left that have ended, and
`totals` adds all of it up. Nothing here knows what is counted but `catalog`.
"""
