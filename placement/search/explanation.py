# SPDX-License-Identifier: Apache-2.0
"""Why a search found nothing, as data, and the line that is made of it."""

import dataclasses
import enum

from placement.search.solver.tally import Reason


class Verdict(enum.Enum):
    """Whether a request could ever be served."""

    FITS = 'fits'
    FULL = 'full'
    INFEASIBLE = 'infeasible'
    UNKNOWN = 'unknown'


ENDINGS = {
    Verdict.FITS: 'candidates were found',
    Verdict.FULL: 'full at present (it would fit if nothing were used)',
    Verdict.INFEASIBLE: 'infeasible as the cloud is configured',
    Verdict.UNKNOWN: 'unknown whether it could fit',
}


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """What turns providers or trees away.

    `names` are the classes, traits or aggregates it is about, alternatives joined by "or".  Of
    amounts `asked` is set against `largest`, the most that one provider of those that meet all
    other conditions offers to one candidate when it is empty, and `most_free`, the most that one
    of them has room for now; each is None where it does not apply.  Where several providers
    serve a group together, `classes` are those that this condition leaves without one; none are
    named where it leaves all of them so.
    """

    reason: Reason
    names: tuple[str, ...] = ()
    asked: int | None = None
    largest: int | None = None
    most_free: int | None = None
    classes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The condition in words, such as 'VCPU: 400 asked, largest 128 (too small)'."""
        names = ', '.join(self.names)
        if self.asked is None:
            concerned = f' for {", ".join(self.classes)}' if self.classes else ''
            return f'{self.reason.value} {names}{concerned}'.strip()
        amounts = [f'{self.asked} asked']
        if self.most_free is not None:
            amounts.append(f'most free {self.most_free}')
        if self.largest is not None:
            amounts.append(f'largest {self.largest}')
        return f'{names}: {", ".join(amounts)} ({self.reason.value})'


@dataclasses.dataclass(frozen=True, slots=True)
class Rejection:
    """A condition and how many providers it turned away that met the conditions before it.

    `providers` is None where they were not counted.
    """

    condition: Condition
    providers: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderFunnel:
    """What the conditions on one provider leave of all providers, one after the other.

    `suffix` is that of the group, empty for the unsuffixed one, and `amounts` what is asked of one
    provider.  `rejections` stand in the order of testing, and count all `providers`.
    """

    suffix: str
    amounts: tuple[tuple[str, int], ...]
    providers: int
    rejections: tuple[Rejection, ...]

    @property
    def description(self) -> str:
        """What is asked for, in words."""
        group = f'group {self.suffix!r}' if self.suffix else 'the unsuffixed group'
        amounts = ','.join(f'{name}:{amount}' for name, amount in self.amounts)
        return f'{group} ({amounts})' if amounts else group


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Why nothing was found.

    `decisive` is the condition that emptied the answer, None where no single one did or the search
    was cut. `funnel` is of the provider request that nobody can serve, None where each can be
    served by some provider. `places` counts what was looked at, explanation included.
    """

    verdict: Verdict
    providers: int
    decisive: Condition | None = None
    funnel: ProviderFunnel | None = None
    is_cut: bool = False
    places: int = 0

    @property
    def line(self) -> str:
        """The explanation in one line."""
        return f'No candidates: {self._cause()}; {ENDINGS[self.verdict]}.'

    def _cause(self) -> str:
        if not self.providers:
            return 'there are no resource providers'
        if self.is_cut:
            return f'the search budget was spent after {self.places} places'
        if self.funnel is not None:
            return f'{self.funnel.description}: {_counted(self.funnel)}'
        if self.decisive is None:
            return 'no tree has all that is asked for together'
        if self.decisive.asked is None and self.decisive.reason is not Reason.TREE_UNKNOWN:
            return f'{self.decisive.words} leaves no tree that could serve it'
        return self.decisive.words


def _counted(funnel: ProviderFunnel) -> str:
    """The last rejection, which left nobody, and what the conditions before it rejected."""
    *others, last = funnel.rejections
    text = last.condition.words
    if last.providers is not None:
        text += f' turned away the last {last.providers} of {funnel.providers} providers'
    before = ', '.join(f'{one.condition.words} {one.providers}' for one in others)
    return f'{text} (before that: {before})' if before else text
