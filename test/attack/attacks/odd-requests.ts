import type { Attack } from "./attack.ts";
import { asMany, openAttackingSocket, buildCall, waitUntilClosed, buildRequest } from "./attacker.ts";

const body = buildCall(1, "eth_blockNumber", "[]");
const smuggledRequest = buildRequest(buildCall(666, "eth_blockNumber", "[]"));
const raw = (...lines: readonly string[]) => lines.join("\r\n");
const host = "Host: a";
const json = "Content-Type: application/json";
const length = `Content-Length: ${body.length}`;
const webSocket = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];

/** Requests that programs interpret differently, and upgrades that have no meaning here. */
const requests: readonly string[] = [
  raw("POST / HTTP/1.1", host, json, length, "Transfer-Encoding: chunked", "", `0\r\n\r\n${smuggledRequest}`),
  raw("POST / HTTP/1.1", host, json, length, `Content-Length: 0`, "", body + smuggledRequest),
  raw("POST / HTTP/1.1", host, json, "Transfer-Encoding: chunked, identity", "", `0\r\n\r\n${smuggledRequest}`),
  raw("POST / HTTP/1.1", host, json, "Transfer-Encoding : chunked", length, "", body + smuggledRequest),
  raw("POST / HTTP/1.1", host, json, " folded: header", length, "", body),
  `POST / HTTP/1.1\nHost: a\nContent-Length: ${body.length}\n\n${body}${smuggledRequest}`,
  raw("POST / HTTP/1.1", host, json, "Content-Length: +10", "", body),
  raw("POST / HTTP/1.1", host, json, "Content-Length: 99999999999999999999", "", body),
  raw("POST / HTTP/1.1", host, json, "Transfer-Encoding: chunked", "", `ffffffffffffffff\r\n${body}`),
  raw("POST / HTTP/1.1", host, "Host: b", json, length, "", body),
  raw("POST http://b/ HTTP/1.1", host, json, length, "", body),
  raw("POST / HTTP/1.1", host, json, "Expect: 100-continue", length, "", body),
  raw(
    "POST / HTTP/1.1",
    host,
    json,
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABk",
    length,
    "",
    body,
  ),
  raw("GET / HTTP/1.1", host, ...webSocket, "Sec-WebSocket-Key: short", "", ""),
  raw("GET / HTTP/1.1", host, ...webSocket, `Sec-WebSocket-Key: ${"A".repeat(22)}==`, "", "\u0081\u00ff".repeat(500)),
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003".repeat(20),
  raw(
    "POST / HTTP/1.1",
    host,
    ...Array.from({ length: 500 }, (_, at) => `X-${at}: ${"y".repeat(100)}`),
    length,
    "",
    body,
  ),
  raw(`GET /${"a".repeat(20_000)} HTTP/1.1`, host, "", ""),
  raw("CONNECT evil.example:443 HTTP/1.1", host, "", ""),
  "\r\n".repeat(1_000),
];

/** Malformed, ambiguous and meaningless requests, each over its own connection. */
export const oddRequests: Attack = {
  name: "odd requests",
  what: "4 addresses with request smuggling, unsupported upgrades, TLS and HTTP/2 on the plaintext port, about 400 connections per second",
  attackers: 20,
  run: async (target, signal) => {
    let sent = 0;
    const send = async (attacker: number) => {
      const socket = await openAttackingSocket(target, attacker % 4, signal);
      socket.resume();
      sent += 1;
      socket.end(requests[sent % requests.length] ?? "", "latin1");
      await waitUntilClosed(socket, 500);
      socket.destroy();
    };
    await asMany(oddRequests.attackers, signal, send, 40);
  },
};
