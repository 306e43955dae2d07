"""The provider's service as processes: its folder, its roles, its listeners, its pages in a real browser."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

from attestation_world import PROGRAM, write_model, zkapex


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Running:
    """A provider that runs until the test ends it; its events are read as they come."""

    def __init__(self, folder, *flags):
        self.process = subprocess.Popen([PROGRAM, "provider", "run", "--folder", str(folder), "--port", "0", "--admin-port",
                                         "0", "--log-json", "--threads", "1", *flags], stdout=subprocess.PIPE, text=True)
        self.events = []
        self.started = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if not self.started.wait(60):
            raise AssertionError(f"it does not start: {self.events}")
        found = next(e for e in self.events if e["event"] == "started")
        self.url, self.admin = found.get("url"), found.get("admin")

    def read(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == "started":
                self.started.set()
        self.started.set()

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(40)
        self.reader.join(10)
        self.process.stdout.close()
        return code


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = Path(cls.temporary.name)
        os.environ["ZKAPEX_CACHE"] = str(cls.root / "cache")
        write_model(cls.root / "theta0.safetensors", 0)
        write_model(cls.root / "scores.safetensors", 1)
        cls.deployment = cls.root / "deployment.zka"
        for arguments in (["deploy", "--model", cls.root / "theta0.safetensors", "--preset", "vit", "--block", 8, "-o",
                           cls.deployment],
                          ["mask", "--deployment", cls.deployment, "--scores", cls.root / "scores.safetensors", "--ratio",
                           "0.1", "--window", "2026 <b>&", "-o", cls.root / "psi.zka"]):
            run = zkapex(*arguments)
            assert run.returncode == 0, run

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.folder = self.scratch / "provider"

    def init(self, *flags, origin="log.example/zkapex"):
        return zkapex("provider", "init", "--folder", self.folder, "--deployment", self.deployment, "--base",
                      self.root / "theta0.safetensors", "--origin", origin, *flags)

    def run_provider(self, *flags):
        running = Running(self.folder, *flags)
        self.addCleanup(running.end, signal.SIGKILL)
        return running

    def command(self, name, *flags):
        run = zkapex("provider", name, "--folder", self.folder, *flags)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        return run.stdout

    def check_refused(self, run, *parts):
        self.assertEqual(run.returncode, 2, run)
        self.assertRegex(run.stderr, r"\Azkapex: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, run.stderr)

    def token(self):
        return {"Authorization": "Bearer " + (self.folder / "admin-token").read_text().strip()}

    def get(self, url, headers=None):
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=20) as answer:
            return answer.read().decode()

    def wait_until(self, condition):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.05)
        self.fail("it does not come to that")

    def wait_for_entries(self, running, count):
        """Until the published checkpoint has them: entries are stored first, then signed for."""
        self.wait_until(lambda: self.get(running.url + "/log/checkpoint").split("\n")[1] == str(count))

    def test_a_folder_has_what_a_provider_needs(self):
        run = self.init("--json")
        self.assertEqual(run.returncode, 0, run)
        made = json.loads(run.stdout)
        self.assertTrue(made["log_key"].startswith("log.example/zkapex+"))
        for name in ("log-key.pem", "statement-key.pem", "admin-token"):
            self.assertEqual(stat.S_IMODE((self.folder / name).stat().st_mode), 0o600, name)
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
        self.assertNotEqual((self.folder / "log-key.pem").read_text(), (self.folder / "statement-key.pem").read_text())
        self.check_refused(self.init(), "exists already")

    def test_a_folder_that_fails_is_not_there(self):
        self.check_refused(self.init(origin="a b"))
        self.assertFalse(self.folder.exists())
        run = zkapex("provider", "init", "--folder", self.folder, "--deployment", self.deployment, "--origin", "a.b/c")
        self.check_refused(run, "--base")
        self.assertFalse(self.folder.exists())
        self.check_refused(zkapex("provider", "run", "--folder", self.folder), "no provider's folder")

    def test_a_key_that_others_read_is_refused(self):
        self.assertEqual(self.init().returncode, 0)
        (self.folder / "statement-key.pem").chmod(0o644)
        self.check_refused(zkapex("provider", "status", "--folder", self.folder), "statement-key.pem")

    def start_s3(self):
        """The room's small server, which checks every signature."""
        server = subprocess.Popen([sys.executable, Path(__file__).parents[1] / "service" / "s3_testing.py"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        return ["--s3-endpoint", f"http://127.0.0.1:{server.stdout.readline().strip()}", "--s3-bucket", "bucket",
                "--s3-region", "region-1"]

    def test_uploads_in_s3(self):
        s3 = self.start_s3()
        self.check_refused(self.init(*s3), "AWS_ACCESS_KEY_ID")
        self.check_refused(self.init("--s3-bucket", "bucket"), "--s3-endpoint")
        keys = self.scratch / "keys.json"
        keys.write_text(json.dumps({"access_key": "access", "secret_key": "a wrong one"}))
        keys.chmod(0o644)
        self.check_refused(self.init(*s3, "--s3-credentials", keys), "chmod 600")
        keys.chmod(0o600)
        self.check_refused(self.init(*s3, "--s3-credentials", keys), "answered 403")
        self.assertFalse(self.folder.exists())
        keys.write_text(json.dumps({"access_key": "access", "secret_key": "secret/key"}))
        self.assertEqual(self.init(*s3, "--s3-credentials", keys).returncode, 0)
        self.assertFalse((self.folder / "blobs").exists())
        self.assertNotIn("secret/key", (self.folder / "provider.json").read_text())
        self.command("request", "--mask", self.root / "psi.zka", "--days", "14")
        running = self.run_provider()
        with urllib.request.urlopen(running.url + "/v1/deployment.zka", timeout=20) as answer:
            self.assertEqual(answer.read(), self.deployment.read_bytes())
        self.assertFalse((self.folder / "blobs").exists())
        self.assertEqual(running.end(), 0)

    def test_codes_and_requests(self):
        self.assertEqual(self.init().returncode, 0)
        codes = self.command("code", "-n", "3").split()
        self.assertEqual(len(set(codes)), 3)
        self.assertRegex(codes[0], r"\A([2-9A-HJ-NP-Z]{5}-){3}[2-9A-HJ-NP-Z]{5}\Z")
        self.check_refused(zkapex("provider", "request", "--folder", self.folder, "--mask", self.root / "psi.zka"),
                           "--deadline or --days")
        published = json.loads(self.command("request", "--mask", self.root / "psi.zka", "--days", "14", "--json"))
        self.assertEqual(published["window"], "2026 <b>&")
        status = json.loads(self.command("status", "--json"))
        self.assertEqual(status["requests"]["2026 <b>&"]["due"], 0)
        self.assertTrue(self.command("export", "--window", "2026 <b>&").startswith("window,client,state,reason,"))
        self.check_refused(zkapex("provider", "export", "--folder", self.folder, "--window", "w9"), "no window")
        self.check_refused(zkapex("provider", "request", "--folder", self.folder, "--mask", self.deployment, "--days", "1"))

    def test_it_serves_and_ends_in_order(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        self.assertEqual(json.loads(self.get(running.admin + "/healthz"))["status"], "alive")
        self.assertEqual(json.loads(self.get(running.admin + "/readyz"))["status"], "ready")
        deployment = json.loads(self.get(running.url + "/v1/deployment"))
        self.assertIn("deployment", deployment)
        self.assertEqual(self.get(running.url + "/log/checkpoint").split("\n")[0], "log.example/zkapex")
        # Published while it runs, by another process: in the log soon after.
        self.command("request", "--mask", self.root / "psi.zka", "--days", "14")
        self.wait_until(lambda: len(json.loads(self.get(running.url + "/v1/windows"))["windows"]) == 1)
        self.wait_for_entries(running, 2)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get(running.admin + "/")
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()
        self.assertEqual(running.end(), 0)
        events = [event["event"] for event in running.events]
        self.assertEqual(events[-2:], ["draining", "ended"])
        self.assertTrue(all({"time", "level", "event"} <= set(event) for event in running.events))

    def test_a_request_that_has_begun_is_answered_while_it_ends(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        port = int(running.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as begun:
            begun.sendall(b"POST /v1/clients HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(begun.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            begun.sendall(b"{")
            running.process.send_signal(signal.SIGTERM)
            self.wait_until(lambda: any(event["event"] == "draining" for event in running.events))
            begun.sendall(b"}")
            answer = b"".join(iter(lambda: begun.recv(4096), b"")).decode()
        self.assertTrue(answer.startswith("HTTP/1.1 400 "), answer)
        self.assertIn("urn:zkapex:problem:malformed", answer)
        self.assertEqual(running.process.wait(40), 0)

    def test_killed_it_goes_on_where_it_was(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        self.command("request", "--mask", self.root / "psi.zka", "--days", "14")
        self.wait_for_entries(running, 2)
        before = self.get(running.url + "/log/checkpoint")
        running.end(signal.SIGKILL)
        running = self.run_provider()
        self.assertEqual(self.get(running.url + "/log/checkpoint"), before)

    def test_roles_run_apart(self):
        self.assertEqual(self.init().returncode, 0)
        log = self.run_provider("--role", "log")
        api = self.run_provider("--role", "api")
        work = self.run_provider("--role", "work")
        self.assertIsNone(log.url)
        self.assertIsNone(work.url)
        self.command("request", "--mask", self.root / "psi.zka", "--days", "14")
        self.wait_until(lambda: len(json.loads(self.get(api.url + "/v1/windows"))["windows"]) == 1)
        # There is one sequencer: a second one is refused.
        run = zkapex("provider", "run", "--folder", self.folder, "--role", "log")
        self.assertEqual(run.returncode, 2, run)
        for running in (log, api, work):
            self.assertEqual(running.end(), 0)

    def test_strange_paths_find_nothing(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        port = int(running.url.rsplit(":", 1)[1])
        for path in ("/log/../statement-key.pem", "/log/%2e%2e/log-key.pem", "/log/..%2flog-key.pem", "/log//etc/passwd",
                     "/log/tile/../../provider.json", "/../../etc/passwd", "/log/.hidden"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", path)
            answer = connection.getresponse()
            self.assertIn(answer.status, (400, 404), path)
            self.assertEqual(answer.getheader("Content-Type"), "application/problem+json")
            connection.close()

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl_understands_it(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        out = self.scratch / "deployment.zka"
        subprocess.run(["curl", "-sSf", "-o", str(out), running.url + "/v1/deployment.zka"], check=True, timeout=60)
        self.assertEqual(out.read_bytes(), self.deployment.read_bytes())
        # A body of two megabytes, which curl asks about first, and one in chunks.
        (self.scratch / "large").write_bytes(bytes(2_000_000))
        for flags, status in ((["-T", str(self.scratch / "large")], "404"),
                              (["-T", str(self.scratch / "large"), "-H", "Transfer-Encoding: chunked"], "415")):
            run = subprocess.run(["curl", "-sS", "-o", os.devnull, "-w", "%{http_code}", *flags,
                                  running.url + "/v1/uploads/" + "0" * 64], capture_output=True, text=True, timeout=60)
            self.assertEqual(run.stdout, status, run)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_tls(self):
        certificate, key = self.scratch / "certificate.pem", self.scratch / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        str(key), "-out", str(certificate)], check=True, capture_output=True, timeout=60)
        key.chmod(0o644)
        self.assertEqual(self.init("--tls-certificate", certificate, "--tls-key", key).returncode, 0)
        self.check_refused(zkapex("provider", "run", "--folder", self.folder, "--port", "0"), "chmod 600")
        key.chmod(0o600)
        running = self.run_provider()
        self.assertTrue(running.url.startswith("https://"))
        context = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(running.url + "/log/checkpoint", context=context, timeout=20) as answer:
            self.assertTrue(answer.read().startswith(b"log.example/zkapex\n"))
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, OSError)):
            with socket.create_connection(("127.0.0.1", int(running.url.rsplit(":", 1)[1])), timeout=20) as plain:
                old.wrap_socket(plain).close()

    @unittest.skipUnless(shutil.which("promtool"), "promtool (package prometheus) is not installed")
    def test_prometheus_accepts_the_metrics(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        self.command("request", "--mask", self.root / "psi.zka", "--days", "14")
        self.get(running.url + "/v1/windows")
        # Counted when its last byte is sent, which is after its reader has it.
        counted = 'zkapex_http_requests_total{route="/v1/windows",method="GET",status="200"} 1'
        self.wait_until(lambda: counted in self.get(running.admin + "/metrics"))
        metrics = self.get(running.admin + "/metrics")
        run = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""), run)

    def test_the_bench_with_two_workers(self):
        run = zkapex("bench", "service", "--clients", "4", "--connections", "2", "--polls", "4", "--others", "2",
                     "--workers", "2", "--json", "--quiet")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run)
        told = json.loads(run.stdout)
        self.assertEqual((told["clients"], told["other_clients"], told["workers"]), (4, 2, 2))
        self.assertGreater(told["log_entries"], 3 * 2 + 3 * 4)
        self.assertGreater(told["worker_peak_rss_bytes"], 1 << 20)
        self.assertEqual(told["latency_ms"]["PUT /v1/uploads/ID"]["requests"], 8)

    def browse(self, browser, profile, url, *flags):
        run = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                              f"--user-data-dir={profile}", "--virtual-time-budget=3000", *flags, url],
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr[-2000:])
        return run.stdout

    @unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
    def test_the_dashboard_in_a_browser(self):
        self.assertEqual(self.init().returncode, 0)
        running = self.run_provider()
        self.command("request", "--mask", self.root / "psi.zka", "--days", "14")
        self.wait_until(lambda: len(json.loads(self.get(running.url + "/v1/windows"))["windows"]) == 1)
        link = json.loads(self.command("status", "--json"))["dashboard"]
        link = running.admin + re.sub(r"\Ahttps?://[^/]+", "", link)
        profile = self.scratch / "profile"
        page = self.browse("chromium", profile, link, "--dump-dom")
        # Logged in by the link and sent on; the script has run under the policy of the page: times have ages.
        self.assertIn("<h1>Overview</h1>", page)
        self.assertIn("2026 &lt;b&gt;&amp;", page)
        self.assertNotIn("2026 <b>", page)
        self.assertRegex(page, r'<small class="age soft">\(in \d+ days\)</small>')
        self.assertIn('role="img"', page)
        self.assertIn("None: every upload was verified", page)


if __name__ == "__main__":
    unittest.main()
