import { createServer, type AddressInfo, type Socket } from "node:net";

/**
 * Runs a facilitator that accepts every payment at once, and an upstream, in one process, for all sellers. They use raw sockets, so that
 * they add little to the measurement: each client sends a request only after the response to its last one.
 */
const resource = JSON.stringify({ sold: true, data: "x".repeat(100) });
const verified = JSON.stringify({ isValid: true, payer: `0x${"b".repeat(40)}` });
const network = "eip155:1672";
const supported = JSON.stringify({
  kinds: [{ x402Version: 2, scheme: "exact", network }],
  extensions: [],
  signers: { [network]: [`0x${"c".repeat(40)}`] },
});

let settlements = 0;

function respond(path: string): string {
  if (path === "/verify") return verified;
  if (path === "/supported") return supported;
  if (path !== "/settle") return resource;
  settlements += 1;
  const transaction = `0x${settlements.toString(16).padStart(64, "0")}`;
  return JSON.stringify({ success: true, transaction, network, payer: `0x${"b".repeat(40)}` });
}

function serve(socket: Socket): void {
  let received = "";
  socket.setNoDelay();
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    const headEnd = received.indexOf("\r\n\r\n");
    if (headEnd === -1) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd))?.[1] ?? 0);
    if (received.length < headEnd + 4 + length) return;
    const body = respond(received.split(" ", 2)[1] ?? "");
    received = "";
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
}

const server = createServer(serve).listen(0, "127.0.0.1", () => {
  process.send?.({ type: "ready", urls: { stubs: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } });
});
process.once("SIGTERM", () => process.exit(0));
process.once("disconnect", () => process.exit(0));
