"""An update: a client has learned on, and keeps what its windows did (docs/window.md, section 8)."""

from dataclasses import dataclass

from files import ModelCommitment, reject_if
from registration import CommittedModel, KnownRows, Registered
from transcript import Transcript


@dataclass
class PastWindow:
    mask: object  # was checked for the deployment
    before: list  # of one with a guide: rows of the model that it started from


class Reference:
    """θ0 and all guides, and zero on what was removed: the base model as windows have moved it."""

    def __init__(self, base, layout, guides, removed):
        self.base, self.layout, self.removed, self.moved = base, layout, set(removed), {}
        for delta, _ in guides:
            for i, value in delta.items():
                self.moved[i] = self.moved.get(i, 0) + value

    def rows(self, covered, first_row, count):
        n = self.layout.row
        for row, position, entry in self.base.rows(covered, first_row, count):
            if not covered or (first_row + row) * n + position not in self.removed:
                yield row, position, entry
        for i, value in self.moved.items() if covered else ():
            if 0 <= i // n - first_row < count:
                yield i // n - first_row, i % n, value


class Update:
    """An update file against the client's records. `windows` are those of the current model, in order."""

    def __init__(self, deployment, registered, current, windows, file, base=None):
        reject_if(file.deployment != deployment.digest, "deployment", "the update is for another deployment")
        reject_if(file.client != registered.client, "client", "the update is of another client")
        same = file.registration == registered.digest == current.registration
        reject_if(not same, "registration", "the update or the model commitment belongs to another registration")
        reject_if(file.model != current.digest(), "model", "the update goes on from another model")
        reject_if(current.update != registered.model.update, "model", "the record is not that of the last update")
        known = [window.mask.digest for window in windows] == [digest for _, digest in current.windows]
        reject_if(not known, "mask", "the masks of the client's windows are not known")
        layout = deployment.layout
        for window in windows:
            expected = layout.rows if window.mask.guide else 0
            reject_if(len(window.before) != expected, "statement", "the model before a guided window is not there")
        there = len(current.rows) == layout.rows
        reject_if(not there, "statement", "the model that the update goes on from is not there")
        self.deployment, self.registered, self.current = deployment, registered, current
        self.windows, self.file = windows, file
        removed = [layout.padded_index(c) for c in windows[-1].mask.support] if windows else []
        gone, masks = set(removed), [window.mask for window in windows if window.mask.guide]
        guides = [({i: v for i, v in m.guide.delta.items() if i not in gone}, m.progress) for m in masks]
        scales = [sum(column) for column in zip(*(mask.guide.scales for mask in masks))]
        reject_if(any(total > 2**61 for total in scales), "statement", "the guides add up to too much")
        reference = Reference(base, layout, guides, removed) if base else None
        known = KnownRows(layout.row, layout.rows, len(self.before()))
        self.committed = CommittedModel(deployment, file, file.curvature, removed, guides, reference, known)

    def transcript(self):
        """Up to the first challenge."""
        main = Transcript("zkapex update 2")
        main.absorb("deployment", self.deployment.digest)
        main.absorb("client", self.file.client)
        main.absorb("registration", self.registered.digest)
        main.absorb("start", self.current.digest())
        main.absorb("masks", b"".join(window.mask.digest for window in self.windows))
        main.absorb("before", b"".join(self.before()))
        main.absorb("current", b"".join(self.current.rows))
        self.committed.absorb_rows(main)
        return main

    def before(self):
        return [row for window in self.windows for row in window.before]

    def check(self):
        """The sum that must vanish."""
        return self.committed.check(self.transcript(), [*self.before(), *self.current.rows])

    def next_model(self):
        return ModelCommitment(
            self.current.registration, self.file.digest, self.current.windows, self.committed.model
        )

    def updated(self):
        """What windows are verified against from then on."""
        curvature = self.committed.curvature if self.file.curvature else self.registered.curvature
        model = ModelCommitment(self.registered.digest, self.file.digest, [], self.committed.model)
        return Registered(self.registered.digest, self.registered.client, self.committed.unchanged, curvature, model)
