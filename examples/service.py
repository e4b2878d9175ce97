#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A service that judges and links files of strangers over HTTP. Everything of a file is read by the caged workers of `cuvet serve`.

    cuvet serve --socket /run/user/1000/cuvet.socket &
    python3 service.py /run/user/1000/cuvet.socket 8000 &
    curl --data-binary @plugin.so http://127.0.0.1:8000/scan
    curl -F a=@a.cubin -F b=@b.cubin 'http://127.0.0.1:8000/link?arch=sm_90' -o linked.cubin

Answers are JSON, but for a program that was linked. 200: clean, or linked; 422: the file, with what is wrong with it and where; 503: workers have
no room, ask again; 500: a worker was lost over this file, which is no verdict.
"""
import email.parser
import email.policy
import http.server
import json
import sys
import urllib.parse
from typing import Any, Dict, List

import cuvet

MOST = 256 << 20  # bytes of a request


def told(answer: cuvet.Answer) -> Dict[str, Any]:
    return {"status": answer.status, "verdict": answer.verdict, "counts": dict(answer.counts),
            "findings": [{"rule": one.rule, "severity": one.severity, "place": one.place, "offset": one.offset, "text": one.text}
                         for one in answer.findings]}


def parts(kind: str, body: bytes) -> List[cuvet.Input]:
    """The files of a form, in its order."""
    form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body)
    if not form.is_multipart():
        raise ValueError("a link wants a form of files")
    return [cuvet.Input(bytes(one.get_payload(decode=True) or b""), name=one.get_filename() or "part") for one in form.iter_parts()]


class Handler(http.server.BaseHTTPRequestHandler):
    socket = ""
    timeout = 60  # of a client that says nothing

    def do_POST(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > MOST:
            return self.answer(413, {"error": f"a request says its size, at most {MOST}"})
        body = self.rfile.read(int(size))
        if len(body) < int(size):  # a part of a file is none
            return self.answer(400, {"error": "the request ends before its size"})
        try:
            with cuvet.Worker(self.socket, timeout=180) as worker:
                if url.path == "/scan":
                    answer = worker.scan(body)
                    return self.answer(200 if answer.verdict == "clean" else 422, told(answer))
                if url.path == "/link":
                    arch = urllib.parse.parse_qs(url.query).get("arch", [""])[0]
                    answer = worker.link(parts(self.headers.get("Content-Type", ""), body), arch=arch)
                    return self.answer(200, answer.image) if answer.image else self.answer(422, told(answer))
            return self.answer(404, {"error": "there are /scan and /link"})
        except cuvet.WorkerError as error:
            codes = {"busy": 503, "usage": 400}
            return self.answer(codes.get(error.name, 500), {"error": error.name, "text": error.text})
        except ValueError as error:
            return self.answer(400, {"error": str(error)})
        except OSError as error:  # a server that is not there has said nothing of the file
            return self.answer(500, {"error": str(error)})

    def answer(self, code: int, what: object) -> None:
        body = what if isinstance(what, bytes) else json.dumps(what).encode() + b"\n"
        self.send_response(code)
        self.send_header("Content-Type", "application/octet-stream" if isinstance(what, bytes) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    Handler.socket = sys.argv[1]
    with http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler) as server:
        print("listening on port", server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
