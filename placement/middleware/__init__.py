# SPDX-License-Identifier: Apache-2.0
"""What every request passes on its way in, and every answer on its way out.

One middleware a module. Each is made from the application that it wraps; `placement.deploy` puts
them in order (specification: http, "Layers").
"""
