import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { isOneFrame, encodeTextFrames, writeTextFrame } from "#gateway/listener/websocket/text-frame.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const textOf = (length: number) => `${"x".repeat(length)}é`;

it("frames of any length are decoded correctly, interleaved with those that the WebSocket library writes", async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const lengths = [0, 1, 115, 116, 117, 16_383, 16_384, 65_523, 65_524, 65_525, 65_526, 129_987, 130_000, 1_000_000];
  const start = Buffer.from('{"start":"');
  server.on("upgrade", (request, connection, head) =>
    sockets.handleUpgrade(request, connection, head, (socket) => {
      for (const length of lengths) {
        const tail = Buffer.from(textOf(length));
        if (isOneFrame(start.length + tail.length)) writeTextFrame(connection, start, tail);
        for (const { head: frameHead, bytes } of encodeTextFrames([start, tail])) {
          connection.write(Buffer.concat([frameHead, bytes]));
          socket.ping();
        }
        socket.send(`own ${length}`);
      }
    }),
  );
  const local = await listenLocally(server);
  const client = new WebSocket(`ws://127.0.0.1:${local.port}`);
  const texts: string[] = [];
  client.on("message", (data: Buffer, isBinary) => texts.push(isBinary ? "binary" : data.toString()));
  const short = lengths.filter((length) => isOneFrame(length + 12)).length;
  const expected = lengths.flatMap((length) => {
    const reported = `{"start":"${textOf(length)}`;
    return isOneFrame(length + 12) ? [reported, reported, `own ${length}`] : [reported, `own ${length}`];
  });
  while (texts.length < 2 * lengths.length + short) await once(client, "message");
  expect(texts).toEqual(expected);
  client.terminate();
  await new Promise((resolve) => server.close(resolve));
});
