"""PyPI's x402, unchanged, as a buyer, a seller or a facilitator on loopback. The environment has its options."""

import asyncio
import base64
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from eth_account import Account
from x402 import x402Client, x402ClientSync, x402FacilitatorSync, x402ResourceServerSync
from x402.mechanisms.evm.exact import ExactEvmServerScheme, register_exact_evm_client, register_exact_evm_facilitator
from x402.mechanisms.evm.signers import EthAccountSigner, FacilitatorWeb3Signer

NETWORK = "eip155:1672"


def option(name):
    return os.environ[name]


def buyer(client):
    register_exact_evm_client(client, EthAccountSigner(Account.from_key(option("KEY"))))
    asset = {"network": NETWORK, "asset": option("TOKEN"), "max_amount_per_payment": "10000"}
    return client.set_spend_controls({"allowed_assets": [asset]})


def report(response):
    settlement = json.loads(base64.b64decode(response.headers.get("PAYMENT-RESPONSE", "")) or "{}")
    print(json.dumps({"status": response.status_code, "settlement": settlement}))


async def buy_with_httpx():
    from x402.http.clients.httpx import x402HttpxClient

    async with x402HttpxClient(buyer(x402Client())) as http:
        report(await http.get(option("URL")))


def buy_with_requests():
    from x402.http.clients.requests import x402_requests

    report(x402_requests(buyer(x402ClientSync())).get(option("URL")))


def sell():
    from flask import Flask
    from werkzeug.serving import make_server
    from x402.http import HTTPFacilitatorClientSync
    from x402.http.middleware.flask import payment_middleware

    app = Flask(__name__)
    app.get("/data")(lambda: "sold")
    server = x402ResourceServerSync(HTTPFacilitatorClientSync({"url": option("FACILITATOR")}))
    server.register(NETWORK, ExactEvmServerScheme())
    price = {"amount": "10000", "asset": option("TOKEN"), "extra": {"name": "USDC", "version": "2"}}
    accepts = {"scheme": "exact", "payTo": option("PAYEE"), "price": price, "network": NETWORK}
    payment_middleware(app, {"GET /data": {"accepts": accepts}}, server)
    serve(make_server("127.0.0.1", 0, app, threaded=True))


def settle():
    from x402.schemas.helpers import parse_payment_payload, parse_payment_requirements

    facilitator = x402FacilitatorSync()
    register_exact_evm_facilitator(facilitator, FacilitatorWeb3Signer(option("KEY"), option("RPC")), networks=NETWORK)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.respond(facilitator.get_supported())

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            payment = parse_payment_payload(body["paymentPayload"])
            requirements = parse_payment_requirements(2, body["paymentRequirements"])
            do = facilitator.verify if self.path == "/verify" else facilitator.settle
            self.respond(do(payment, requirements))

        def respond(self, model):
            text = model.model_dump_json(by_alias=True, exclude_none=True).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    serve(ThreadingHTTPServer(("127.0.0.1", 0), Handler))


def serve(server):
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


roles = {
    "buy with httpx": lambda: asyncio.run(buy_with_httpx()),
    "buy with requests": buy_with_requests,
    "sell": sell,
    "settle": settle,
}
roles[sys.argv[1]]()
