# SPDX-License-Identifier: Apache-2.0
"""The commands for operators, one module each."""
