import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { startTestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { openRaw } from "../../../support/gateway/raw-call.ts";

const handshake = [
  "GET / HTTP/1.1",
  "Host: a",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
].join("\r\n");

it("disconnects a client whose message exceeds the memory limit, even if it keeps sending and ignores the close", async () => {
  await using node = await startFakeNode();
  await using gateway = await startTestGateway(node, { memory: { connectionBytes: 20_000 } });
  const { socket, received } = openRaw(gateway.url, `${handshake}\r\n\r\n`, { allowHalfOpen: true });
  await until("it is a WebSocket", generousMs, () => received().includes("101 Switching Protocols"));
  // A masked text frame of one MiB, of which only a part arrives.
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
  socket.write(Buffer.concat([head, Buffer.alloc(60_000, " ")]));
  // Counts bytes instead of time, because a stalled machine sends nothing.
  let sent = 0;
  const sending = setInterval(() => {
    sent += 1;
    socket.write(" ");
  }, 100);
  const tryAgainLater = "\u0003\u00f5";
  await until("it receives the reason", generousMs, () => received().includes(tryAgainLater));
  const sentBeforeReason = sent;
  await until("it is gone", generousMs, async () =>
    (await gateway.metrics.metrics()).includes('gatehouse_connections{listener="public"} 0'),
  );
  clearInterval(sending);
  socket.destroy();
  // Without the gateway's own deadline, the WebSocket library would wait 30 s.
  expect(sent - sentBeforeReason).toBeLessThan(200);
});

/** Sends too long a message on each of several connections; prints the close codes. */
const oversized = `
  const send = () =>
    new Promise((closed) => {
      const socket = new WebSocket(process.argv[1]);
      socket.onopen = () => socket.send(" ".repeat(5_000_000));
      socket.onerror = () => undefined;
      socket.onclose = ({ code }) => closed(code);
    });
  console.log(JSON.stringify(await Promise.all(Array.from({ length: 10 }, send))));
`;

it("closes the WebSocket of a client that sends too long a message with 1009, while the client still sends", async () => {
  await using node = await startFakeNode();
  await using gateway = await startTestGateway(node, { webSocket: { messageBytes: 1_000_000 } });
  // Only a separate process can write while the gateway reads.
  const args = ["--input-type=module", "--eval", oversized, gateway.url.replace("http", "ws")];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual(Array(10).fill(1_009));
});
