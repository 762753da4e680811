# SPDX-License-Identifier: Apache-2.0
"""The keys in the WSGI environ by which the parts of the service share facts about a request.

Values are strings unless stated otherwise; a key is missing until its value is known.
"""

#: The `RequestContext` of the request.
CONTEXT = 'placement.context'

#: The microversion that was negotiated, as in "1.39".
MICROVERSION = 'placement.microversion'

#: The name of the route.
ACTION = 'placement.action'

#: The code of an error with the status 409.
CONFLICT = 'placement.conflict'

#: The ids of the request, where oslo.context looks for them; the second is None unless the client
#: sent one.
REQUEST_ID = 'openstack.request_id'
GLOBAL_REQUEST_ID = 'openstack.global_request_id'
