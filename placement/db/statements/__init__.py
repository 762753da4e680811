# SPDX-License-Identifier: Apache-2.0
"""Statements: one module for each noun, one function for each question."""
