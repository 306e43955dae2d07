#!/usr/bin/env python3
"""The reference verifier: checks a registration and the proof of a window, or an update, as docs/argument.md,
docs/window.md and docs/formats.md say.

It shares no code with the program, needs nothing but Python, and is slow. Exit status: 0 accepted, 1 rejected, 2 for
wrong usage, files that are missing, and a deployment or mask that is not well formed.
"""

import argparse
import sys

import files
from argument import require_identity
from base import BaseModel
from deployment import Deployment
from files import BadInput, ModelCommitment, ProofFile, RegistrationFile, Rejection, UpdateFile, read_file, refuse_if
from registration import Registered, Registration
from request import Mask
from update import PastWindow, Update
from window import Window


def provided(parse, path, max_bytes):
    """A file of the provider's own."""
    try:
        return parse(read_file(path, max_bytes))
    except BadInput as problem:
        raise BadInput(f"{path}: {problem}") from problem


def submitted(parse, path):
    """A file that a client hands in."""
    try:
        return parse(read_file(path, files.MAX_PUBLIC))
    except BadInput as problem:
        raise Rejection("file", f"{path}: {problem}") from problem


def provided_mask(path, deployment):
    mask = provided(Mask, path, files.MAX_MASK)
    mask.check_for(deployment)
    return mask


def past_windows(options, deployment):
    """Of the client's history, in order: masks, and for each with a guide the model commitment before it."""
    masks = [provided_mask(path, deployment) for path in options.past]
    refuse_if(len(options.before) != sum(1 for mask in masks if mask.guide), "--before: one for each --past with a guide")
    before = iter(options.before)
    commitments = [provided(ModelCommitment.parse, next(before), files.MAX_PUBLIC) if m.guide else None for m in masks]
    return [PastWindow(mask, c.rows if c else []) for mask, c in zip(masks, commitments, strict=True)]


def verify(options):
    """Returns what was accepted and the client's model after it; anything else is an exception."""
    deployment = provided(Deployment, options.deployment, files.MAX_DEPLOYMENT)
    base = None
    if deployment.anchor:
        refuse_if(not options.base, "the deployment has an anchor: --base is needed")
        base = provided(lambda data: BaseModel(data, deployment), options.base, files.MAX_BASE)
    refuse_if(bool(options.update) == bool(options.proof), "give --proof with --mask, or --update")
    mask = None
    if options.proof:
        refuse_if(not options.mask, "give the --mask of the window")
        mask = provided_mask(options.mask, deployment)
    windows = past_windows(options, deployment)
    last_mask = provided(Mask, options.last_mask, files.MAX_MASK) if options.last_mask else None
    registration_file = submitted(RegistrationFile.parse, options.registration)
    parse, path = (UpdateFile.parse, options.update) if options.update else (ProofFile.parse, options.proof)
    file = submitted(parse, path)

    registration = Registration(deployment, registration_file, base)
    registered = registration.registered()
    if options.record:
        registered = provided(Registered.parse, options.record, files.MAX_PUBLIC)
        refuse_if(registered.digest != registration_file.digest, "--record is of another registration")
    current = submitted(ModelCommitment.parse, options.commitment) if options.commitment else registered.model
    if options.update:
        step, name = Update(deployment, registered, current, windows, file, base), "update"
    else:
        step, name = Window(deployment, registered, current, last_mask, mask, file), "window"
    step_sum, registration_sum = step.check(), registration.check()
    require_identity(registration_sum, "registration")
    require_identity(step_sum, name)
    return mask.operator if mask else name, step.next_model()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployment", required=True, metavar="FILE")
    parser.add_argument("--base", metavar="FILE", help="the base model of the deployment's anchor: safetensors")
    parser.add_argument("--registration", required=True, metavar="FILE")
    parser.add_argument("--record", metavar="FILE", help="the provider's record of the client's last update")
    parser.add_argument("--mask", metavar="FILE", help="of the window that --proof is of")
    parser.add_argument("--proof", metavar="FILE")
    parser.add_argument("--update", metavar="FILE")
    parser.add_argument("--past", metavar="MASK", nargs="*", default=[], help="for --update: of all windows, in order")
    parser.add_argument("--before", metavar="FILE", nargs="*", default=[],
                        help="for --update: the model commitment before each window with a guide")  # fmt: skip
    parser.add_argument("--commitment", metavar="FILE", help="what -o wrote for the client's last window or update")
    parser.add_argument("--last-mask", metavar="FILE", help="the mask of the client's last window, if there was one")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the commitment to the new model")
    options = parser.parse_args()
    try:
        what, after = verify(options)
        if options.output:
            with open(options.output, "xb") as out:
                out.write(after.encode())
    except Rejection as rejection:
        print(rejection)
        return 1
    except (BadInput, OSError) as problem:
        print(f"verify.py: {problem}", file=sys.stderr)
        return 2
    print(f"accepted ({what})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
