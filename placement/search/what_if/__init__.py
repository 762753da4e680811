# SPDX-License-Identifier: Apache-2.0
"""Questions about a cloud that is not there yet: the picture of it after some steps."""
