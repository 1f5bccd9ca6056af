#!/usr/bin/python3
"""The observer page in a real browser: with the auction's demo, of which a house is killed; with a node of 10,000
actors; and with a lost connection to the bridge.

Needs Debian's chromium, chromium-driver and python3-selenium, so the target is manual: .ci/long observe installs
them. The test outputs are screenshots and what an update costs the page.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

ROOT = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
OUTPUTS = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "/tmp")
WITHIN = 120
# Lets a test insert an event into the page's current stream: window.put(text).
PUTS_EVENTS = """
    const original = window.fetch;
    window.streams = 0;
    window.fetch = async (path, options) => {
      const answer = await original(path, options);
      if (path !== '/api/stream' || !answer.ok) return answer;
      let into;
      const passing = new TransformStream({start(controller) { into = controller; }});
      window.put = (text) => into.enqueue(new TextEncoder().encode(text));
      window.streams += 1;
      return new Response(answer.body.pipeThrough(passing));
    };"""
# How long the page is measured while the actors of crowd_node crash and restart.
LOOKS_AT_CROWD_SECONDS = 10


def program(path):
    return os.path.join(ROOT, path)


def start_browser(folder, is_traced):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--mute-audio",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update",
                     f"--user-data-dir={folder}/profile"):
        options.add_argument(argument)
    logs = {"browser": "ALL"}
    if is_traced:
        logs["performance"] = "ALL"
        options.add_experimental_option("perfLoggingPrefs", {
            "enableNetwork": False, "enablePage": False,
            "traceCategories": "devtools.timeline,disabled-by-default-devtools.timeline"})
    options.set_capability("goog:loggingPrefs", logs)
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def processes_of(text):
    """Yields the ids of the processes whose command line contains this text."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                if name.isdigit() and text in file.read():
                    yield int(name)
        except OSError:
            continue


