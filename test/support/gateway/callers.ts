import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";

/** Active callers of a gateway; each call has its own id, so that a duplicate response is detected. */
export type Callers = Readonly<{
  failures: readonly string[];
  answered: () => number;
  /** Number of times that a WebSocket was closed with 1001 and reopened. */
  reopened: () => number;
  end: () => Promise<void>;
}>;

const tickMs = 50;
/** Max calls in flight, below the connections that a gateway grants an address: a machine may be too busy for the rate. */
const inFlightMax = 256;
const sayEveryMs = 250;
const goingAway = 1001;

/**
 * Calls a gateway over HTTP, every second call on a new connection, and over WebSockets that are reopened when the
 * gateway goes away.
 */
export async function startCallers(
  url: string,
  { requestsPerSecond, webSockets }: Readonly<{ requestsPerSecond: number; webSockets: number }>,
): Promise<Callers> {
  const failures: string[] = [];
  const pending = new Set<Promise<void>>();
  const keptAlive = new Agent({ keepAlive: true, maxSockets: 16 });
  let nextId = 0;
  let answered = 0;
  let reopened = 0;
  const call = async (agent: Agent | false): Promise<void> => {
    const id = (nextId += 1);
    const response = await post(url, buildBody(id), agent);
    if (response.status !== 200 || !isAnswer(response.body, id))
      throw new Error(`HTTP ${response.status}: ${response.body}`);
    answered += 1;
  };
  const timer = setInterval(() => {
    const due = Math.min((requestsPerSecond * tickMs) / 1_000, inFlightMax - pending.size);
    for (let count = 0; count < due; count += 1) {
      const done = call(count % 2 === 0 ? keptAlive : false).catch(
        (error: unknown) => void failures.push(String(error)),
      );
      pending.add(done);
      void done.finally(() => pending.delete(done));
    }
  }, tickMs);

  const state = { isDone: false };
  const talk = async (): Promise<void> => {
    const asked = new Map<number, boolean>();
    let socket = await open(url);
    const listen = (): void => {
      socket.addEventListener("message", ({ data }) => {
        const { id } = JSON.parse(String(data)) as { id: number };
        if (asked.get(id) !== false)
          failures.push(`a WebSocket received a response to ${id}, for which it was not waiting`);
        asked.set(id, true);
        answered += 1;
      });
    };
    listen();
    while (!state.isDone || [...asked.values()].includes(false)) {
      if (socket.readyState === WebSocket.CLOSED) {
        const waiting = [...asked].filter(([, isAnswered]) => !isAnswered);
        socket = await open(url);
        listen();
        reopened += 1;
        // Calls that the gateway had not started when it announced its exit are sent again.
        for (const [id] of waiting) socket.send(buildBody(id));
      }
      if (!state.isDone && socket.readyState === WebSocket.OPEN) {
        const id = (nextId += 1);
        asked.set(id, false);
        socket.send(buildBody(id));
      }
      await new Promise((resolve) => setTimeout(resolve, sayEveryMs));
    }
    socket.close();
  };
  const open = async (at: string): Promise<WebSocket> => {
    const socket = new WebSocket(at.replace("http", "ws"));
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error("a WebSocket could not be opened")), { once: true });
    });
    socket.addEventListener("close", ({ code }) => {
      if (!state.isDone && code !== goingAway) failures.push(`a WebSocket was closed with ${code}`);
    });
    return socket;
  };
  const talks = Array.from({ length: webSockets }, () =>
    talk().catch((error: unknown) => void failures.push(String(error))),
  );
  return {
    failures,
    answered: () => answered,
    reopened: () => reopened,
    end: async () => {
      clearInterval(timer);
      state.isDone = true;
      await Promise.all([...pending, ...talks]);
      keptAlive.destroy();
    },
  };
}

function buildBody(id: number): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: "eth_blockNumber", params: [] });
}

function isAnswer(body: string, id: number): boolean {
  const response = JSON.parse(body) as { id: number; result?: unknown };
  return response.id === id && typeof response.result === "string";
}

/** Resends a request if the gateway just closed the idle keep-alive connection, as RFC 9112, section 9.3.1, tells clients to do. */
async function post(
  url: string,
  body: string,
  agent: Agent | false,
): Promise<Readonly<{ status: number; body: string }>> {
  for (;;) {
    const sent = request(url, { method: "POST", agent, headers: { "Content-Type": "application/json" } });
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.once("response", resolve).once("error", reject).end(body);
      });
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch (error) {
      if (!sent.reusedSocket) throw error;
    }
  }
}
