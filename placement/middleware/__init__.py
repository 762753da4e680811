# SPDX-License-Identifier: Apache-2.0
"""The layers that every request passes on its way in, and every answer on its way out.

Each middleware is made from the application that it wraps; `placement.deploy` puts
them in order (specification: http, "Layers").
"""
