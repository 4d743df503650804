import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { writeTextFrame } from "./text-frame.ts";

const textOf = (length: number) => `${"x".repeat(length)}é`;

it("messages of every length are read as they were meant, between those that the WebSocket writes itself", async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const lengths = [0, 1, 115, 116, 117, 65_525, 65_526, 65_527, 100_000];
  const start = Buffer.from('{"start":"');
  server.on("upgrade", (request, connection, head) =>
    sockets.handleUpgrade(request, connection, head, (socket) => {
      for (const length of lengths) {
        writeTextFrame(connection, start, Buffer.from(textOf(length)));
        socket.send(`own ${length}`);
      }
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const texts: string[] = [];
  client.on("message", (data: Buffer, isBinary) => texts.push(isBinary ? "binary" : data.toString()));
  while (texts.length < 2 * lengths.length) await once(client, "message");
  expect(texts).toEqual(lengths.flatMap((length) => [`{"start":"${textOf(length)}`, `own ${length}`]));
  client.terminate();
  await new Promise((resolve) => server.close(resolve));
});
