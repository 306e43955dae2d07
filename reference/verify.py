#!/usr/bin/env python3
"""The reference verifier: checks a registration and the proof of a window as docs/argument.md, docs/window.md
and docs/formats.md say.

It shares no code with the program, needs nothing but Python, and is slow. Exit status: 0 accepted, 1 rejected, 2 for
wrong usage, files that are missing, and a deployment or mask that is not well formed.
"""

import argparse
import sys

import files
from argument import require_identity
from deployment import Deployment
from files import BadInput, ModelCommitment, ProofFile, RegistrationFile, Rejection, read_file
from registration import Registration
from request import Mask
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


def verify(options):
    """Returns the operator of the request and the client's model after the window; anything else is an exception."""
    deployment = provided(Deployment, options.deployment, files.MAX_DEPLOYMENT)
    mask = provided(Mask, options.mask, files.MAX_MASK)
    mask.check_for(deployment)
    last_mask = provided(Mask, options.last_mask, files.MAX_MASK) if options.last_mask else None
    registration_file = submitted(RegistrationFile.parse, options.registration)
    proof_file = submitted(ProofFile.parse, options.proof)

    registration = Registration(deployment, registration_file)
    registered = registration.registered()
    current = submitted(ModelCommitment.parse, options.commitment) if options.commitment else registered.model
    window = Window(deployment, registered, current, last_mask, mask, proof_file)
    window_sum, registration_sum = window.check(), registration.check()
    require_identity(registration_sum, "registration")
    require_identity(window_sum, "window")
    return mask.operator, window.next_model()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployment", required=True, metavar="FILE")
    parser.add_argument("--registration", required=True, metavar="FILE")
    parser.add_argument("--mask", required=True, metavar="FILE")
    parser.add_argument("--proof", required=True, metavar="FILE")
    parser.add_argument("--commitment", metavar="FILE", help="what -o wrote for the client's last window")
    parser.add_argument("--last-mask", metavar="FILE", help="the mask of the client's last window, if there was one")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the commitment to the new model")
    options = parser.parse_args()
    try:
        operator, after = verify(options)
        if options.output:
            with open(options.output, "xb") as out:
                out.write(after.encode())
    except Rejection as rejection:
        print(rejection)
        return 1
    except (BadInput, OSError) as problem:
        print(f"verify.py: {problem}", file=sys.stderr)
        return 2
    print(f"accepted ({operator})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
