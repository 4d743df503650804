import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { computeExpectedResponse, explainWrongResponse } from "./expected-answer.ts";
import { truncateBody, cutBroken, type Delivery } from "./message-deliveries.ts";
import { sendRaw } from "./raw-exchange.ts";

/** Max response time for one message; a message that takes longer counts as hung. */
const answerMs = 60_000;
/** Messages per WebSocket before a new one is opened, so that subscriptions come and go. */
const messagesOfOne = 200;
/** Allowed response statuses for an unreadable request. */
const refusals: ReadonlySet<string> = new Set(["200", "400", "408", "413"]);
const last = '{"jsonrpc":"2.0","id":"last","method":"eth_coinbase"}';
const firstRequest = Buffer.from(
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${last.length}\r\n\r\n${last}`,
);

/** Sends deliveries to one gateway, one after another. */
export type MessageSender = AsyncDisposable &
  Readonly<{
    /** Sends a delivery and describes what is wrong with the response; returns undefined if nothing is. */
    send: (delivery: Delivery) => Promise<string | undefined>;
  }>;

/** Creates a sender to the gateway at this URL, which accepts batches of up to that many items. */
export function createMessageSender(url: string, batchItems: number): MessageSender {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = createSocketSource(url);
  return {
    send: async (delivery) => {
      const { body, way } = delivery;
      const expected = computeExpectedResponse(body, batchItems);
      if (way === "brokenChunks" || way === "wrongLength" || way === "cutOff") {
        // A valid request is sent first: the response to it shows that the gateway has accepted the connection.
        const pieces = [firstRequest, ...cutBroken(delivery)];
        return explainWrongRefusal(await sendRaw(url, pieces, { expected: 1, quietMs: 4, giveUpMs: answerMs }));
      }
      if (way === "webSocket" && expected !== undefined) {
        const texts = await sendOverWebSocket(await sockets.open(), body, expected.kind === "nothing" ? 1 : 2);
        if (texts === "invalid text") return undefined;
        const others = texts.filter((text) => !text.includes('"id":"last"'));
        return texts.length - others.length === 1 ? explainWrongResponse(others.join(""), expected) : "no last answer";
      }
      const answer = await sendOverHttp(url, agent, delivery);
      return answer.status === 200 ? explainWrongResponse(answer.text, expected) : `status ${answer.status}`;
    },
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      await sockets.close();
    },
  };
}

async function sendOverHttp(url: string, agent: Agent, delivery: Delivery) {
  const { body, way, pauseMs } = delivery;
  const length = way === "chunks" ? {} : { "Content-Length": body.length };
  const headers = { "Content-Type": "application/json", ...length };
  const outgoing = request(url, { method: "POST", agent, headers, signal: AbortSignal.timeout(answerMs) });
  const response = once(outgoing, "response");
  if (way === "whole") outgoing.end(body);
  else {
    for (const piece of truncateBody(delivery)) {
      outgoing.write(piece);
      if (pauseMs > 0) await delay(pauseMs);
      else await new Promise((turn) => setImmediate(turn));
    }
    outgoing.end();
  }
  const [incoming] = (await response) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return { status: incoming.statusCode, text: Buffer.concat(parts).toString("utf8") };
}

/** Describes what is wrong with the response to an unreadable request, which must be a status or a closed connection. */
function explainWrongRefusal(text: string): string | undefined {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status ?? "");
  const wrong = statuses.find((status) => !refusals.has(status));
  return wrong === undefined ? undefined : `status ${wrong} of what can't be read`;
}

/** Creates a source of WebSockets, used one after another: opens a new one once the current one has sent its share or is closed. */
function createSocketSource(url: string) {
  let socket: WebSocket | undefined;
  let sent = 0;
  const close = async () => {
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = once(socket, "close");
    socket.close();
    await closed;
  };
  return {
    close,
    open: async () => {
      sent += 1;
      if (socket?.readyState === WebSocket.OPEN && sent % messagesOfOne !== 0) return socket;
      await close();
      socket = new WebSocket(url.replace("http", "ws"));
      socket.on("error", () => socket?.terminate());
      await once(socket, "open");
      return socket;
    },
  };
}

/** Sends a message and then a final one, and returns the `replies` received. Text that is not UTF-8 ends the connection (RFC 6455). */
function sendOverWebSocket(
  socket: WebSocket,
  body: Buffer,
  replies: number,
): Promise<readonly string[] | "invalid text"> {
  return new Promise((resolve, reject) => {
    const texts: string[] = [];
    const late = setTimeout(() => reject(new Error(`no answer over WebSocket to ${body.toString()}`)), answerMs);
    const done = (result: readonly string[] | "invalid text") => {
      clearTimeout(late);
      socket.off("message", take);
      socket.off("close", closed);
      resolve(result);
    };
    const take = (data: Buffer) => {
      texts.push(data.toString());
      if (texts.length === replies) done(texts);
    };
    const closed = (code: number) => done(code === 1007 && !isUtf8(body) ? "invalid text" : [`closed with ${code}`]);
    socket.on("message", take);
    socket.on("close", closed);
    socket.send(body, { binary: false });
    socket.send(last);
  });
}
