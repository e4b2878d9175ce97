# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A browser for tests of pages, where there is one: Chromium, driven through its pipe for developers."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time

from lib_cli import Skip, scratch

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    for name in NAMES:
        if shutil.which(name):
            return shutil.which(name)
    raise Skip("no browser: one of " + ", ".join(NAMES))


class Browser:
    """One page at a time. What the page says, asks for and breaks is kept: events."""

    def __init__(self, width=1300, height=900, dark=False):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        args = [find(), "--headless", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
                "--disable-dev-shm-usage", "--user-data-dir=" + scratch(), "--window-size=%d,%d" % (width, height), "about:blank"]
        if os.geteuid() == 0:
            args.insert(1, "--no-sandbox")
        self.process = subprocess.Popen(["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_read, from_write), "sh", *args], pass_fds=(to_read, from_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(from_write)
        self.out, self.inp, self.buffer, self.number, self.events = to_write, from_read, b"", 0, []
        self.session = None
        try:
            targets = self.call("Target.getTargets")["targetInfos"]
        except (AssertionError, OSError) as why:
            self.__exit__()
            raise Skip("the browser does not start here: %s" % why) from why
        target = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # a group of its own, which we started
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.out)
        os.close(self.inp)

    def message(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inp], [], [], max(0, until - time.monotonic()))
            part = os.read(self.inp, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, timeout=60, **params):
        self.number += 1
        order = {"id": self.number, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        data = json.dumps(order).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        until = time.monotonic() + timeout
        while True:
            message = self.message(until)
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.events.append(message)

    def run(self, script, timeout=60):
        """Evaluate, as the console does; promises are waited for."""
        result = self.call("Runtime.evaluate", timeout=timeout, expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def open(self, path, before=None, timeout=60):
        """Load a file, and wait until the page says that it is ready. @param before a script that runs before those of the page"""
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path), timeout=timeout)
        until = time.monotonic() + timeout
        while not self.run("document.readyState === 'complete' && !!document.documentElement.dataset.ready"):
            broken = self.run("document.getElementById('broken') ? document.getElementById('broken').textContent : ''")
            assert not broken, broken
            assert time.monotonic() < until, "the page does not get ready"
            time.sleep(0.02)

    def complaints(self):
        """What the console got, and what broke."""
        out = []
        for event in self.events:
            if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening"):
                out.append(event)
        return out

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def picture(self, path=None, whole=True):
        data = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole, format="png")["data"])
        if path:
            with open(path, "wb") as f:
                f.write(data)
        return data
