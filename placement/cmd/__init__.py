# SPDX-License-Identifier: Apache-2.0
"""The commands of an operator, one module each."""
