# SPDX-License-Identifier: Apache-2.0
"""The cloud of `make demo`: made up from a seed, the same each time, with problems to find.

`cloud` makes it in memory, `loading` writes it to a database through the objects of the service,
and `problems` has the requests that find what is wrong with it. The command is
`placement.cmd.demo`.
"""
