# SPDX-License-Identifier: Apache-2.0
"""SQL statements: one module for each noun, one function for each statement."""
