# SPDX-License-Identifier: Apache-2.0
"""Provider trees, the shapes that alike trees share, and blocks of trees.

Nothing here is ever altered.  What is derived from the rest is worked out when it is first needed
and kept with the object it is derived from, so it goes when that object is replaced; two threads
that race to do so arrive at the same value.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.search.model.provider import Kind, Pool, Provider

Uses = tuple[tuple[int, ...], ...]


class Shape:
    """What alike trees have in common: the kinds of their members and who is whose parent.

    `parents` holds the position of each member's parent, -1 for none.  Compared by identity, as
    kinds are.
    """

    __slots__ = ('__weakref__', 'aggregates', 'has_sharing', 'kinds', 'parents')

    def __init__(self, kinds: tuple[Kind, ...], parents: tuple[int, ...]) -> None:
        self.kinds = kinds
        self.parents = parents
        self.aggregates: frozenset[str] = frozenset().union(*(kind.aggregates for kind in kinds))
        self.has_sharing = any(kind.is_sharing for kind in kinds)


class Tree:
    """One provider tree: its members, root first, then by id."""

    __slots__ = ('members', 'root_id', 'shape', 'uses')

    def __init__(self, root_id: int, members: tuple[Provider, ...], shape: Shape) -> None:
        # Use `of` and `with_used`: they keep these in step.
        self.root_id = root_id
        self.members = members
        self.shape = shape
        self.uses: Uses = tuple([member.used for member in members])

    @classmethod
    def of(cls, root_id: int, members: Iterable[Provider], pool: Pool) -> 'Tree':
        """The tree of exactly these members, in any order."""
        ordered = tuple(sorted(members, key=lambda member: (member.id != root_id, member.id)))
        positions = {member.id: position for position, member in enumerate(ordered)}
        shape = pool.shared(
            Shape,
            tuple([member.kind for member in ordered]),
            tuple([positions.get(member.parent_id, -1) for member in ordered]),  # type: ignore[arg-type]
        )
        return cls(root_id, ordered, shape)

    def with_used(self, changed: Mapping[int, Provider]) -> 'Tree':
        """This tree with other records of some members, by id, that differ in usage alone."""
        members = tuple([changed.get(member.id, member) for member in self.members])
        return Tree(self.root_id, members, self.shape)

    def member(self, provider_id: int) -> Provider:
        """The member with this id."""
        return next(member for member in self.members if member.id == provider_id)


class Stand(NamedTuple):
    """The trees of one shape in one block.

    `least_used` is what the least used members of these trees use, position by position: what does
    not fit there fits none of the trees, so a full part of the cloud is passed over in one step.
    """

    shape: Shape
    trees: tuple[Tree, ...]
    least_used: Uses


class Block:
    """Some neighbouring trees, by the ids of their roots in ascending order.

    A change replaces the block it falls into and no other, which keeps a new snapshot cheap.
    """

    __slots__ = ('_stands', 'trees')

    def __init__(self, trees: dict[int, Tree]) -> None:
        self.trees = trees
        self._stands: tuple[Stand, ...] | None = None

    @property
    def stands(self) -> tuple[Stand, ...]:
        """The trees by shape."""
        if self._stands is None:
            by_shape: dict[Shape, list[Tree]] = {}
            for tree in self.trees.values():
                by_shape.setdefault(tree.shape, []).append(tree)
            self._stands = tuple(
                Stand(shape, tuple(trees), _least_used(trees)) for shape, trees in by_shape.items()
            )
        return self._stands

    def with_trees(self, changed: dict[int, Tree | None]) -> 'Block':
        """A block with these trees put in, or taken out where None is given."""
        trees = {**self.trees, **changed}
        if changed.keys() - self.trees.keys() or None in changed.values():
            trees = {root_id: tree for root_id, tree in sorted(trees.items()) if tree is not None}
        return Block(trees)  # type: ignore[arg-type]


def _least_used(trees: list[Tree]) -> Uses:
    if len(trees) == 1:
        return trees[0].uses
    by_member = zip(*[tree.uses for tree in trees], strict=True)
    return tuple([tuple(map(min, zip(*uses, strict=True))) for uses in by_member])
