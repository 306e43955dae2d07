"""Ten clients and a server of Flower, on its simulation engine: `flwr run` with the app in federation/."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENTS = 10
APP = Path(__file__).with_name("federation")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port, process):
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the SuperLink has ended with {process.returncode}")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the SuperLink did not come up within a minute")


def main():
    with tempfile.TemporaryDirectory() as place:
        # A SuperLink that ends with this example; the one that `flwr run` starts by itself stays. It takes the packages
        # that are installed here, where Flower would fetch for every run what pyproject.toml names.
        home, port = Path(place) / "flower", free_port()
        home.mkdir()
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "own"\n[superlink.own]\naddress = "127.0.0.1:{port}"\ninsecure = true\n')
        programs = Path(sys.executable).parent
        environment = {**os.environ, "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0",
                       "FLWR_DISABLE_UPDATE_CHECK": "1", "PATH": f"{programs}:{os.environ['PATH']}"}
        with open(home / "superlink.log", "w") as log:
            link = subprocess.Popen(["flower-superlink", "--insecure", "--simulation", "--host", "127.0.0.1", "--port",
                                     str(port), "--disable-runtime-dependency-installation"],
                                    env=environment, stdout=log, stderr=log)
        try:
            wait_for(port, link)
            subprocess.run(["flwr", "run", APP, "--stream", "--run-config", f'folder="{place}" clients={CLIENTS}',
                            "--federation-config", f"num-supernodes={CLIENTS}"], env=environment, check=True)
        finally:
            link.terminate()
            link.wait()
        assert (Path(place) / "server" / "done").read_text() == f"{CLIENTS} {CLIENTS} {CLIENTS}"


if __name__ == "__main__":
    main()
