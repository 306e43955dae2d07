"""A server and its clients, as an app of Flower: after a round of personalization comes a round in which all clients
unlearn, each with a proof, and the server verifies them together."""

import time
from pathlib import Path

import torch
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

import zkapex.torch as zt

FILES = ("deployment.zka", "theta0.safetensors", "psi.zka")  # what the server publishes


def new_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 3))


def data(seed, count=64):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 12, generator=generator)
    return inputs, inputs[:, :3].argmax(1)


client_app = ClientApp()


class Home:
    """A client's own disk: nothing of it is the server's but what it sent."""

    def __init__(self, message, context):
        self.number = int(context.node_config["partition-id"])
        self.folder = Path(context.run_config["folder"]) / f"client-{self.number}"
        self.folder.mkdir(exist_ok=True)
        for name, content in message.content["files"].items():
            (self.folder / name).write_bytes(content)

    def path(self, name):
        return self.folder / name

    def load(self):
        model = new_model()
        zt.load_into(model, self.path("model.safetensors"))
        return model


def reply(message, **values):
    return Message(content=RecordDict({"answer": ConfigRecord(values)}), reply_to=message)


@client_app.train("personalize")
def personalize(message: Message, context: Context) -> Message:
    """Fine-tunes the server's model on the client's data, and registers what came out."""
    home = Home(message, context)
    model = new_model()
    zt.load_into(model, home.path("theta0.safetensors"))
    inputs, labels = data(100 + home.number)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    deployment = zt.Deployment(home.path("deployment.zka"))
    zt.fisher(model, [(inputs, labels)], deployment, home.path("store.zka"))
    client = zt.register(model, deployment, f"client-{home.number}", home.path("zkapex"),
                         curvature=home.path("store.zka"), base=home.path("theta0.safetensors"))
    zt.save(model, home.path("model.safetensors"))
    return reply(message, file=client.registration.read_bytes())


@client_app.train("unlearn")
def unlearn(message: Message, context: Context) -> Message:
    """The round of unlearning: the request comes from the server, the proof goes back."""
    home = Home(message, context)
    model = home.load()
    proof = zt.unlearn(model, home.path("zkapex"), home.path("psi.zka"))
    zt.save(model, home.path("model.safetensors"), force=True)
    return reply(message, file=proof.data)


@client_app.train("settle")
def settle(message: Message, context: Context) -> Message:
    home = Home(message, context)
    report = zt.Client(home.path("zkapex")).settle(accepted=bool(message.content["verdict"]["accepted"]))
    return reply(message, window=report["window"])


server_app = ServerApp()


def wait_for_clients(grid, count):
    """The engine starts in the same process, and forks: nothing else should be at work meanwhile."""
    for _ in range(600):
        if len(nodes := list(grid.get_node_ids())) == count:
            return nodes
        time.sleep(1)
    raise TimeoutError(f"{len(nodes)} of {count} clients came within ten minutes")


@server_app.main()
def serve(grid: Grid, context: Context) -> None:
    nodes = wait_for_clients(grid, context.run_config["clients"])
    folder = Path(context.run_config["folder"]) / "server"
    folder.mkdir()
    theta0 = new_model()
    zt.save(theta0, folder / "theta0.safetensors")
    deployment = zt.Deployment.from_model(theta0, folder / "deployment.zka", r"\d\.weight", block=16)
    ledger = zt.Ledger(folder / "ledger", deployment, base=folder / "theta0.safetensors")

    def ask(what, published, **more):
        files = ConfigRecord({name: (folder / name).read_bytes() for name in published})
        messages = [Message(content=RecordDict({"files": files, **{k: v[node] for k, v in more.items()}}),
                            message_type=f"train.{what}", dst_node_id=node) for node in nodes]
        replies = list(grid.send_and_receive(messages))
        return {r.metadata.src_node_id: r.content["answer"] for r in replies if not r.has_error()}

    registrations = ask("personalize", FILES[:2])
    admitted = [node for node in registrations if ledger.admit(registrations[node]["file"])]
    print(f"{len(admitted)} of {len(nodes)} clients are registered")

    zt.save_scores(zt.saliency(theta0, [data(1)], deployment), folder / "scores.safetensors")
    request = zt.Request.make(deployment, folder / "psi.zka", window="round-2", scores=folder / "scores.safetensors",
                              ratio="0.05")
    ledger.publish(request)
    proofs = ask("unlearn", FILES[2:])
    verdicts = ledger.verify_batch(request, [answer["file"] for answer in proofs.values()])
    print(f"{sum(map(bool, verdicts))} of {len(proofs)} proofs are accepted")

    said = {node: ConfigRecord({"accepted": bool(verdict)}) for node, verdict in zip(proofs, verdicts)}
    settled = ask("settle", (), verdict=said)
    print(f"{len(settled)} clients have settled {request.window}")
    (folder / "done").write_text(f"{len(admitted)} {sum(map(bool, verdicts))} {len(settled)}")
