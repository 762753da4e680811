# SPDX-License-Identifier: Apache-2.0
"""What each action does: authorise, read, act, reply. Newest shapes only."""
