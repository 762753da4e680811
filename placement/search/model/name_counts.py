# SPDX-License-Identifier: Apache-2.0
"""How many providers have each trait, or each class, kept as providers change.

So whether a name is in use is known without asking the providers, of which there are many.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from placement.search.model.kind import Profile
from placement.search.model.provider import Provider


def traits_of(profile: Profile) -> Iterable[str]:
    """The names of the traits of a profile."""
    return profile.traits


def classes_of(profile: Profile) -> Iterable[str]:
    """The names of the resource classes of a profile."""
    return profile.classes


def changed_counts(
    counts: Counter[str],
    before: Mapping[int, Provider],
    after: Mapping[int, Provider],
    names_of: Callable[[Profile], Iterable[str]],
) -> Counter[str]:
    """How many providers have each name, after these providers have changed."""
    # By profile, of which there are fewer than providers.
    change = Counter(provider.kind.profile for provider in after.values())
    change.subtract(provider.kind.profile for provider in before.values())
    by_name: Counter[str] = Counter()
    for profile, providers in change.items():
        for name in names_of(profile) if providers else ():
            by_name[name] += providers
    if not any(by_name.values()):
        return counts
    changed = counts.copy()
    changed.update(by_name)
    # Without names that nobody has any more.
    return +changed
