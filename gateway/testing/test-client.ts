import { once } from "node:events";
import { WebSocket, type ClientOptions } from "ws";
import { generousMs, until } from "#daemon/testing/until.ts";

export type TestClient = AsyncDisposable &
  Readonly<{
    socket: WebSocket;
    texts: string[];
    /** Sends a text and waits for the next message that is not a notification. */
    ask: (text: string) => Promise<string>;
    closed: Promise<readonly [code: number, reason: string]>;
  }>;

/** Connects to a gateway's WebSocket. `headers` are sent with the upgrade; `behaviour` describes anything unusual about the client. */
export async function connectTestClient(
  httpUrl: string,
  headers: Readonly<Record<string, string>> = {},
  behaviour: Pick<ClientOptions, "autoPong" | "localAddress"> = {},
): Promise<TestClient> {
  const socket = new WebSocket(httpUrl.replace("http", "ws"), { headers, ...behaviour });
  const texts: string[] = [];
  socket.on("message", (data: Buffer) => texts.push(data.toString()));
  const closeEvent = new Promise<readonly [number, string]>((resolve) => {
    socket.on("close", (code, reason) => resolve([code, reason.toString()]));
  });
  await once(socket, "open");
  const replies = () => texts.filter((text) => !text.includes('"eth_subscription"'));
  return {
    socket,
    texts,
    closed: closeEvent,
    ask: async (text) => {
      const countBefore = replies().length;
      socket.send(text);
      await until(`the response to ${text.slice(0, 80)} arrives`, generousMs, () => replies().length > countBefore);
      return replies()[countBefore] ?? "";
    },
    [Symbol.asyncDispose]: async () => {
      socket.terminate();
      await closeEvent;
    },
  };
}
