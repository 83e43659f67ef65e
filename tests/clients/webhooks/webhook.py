"""A mutating webhook of Python's standard library: `webhook.py ADDRESS:PORT CERTIFICATE KEY`.

Its patch is a list of numbers and what it has nothing to say of is null, as in clients that write each field.
"""

import http.server
import json
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        review["response"] = answer(review.pop("request"))
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer(request):
    labels = request["object"]["metadata"].get("labels")
    if labels and "illegal" in labels:
        return {"uid": request["uid"], "allowed": False, "status": {"message": "Resource contained 'illegal' label"}}
    if labels and "admission" in labels:
        return {"uid": request["uid"], "allowed": True, "patch": None, "patchType": None, "warnings": None}
    patch = [] if labels is not None else [{"op": "add", "path": "/metadata/labels", "value": {}}]
    patch.append({"op": "add", "path": "/metadata/labels/admission", "value": "modified-by-admission-controller"})
    return {"uid": request["uid"], "allowed": True, "patch": list(json.dumps(patch).encode()), "patchType": "JSONPatch"}


host, port = sys.argv[1].rsplit(":", 1)
server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
