# SPDX-License-Identifier: Apache-2.0
"""What takes database servers of its own, or the released service, to be proven.

They take minutes and programs that a bare machine may not have, so `make test` leaves them out;
`.ci/run` does not.
"""
