"""Deployments that are anchored at a base model: who may register with them, and what verdicts say."""

import json
import math
import unittest

from attestation_world import (COVERED, SHAPES, WithWorld, read_safetensors, write_fisher, write_model, write_safetensors,
                               zkapex)

BIAS, ATTENTION = "classifier.bias", "vit.encoder.layer.0.attention.output.dense.weight"


class Anchor(WithWorld):
    def told(self, *arguments):
        run = zkapex(*arguments, "--quiet", "--json")
        self.assertEqual(run.returncode, 0, run)
        return json.loads(run.stdout)

    def deploy(self, *flags, model=None):
        return ["deploy", "--model", model or self.root / "theta0.safetensors", "--preset", "vit", "--block", 8, "-o",
                self.scratch / "d.zka", "--force", *flags]

    def model(self, name, change, more=None, base="alice.safetensors"):
        """A copy of a model with some numbers changed, tensor by tensor: change is {name: numbers -> numbers}; and with
        more tensors: {name: (shape, numbers)}."""
        numbers = read_safetensors(self.root / base)
        tensors = {n: (SHAPES[n], change.get(n, list)(numbers[n])) for n in SHAPES}
        write_safetensors(self.scratch / name, {**tensors, **(more or {})})
        return self.scratch / name

    def register(self, model, *flags, deployment=None, store=None, base=None, out="client"):
        base = ["--base", base or self.root / "theta0.safetensors"] if base is not False else []
        return ["register", "--deployment", deployment or self.root / "deployment.zka", "--model", model, *base,
                "--curvature", store or self.root / "alice-store.zka", "--client", "carol", "-o", self.scratch / out, *flags]

    def admit(self, *flags, deployment=None, base=None, client="client"):
        base = ["--base", base or self.root / "theta0.safetensors"] if base is not False else []
        return ["admit", "--ledger", self.scratch / "ledger", "--deployment", deployment or self.root / "deployment.zka",
                *base, "--registration", self.scratch / client / "registration.zka", *flags]

    def store(self, model):
        """Of the deployment d.zka."""
        write_fisher(self.scratch / "fisher.safetensors", 1)
        self.told("curvature", "--deployment", self.scratch / "d.zka", "--model", model, "--fisher",
                  self.scratch / "fisher.safetensors", "--force", "-o", self.scratch / "store.zka")
        return self.scratch / "store.zka"

    def verdicts(self, model, base):
        """A registration and a window under d.zka, and what is not proved of both."""
        deployment, store = self.scratch / "d.zka", self.store(model)
        self.told(*self.register(model, deployment=deployment, store=store, base=base))
        admitted = self.told(*self.admit(deployment=deployment, base=base))
        scores = {n: (SHAPES[n], [k % 7 for k in range(math.prod(SHAPES[n]))]) for n in COVERED}
        write_safetensors(self.scratch / "scores.safetensors", scores)
        self.told("mask", "--deployment", deployment, "--scores", self.scratch / "scores.safetensors", "--ratio", "0.1",
                  "--window", "w", "-o", self.scratch / "psi.zka")
        self.told("unlearn", "--client", self.scratch / "client", "--mask", self.scratch / "psi.zka", "-o",
                  self.scratch / "u.safetensors", "--proof", self.scratch / "p.zka")
        window = self.told("verify", "--ledger", self.scratch / "ledger", "--mask", self.scratch / "psi.zka", "--proof",
                           self.scratch / "p.zka")
        return admitted, window

    def test_the_shortest_command_line_anchors(self):
        for report in (self.told(*self.deploy()), self.told("inspect", self.scratch / "d.zka")):
            self.assertEqual((report["anchor"]["ratio"], report["loose"]), (0.4, []))
            self.assertEqual((report["free_tensors"], report["added_tensors"]), ([], []))
        other = self.told(*self.deploy("--anchor", "0.3", "--drift", "2e-3", "--added", "0.5"))["anchor"]
        self.assertEqual((other["ratio"], other["drift"], other["added"]), (0.3, "2e-3", "5e-1"))
        self.assertEqual(other["base"], report["anchor"]["base"])

    def test_options_that_make_no_anchor(self):
        for flags, part in ((["--anchor", "0"], "--anchor"), (["--anchor", "0.0001"], "three places"),
                            (["--anchor", "1001"], "1000"), (["--drift", "x"], "--drift"), (["--added", "-1"], "--added"),
                            (["--free", "nothing.*"], "--free nothing.*"), (["--free", "*"], "none of the model's tensors"),
                            (["--anchor", "0.1", "--no-anchor"], "excludes"), (["--base", "nowhere.safetensors"], "nowhere"),
                            (["--anchor", "1"], "--allow-loose"), (["--drift", "1"], "--allow-loose"), (["--added", "2"], "--allow-loose"),
                            (["--free", COVERED[0]], "--allow-loose"), (["--no-anchor", "--base", "x"], "excludes"),
                            (["--no-anchor", "--free", "classifier.*"], "excludes")):
            self.check_refused(zkapex(*self.deploy(*flags)), part)
        self.assertIn("any model may register", self.told(*self.deploy("--anchor", "1", "--allow-loose"))["loose"][0])

    def test_the_base_model_is_asked_for_and_known(self):
        alice, theirs = self.root / "alice.safetensors", self.root / "bob.safetensors"
        self.check_refused(zkapex(*self.register(alice, base=False)), "--base")
        self.check_refused(zkapex(*self.register(alice, base=theirs)), "bob.safetensors is not the base model")
        self.assertEqual(list(self.scratch.iterdir()), [])
        # The same integers in another type.
        same = self.scratch / "same.safetensors"
        write_safetensors(same, {n: (SHAPES[n], v) for n, v in read_safetensors(self.root / "theta0.safetensors").items()}, "F64")
        self.told(*self.register(alice, base=same))
        self.check_refused(zkapex(*self.admit(base=False)), "--base")
        self.check_refused(zkapex(*self.admit(base=theirs)), "bob.safetensors is not the base model")
        less = self.model("less.safetensors", {}, base="theta0.safetensors")
        write_safetensors(less, {n: (SHAPES[n], v) for n, v in read_safetensors(less).items() if n != BIAS})
        self.check_refused(zkapex(*self.admit(base=less)), "less.safetensors", BIAS)
        self.told(*self.admit(base=same))

    def test_models_outside_are_refused_before_anything_is_proved(self):
        for name, change, part in ((COVERED[1], lambda v: [1.5 * x for x in v], "drifted by"),
                                   (ATTENTION, lambda v: [0.0] * len(v), "allows"),  # that no operator reaches
                                   (BIAS, lambda v: [x + 0.2 for x in v], "drifted by 0.")):
            model = self.model("far.safetensors", {name: change})
            self.check_refused(zkapex(*self.register(model)), f"tensor '{name}'", part)
            self.assertFalse((self.scratch / "client" / "secret.zka").exists())
        model = self.model("far.safetensors", {n: lambda v: [2 * x for x in v] for n in (BIAS, *COVERED)})
        self.check_refused(zkapex(*self.register(model)), f"and {len(COVERED)} more tensors")

    def test_without_an_anchor_files_and_verdicts_say_so(self):
        for report in (self.told(*self.deploy("--no-anchor")), self.told("inspect", self.scratch / "d.zka")):
            self.assertIn("no anchor", report["loose"][0])
            self.assertNotIn("anchor", report)
        far = self.scratch / "far.safetensors"
        write_model(far, 9)
        store = self.store(far)
        self.check_refused(zkapex(*self.register(far, deployment=self.scratch / "d.zka", store=store)), "has no anchor")
        for report in self.verdicts(far, base=False):
            self.assertIn("no anchor", report["loose"][0])

    def test_free_tensors_are_named(self):
        head = {"classifier.weight": lambda v: [1.0] * len(v), BIAS: lambda v: [5.0] * len(v)}
        model = self.model("headed.safetensors", head)
        self.check_refused(zkapex(*self.register(model)), "classifier")
        self.assertEqual(self.told(*self.deploy("--free", "classifier.*"))["free_tensors"], [BIAS, "classifier.weight"])
        admitted, window = self.verdicts(model, base=None)
        for lines in (admitted["registrations"][0]["not_proved"], window["not_proved"]):
            [line] = [line for line in lines if "free" in line]
            self.assertIn("classifier.bias, classifier.weight", line)
        # A head of another shape in the base model, which nobody reads.
        base = self.scratch / "base.safetensors"
        tensors = {n: (SHAPES[n], v) for n, v in read_safetensors(self.root / "theta0.safetensors").items()}
        write_safetensors(base, {**tensors, BIAS: ((1,), [0.0])})
        self.check_refused(zkapex(*self.deploy("--base", base)), BIAS, "another shape", "--free")
        self.told(*self.deploy("--base", base, "--free", "classifier.*"))

    def test_added_tensors_are_small_and_named(self):
        small = self.model("small.safetensors", {}, {"adapter.down": ((2, 12), [0.05] * 24)})
        large = self.model("large.safetensors", {}, {"adapter.down": ((2, 12), [0.3] * 24)})
        base = self.root / "theta0.safetensors"
        report = self.told(*self.deploy("--base", base, model=small))
        self.assertEqual(report["added_tensors"], ["adapter.down"])
        arguments = {"deployment": self.scratch / "d.zka", "store": self.store(small)}
        self.check_refused(zkapex(*self.register(large, **arguments)), "adapter.down", "by 0.3", "allows 0.25")
        admitted, window = self.verdicts(small, base=None)
        for lines in (admitted["registrations"][0]["not_proved"], window["not_proved"]):
            self.assertEqual([line for line in lines if "does not have" in line][0].split(": ")[1], "adapter.down")


if __name__ == "__main__":
    unittest.main()
