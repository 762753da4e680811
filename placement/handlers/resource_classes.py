# SPDX-License-Identifier: Apache-2.0
"""Resource classes (specification: resource_classes)."""

from placement import errors
from placement.http import views
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects.resource_class import ResourceClass, ResourceClassList


def list_classes(request: Request) -> Reply:
    """List every resource class."""
    classes = ResourceClassList.list_all(request.context)
    mount_point = request.mount_point
    return Reply(
        {'resource_classes': [views.resource_class(c.name, mount_point) for c in classes]},
        last_modified=views.latest(views.modified_at(c) for c in classes),
    )


def create(request: Request) -> Reply:
    """Create a custom resource class, which must not exist yet."""
    name = request.validated_body('resource_classes.create')['name']
    ResourceClass.create(request.context, name)
    return Reply(status=CREATED, location=views.resource_class_path(name), has_cache_headers=False)


def show(request: Request) -> Reply:
    """Show one resource class."""
    resource_class = ResourceClass.get_by_name(request.context, request.urlvars['name'])
    return Reply(
        views.resource_class(resource_class.name, request.mount_point),
        last_modified=views.modified_at(resource_class),
    )


def rename(request: Request) -> Reply:
    """Rename a custom resource class."""
    name = request.validated_body('resource_classes.put')['name']
    ResourceClass.get_by_name(request.context, request.urlvars['name']).rename(name)
    return Reply(views.resource_class(name, request.mount_point), has_cache_headers=False)


def ensure(request: Request) -> Reply:
    """Create a custom resource class unless it exists; no body is read."""
    name = request.urlvars['name']
    request.check_by_schema('resource_classes.create', {'name': name})
    _existing, created = ResourceClass.ensure(request.context, name)
    return Reply(
        status=CREATED if created else NO_CONTENT.status,
        location=views.resource_class_path(name),
        has_cache_headers=False,
    )


def delete(request: Request) -> Reply:
    """Delete a custom resource class that no provider has inventory of."""
    resource_class = ResourceClass.get_by_name(request.context, request.urlvars['name'])
    prefix = 'Error in delete resource class: '
    with (
        errors.reported_as(errors.BadRequest, errors.StandardResourceClass, prefix=prefix),
        errors.reported_as(errors.Conflict, errors.ResourceClassInUse, prefix=prefix),
    ):
        resource_class.destroy()
    return NO_CONTENT