class ObserverBrowserTest(unittest.TestCase):
    def setUp(self):
        # A short path, because the length of a socket's path is bounded.
        folder = tempfile.TemporaryDirectory(prefix="obs.", dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.browser = start_browser(self.folder, is_traced="crowd" in self.id())  # whose page is measured
        self.addCleanup(self.browser.quit)

    def start(self, *words, **options):
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "TMPDIR": self.folder}, **options)
        def end():
            process.stdin.close()
            process.terminate()
            process.stdout.read()
            process.wait(WITHIN)
            process.stdout.close()
        self.addCleanup(end)
        return process

    def observe(self, *sockets):
        """Waits for the sockets of these nodes, and opens the page for them."""
        self.until(lambda: all(os.path.exists(path) for path in sockets), "the nodes' sockets")
        self.bridge = self.start(program("tools/understudy/understudy"), "observe", *sockets)
        self.address = self.bridge.stdout.readline().strip()
        self.size(1600, 900)
        self.browser.get(self.address)

    def size(self, width, height, scheme="light"):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def until(self, condition, what):
        WebDriverWait(self, WITHIN, poll_frequency=0.1).until(lambda _: condition(), f"waited for {what}")

    def text(self, of):
        return self.browser.execute_script("return document.getElementById(arguments[0]).innerText", of)

    def rows(self, of):
        """Returns the texts of the visible rows of a list."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll(`#${arguments[0]} .row:not([hidden])`)].map(row => row.innerText)",
            of)

    def until_row(self, of, *parts):
        self.until(lambda: any(all(part in row for part in parts) for row in self.rows(of)), f"{parts} in {of}")

    def row(self, of, part):
        """Waits for the row with this text, and returns it."""
        found = []

        def look():
            found[:] = [row for row in self.browser.find_elements(By.CSS_SELECTOR, f"#{of} .row:not([hidden])")
                        if part in row.text]
            return found

        self.until(look, f"{part} in {of}")
        return found[0]

    def shoot(self, name):
        self.browser.save_screenshot(os.path.join(OUTPUTS, f"{name}.png"))

    def check_console(self):
        # The panel may request an actor that has just ended.
        bad = [line["message"] for line in self.browser.get_log("browser")
               if line["level"] == "SEVERE" and "favicon" not in line["message"] and "404" not in line["message"]]
        self.assertEqual(bad, [])

    def test_a_killed_house_is_seen_to_crash_and_to_be_started_again(self):
        socket = os.path.join(self.folder, "ops")
        log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        self.start(program("examples/auction/demo"), "--speed=10", "--kills=none", f"--ops={socket}", cwd=ROOT,
                   stderr=log)
        self.observe(socket)
        for house in ("house-1", "house-2"):
            self.until_row("tree", house, "running", "process")
            self.until_row("peers", house, "up")
        self.shoot("demo_before")

        killed = [pid for pid in processes_of(self.folder) if pid in set(processes_of("house_node"))]
        os.kill(killed[0], signal.SIGKILL)
        self.until_row("events", "exited", "OsSignal(9")
        self.until_row("events", "is restarted")
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#tree .row.flashing"), "a row that flashes")
        self.shoot("demo_crash")
        self.until_row("tree", "house-", "running", "1 restart")
        self.until(lambda: sum("up" in row for row in self.rows("peers")) == 3, "all peers to be up again")
        self.until_row("events", "started")
        self.look_at_an_actor()
        self.kill_by_the_page()
        self.look_at_all_sizes()
        self.check_console()

    def look_at_an_actor(self):
        tree = self.browser.find_element(By.ID, "tree")
        tree.send_keys(Keys.HOME, Keys.ARROW_DOWN, Keys.ENTER)
        self.until(lambda: "pid" in self.text("panel") and "ledger" in self.text("panel"), "the ledger's panel")
        tree.send_keys(Keys.HOME, Keys.ARROW_LEFT)
        self.until(lambda: len(self.rows("tree")) == 1, "a folded tree")
        tree.send_keys(Keys.ARROW_RIGHT)
        self.until(lambda: len(self.rows("tree")) > 3, "an open tree")
        tree.send_keys("/")
        self.browser.switch_to.active_element.send_keys("house")
        self.until_row("found", "house-1")
        self.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.until(lambda: not self.browser.find_element(By.ID, "found").is_displayed(), "the end of the search")

    def kill_by_the_page(self):
        events = len([row for row in self.rows("events") if "exited" in row])
        self.row("tree", "house-2").click()
        button = "#panel button.danger"
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, button), "a button to kill")
        self.shoot("demo_actor")
        self.browser.find_element(By.CSS_SELECTOR, button).click()
        self.until(lambda: self.browser.find_element(By.ID, "confirm").is_displayed(), "the question")
        self.assertIn("Kill house-2", self.text("confirm-text"))
        self.shoot("demo_question")
        self.browser.find_element(By.ID, "confirm-no").click()
        self.assertEqual(len([row for row in self.rows("events") if "exited" in row]), events, "it was not agreed")
        self.browser.find_element(By.CSS_SELECTOR, button).click()
        self.browser.find_element(By.ID, "confirm-yes").click()
        self.until_row("events", "house-2", "exited", "Killed")
        self.until_row("tree", "house-2", "running", "restart")
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, button), "the panel of its next life")

    def look_at_all_sizes(self):
        for width, height in ((1600, 900), (1000, 1400), (400, 1800)):
            for scheme in ("light", "dark"):
                self.size(width, height, scheme)
                self.until(lambda: self.browser.execute_script(
                    "return document.documentElement.scrollWidth <= window.innerWidth"), f"{width} pixels to do")
                self.shoot(f"demo_{width}_{scheme}")

    def test_a_crowd_that_changes_all_the_time_is_shown_from_few_rows(self):
        socket = os.path.join(self.folder, "ops")
        node = self.start(program("tests/tools/understudy/crowd_node"), socket)
        self.assertEqual(node.stdout.readline(), "started\n")
        self.observe(socket)
        self.until_row("tree", "<img src=x")
        self.until(lambda: "101 supervisors" in self.text("tree-count"), "all supervisors")
        self.until_row("events", "is restarted")
        self.assertNotEqual(self.browser.title, "owned")
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, "img"), [])
        self.row("tree", "<img src=x").click()
        self.until(lambda: "<img src=x" in self.text("panel"), "the panel of the child with the bad name")
        self.assertLess(self.browser.execute_script("return document.querySelectorAll('*').length"), 3000)
        self.browser.find_element(By.ID, "tree").send_keys(Keys.END)
        self.until_row("tree", "troublemaker")
        self.browser.find_element(By.ID, "tree").send_keys(Keys.HOME)
        self.measure()
        self.shoot("crowd")
        self.assertNotEqual(self.browser.title, "owned")
        self.check_console()

    def test_a_page_that_loses_its_connection_finds_its_way_back(self):
        socket = os.path.join(self.folder, "ops")
        self.start(program("tests/tools/understudy/desk_node"), socket)
        self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": PUTS_EVENTS})
        self.observe(socket)
        self.row("tree", "clerk").click()
        self.until(lambda: "class" in self.text("panel"), "the clerk's panel")
        self.suspend_clerk()

        # The bridge reports that the page was too slow, so that events were lost.
        self.browser.execute_script("window.put('event: lost\\ndata: 1\\n\\n')")
        self.until(lambda: "too slow" in self.text("connection"), "the page to say why")
        self.until_live(streams=2)
        self.kill_clerk()

        # The bridge is stopped, so that it is silent like the far end of a broken tunnel.
        os.kill(self.bridge.pid, signal.SIGSTOP)
        self.until(lambda: "silent for 15 s" in self.text("connection"), "the page to say that nothing comes")
        os.kill(self.bridge.pid, signal.SIGCONT)
        self.until_live(streams=3)
        self.kill_clerk()

        # The bridge ends. The bridge that replaces it has a new token, which the page cannot know.
        self.bridge.terminate()
        self.bridge.wait(WITHIN)
        self.until(lambda: "start it again and open the address that it prints" in self.text("connection"), "a way on")
        self.shoot("lost")
        port = self.address.split(":")[2].split("/")[0]
        self.bridge = self.start(program("tools/understudy/understudy"), "observe", socket, f"--port={port}")
        self.assertNotEqual(self.bridge.stdout.readline().strip(), self.address)
        self.until(lambda: "open the one that was printed last" in self.text("connection"), "the way on again")

    def until_live(self, streams):
        self.until(lambda: "live" in self.text("connection") and
                   self.browser.execute_script("return window.streams") >= streams, "the page to be live again")
        self.until_row("tree", "clerk", "running")

    def suspend_clerk(self):
        """Suspends and resumes the clerk with the open panel, which offers the opposite action after each."""
        for action, next_one in (("suspend", "resume"), ("resume", "suspend")):
            self.browser.find_element(By.CSS_SELECTOR, f"#panel button[data-key={action}]").click()
            self.browser.find_element(By.ID, "confirm-yes").click()
            self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, f"#panel button[data-key={next_one}]"),
                       f"a button to {next_one}")

    def kill_clerk(self):
        """Kills the clerk with the panel that was opened before the connection was lost. The panel must then show the
        clerk's next life."""
        def pid():
            return re.search(r"\bpid\s+(<desk\.\d+\.\d+>)", self.text("panel")).group(1)
        before = pid()
        self.browser.find_element(By.CSS_SELECTOR, "#panel button.danger").click()
        self.browser.find_element(By.ID, "confirm-yes").click()
        self.until_row("events", "clerk", "exited", "Killed")
        self.until(lambda: pid() != before, "the clerk's next life in the panel")

    def measure(self):
        """Records what an update costs the page's main thread, by Chromium's trace: the processor time of all tasks
        since the update before, with parsing, the model, style, layout and paint. Asserts no times, because the machine
        may be busy."""
        first, begin = self.last_event(), time.monotonic()
        self.until(lambda: time.monotonic() > begin + LOOKS_AT_CROWD_SECONDS, "time to pass")
        seconds, changes = time.monotonic() - begin, self.last_event() - first
        updates, cost = [], 0.0
        for name, micros in self.traced(begin, begin + seconds):
            if name == "RunTask":
                cost += micros / 1000
            else:  # an animation frame, in which the page draws
                updates.append(cost)
                cost = 0.0
        self.assertGreater(len(updates), 1)
        times = sorted(updates[1:])
        result = {"changes_per_second": round(changes / seconds), "updates": len(times),
                  "update_p50_ms": round(times[len(times) // 2], 1),
                  "update_p95_ms": round(times[len(times) * 95 // 100], 1),
                  "main_thread_busy_percent": round(sum(times) / seconds / 10, 1)}
        with open(os.path.join(OUTPUTS, "update_times.json"), "w", encoding="utf-8") as file:
            json.dump(result, file)
        print("update times:", result)

    def traced(self, begin, end):
        """Returns the tasks (RunTask) and the animation frames of the page's main thread between these times, in the
        order of their ends, each with its name and its processor time in microseconds."""
        events = [json.loads(line["message"])["message"] for line in self.browser.get_log("performance")]
        events = [event["params"] for event in events if event["method"] == "Tracing.dataCollected"]
        page = next((event["pid"], event["tid"]) for event in events if event["name"] == "FireAnimationFrame")
        mine = [event for event in events if (event["pid"], event["tid"]) == page and "tdur" in event and
                event["name"] in ("RunTask", "FireAnimationFrame") and begin * 1e6 < event["ts"] < end * 1e6]
        mine.sort(key=lambda event: event["ts"] + event["dur"])
        return [(event["name"], event["tdur"]) for event in mine]

    def last_event(self):
        return int(self.browser.execute_script(
            "return document.querySelector('#events .row:not([hidden])')?.dataset.number ?? 0"))


if __name__ == "__main__":
    unittest.main()
