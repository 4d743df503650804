import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";

/** Keeps this many connections open, from several addresses, which send nothing or half a request; reopens closed ones. */
export function holdIdle(url: string, count: number): Disposable {
  const { port } = new URL(url);
  const sockets = new Set<Socket>();
  let isDone = false;
  const open = (at: number) => {
    if (isDone) return;
    const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress: `127.0.1.${1 + (at % 6)}` });
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("connect", () => {
      if (at % 4 === 0) socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9");
    });
    socket.resume();
    socket.on("close", () => {
      sockets.delete(socket);
      setTimeout(open, 200, at);
    });
  };
  for (let at = 0; at < count; at += 1) open(at);
  return {
    [Symbol.dispose]: () => {
      isDone = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends a request over its own connection, from a different address than the idle ones. */
export function askAlone(url: string, body?: string): Promise<Readonly<{ status: number; text: string }>> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: false });
    const headers = { "Content-Type": "application/json" };
    const asked = request(url, { agent, method: body === undefined ? "GET" : "POST", headers, timeout: 5_000 });
    asked.on("response", async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, text });
    });
    asked.on("error", reject);
    asked.on("timeout", () => asked.destroy(new Error(`${url} did not answer in 5 s`)));
    asked.end(body);
  });
}
