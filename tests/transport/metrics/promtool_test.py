#!/usr/bin/python3
"""Prometheus itself reads what a node exports, and the rules and the dashboard of examples/ops.

Needs Debian's package prometheus, so the target is manual: .ci/long metrics installs it.
"""

import json
import os
import re
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
EXAMPLES = os.path.join(ROOT, "examples/ops")
NODE = os.path.join(ROOT, "tests/transport/metrics/scraped_node")
WITHIN = 120

CONFIG = """
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: ["%s"]
scrape_configs:
  - job_name: understudy
    static_configs:
      - targets: ["%s"]
"""


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=WITHIN) as reply:
        return reply.read().decode()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class PromtoolTest(unittest.TestCase):
    def setUp(self):
        self.node = subprocess.Popen([NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.node.stdout.readline().strip()

    def tearDown(self):
        self.node.stdin.close()
        self.assertEqual(self.node.wait(WITHIN), 0)
        self.node.stdout.close()

    def promtool(self, *arguments, text=None, folder=None):
        done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, cwd=folder,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_checker_complains_of_nothing(self):
        self.assertEqual(self.promtool("check", "metrics", text=get(self.address, "/metrics")), "")

    def test_the_alert_rules_are_good_and_fire_when_they_should(self):
        self.promtool("check", "rules", "alerts.yml", folder=EXAMPLES)
        self.promtool("test", "rules", "alert_cases.yml", folder=EXAMPLES)
        with open(os.path.join(EXAMPLES, "alerts.yml"), encoding="utf-8") as file:
            alerts = re.findall(r"- alert: (\w+)", file.read())
        with open(os.path.join(EXAMPLES, "alert_cases.yml"), encoding="utf-8") as file:
            cases = re.findall(r"- alertname: (\w+)", file.read())
        self.assertEqual(sorted(alerts), sorted(set(cases)), "each alert has a case in which it fires")

    def test_a_prometheus_that_has_scraped_a_node_answers_each_query(self):
        server = f"127.0.0.1:{free_port()}"
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "prometheus.yml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(CONFIG % (os.path.realpath(os.path.join(EXAMPLES, "alerts.yml")), self.address))
            with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
                prometheus = subprocess.Popen(
                    ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                     f"--web.listen-address={server}"], stdout=log, stderr=log)
            try:
                self.each_query_is_answered(server)
            finally:
                prometheus.terminate()
                prometheus.wait(WITHIN)

    def query(self, server, expression):
        reply = json.loads(get(server, "/api/v1/query?" + urllib.parse.urlencode({"query": expression})))
        self.assertEqual(reply["status"], "success", expression)
        return reply["data"]["result"]

    def each_query_is_answered(self, server):
        deadline = time.monotonic() + WITHIN
        found = []
        while not found:  # until it has the two scrapes that a rate needs
            self.assertLess(time.monotonic(), deadline, "Prometheus has not scraped the node")
            try:
                found = self.query(server, "rate(understudy_dead_letters_total[1m])")
            except OSError:
                pass  # it is not listening yet
            time.sleep(0.1)
        with open(os.path.join(EXAMPLES, "dashboard.json"), encoding="utf-8") as file:
            dashboard = json.load(file)
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
                self.assertTrue(self.query(server, expression), f"{panel['title']}: {expression}")
        rules = json.loads(get(server, "/api/v1/rules"))["data"]["groups"][0]["rules"]
        with open(os.path.join(EXAMPLES, "alerts.yml"), encoding="utf-8") as file:
            self.assertEqual(len(rules), file.read().count("- alert: "))
        for rule in rules:
            self.query(server, rule["query"])
            # The expressions name families that there are.
            for family in re.findall(r"understudy_\w+", rule["query"]):
                self.assertTrue(self.query(server, family), family)


if __name__ == "__main__":
    unittest.main()
