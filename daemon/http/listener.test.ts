import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer as createHttpServer, type Server } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createConnectionBudget, type ConnectionBudget } from "./connections/connection-budget.ts";
import { listen, listenHttp } from "./listener.ts";
import { listenOnSockets } from "./listening-sockets.ts";

const stacks: AsyncDisposableStack[] = [];
beforeEach(() => void stacks.push(new AsyncDisposableStack()));
afterEach(() => stacks.pop()?.disposeAsync());
const use = <T extends AsyncDisposable | Disposable>(resource: T) => {
  stacks.at(-1)?.use(resource);
  return resource;
};

const host = "127.0.0.1";
const app = { fetch: () => new Response("served") };
const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

function budget(descriptors = 1_024): ConnectionBudget {
  return use(
    createConnectionBudget(
      { connections: 20_000, connectionsPerAddress: 1_024, newConnectionsPerAddress: 300, descriptorReserve: 192 },
      {
        descriptors: { limit: descriptors, used: () => 0 },
        memoryBytes: 2 ** 33,
        heapBytes: 2 ** 33,
        metrics: new Registry(),
        clock: () => performance.now(),
      },
    ),
  );
}

/** A listener open to anyone, like those of the gateway, the facilitator and the resource server. */
function listening(port = 0, connections = budget().listener({ name: "public" })) {
  return listenHttp(app, { host, port, setting: "PORT", requestTimeoutMs: 5_000, connections, isProxy: () => true });
}

function open(port: number): Socket {
  const socket = connect({ host, port });
  socket.on("error", () => socket.destroy());
  stacks.at(-1)?.defer(() => void socket.destroy());
  return socket;
}

/** Other work on the thread that takes some time in each event loop tick; counts the ticks. */
function busyLoop(turnMs: number) {
  const loop = { turns: 0, stop: false };
  const turn = () => {
    if (loop.stop) return;
    loop.turns += 1;
    const until = performance.now() + turnMs;
    while (performance.now() < until);
    setImmediate(turn);
  };
  setImmediate(turn);
  use({ [Symbol.dispose]: () => void (loop.stop = true) });
  return loop;
}

/** Counts this process's sockets that listen on a port (proc(5)). */
async function socketsAt(port: number): Promise<number> {
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n");
  const at = `:${port.toString(16).toUpperCase().padStart(4, "0")} `;
  return lines.filter((line) => line.slice(6, 22).includes(at) && / 0A /.test(line.slice(20, 40))).length;
}

const taken = (port: number) =>
  `port ${port} on ${host} is in use; stop the process that uses it (\`ss -ltnp 'sport = :${port}'\` shows it), or set PORT to another port.`;

/** A server on a system without shared ports, such as macOS. */
function withoutSharedPorts(server: Server): Server {
  const listenAlone = server.listen.bind(server);
  return Object.assign(server, {
    listen: (where: { reusePort?: boolean; port: number; host: string }) => {
      if (where.reusePort !== true) return listenAlone(where);
      const error = Object.assign(new Error("listen ENOTSUP: operation not supported"), { code: "ENOTSUP" });
      process.nextTick(() => server.emit("error", error));
      return server;
    },
  });
}

describe("a busy event loop", () => {
  test("answers a new client behind 300 connections after a few ticks, not one tick per connection", async () => {
    const { port } = use(await listening());
    const loop = busyLoop(5);
    for (let at = 0; at < 300; at += 1) open(port);
    const newcomer = open(port);
    const turnsBefore = loop.turns;
    newcomer.write(request);
    await once(newcomer, "data");
    expect(loop.turns - turnsBefore).toBeLessThan(100);
  });
});

describe("a listener with several sockets", () => {
  test("serves requests on each of them", async () => {
    const { port } = use(await listening());
    const responses = Array.from({ length: 200 }, async () => {
      const socket = open(port);
      socket.end(request);
      return text(socket);
    });
    expect(await socketsAt(port)).toBe(16);
    for (const response of await Promise.all(responses)) expect(response).toMatch(/^HTTP\/1\.1 200 OK[^]*served$/);
  });

  test("uses a single socket if descriptors are scarce, or on the admin port", async () => {
    const scarce = budget(160);
    const [few, operators] = [scarce.listener({ name: "public" }), scarce.operators()];
    for (const connections of [few, operators]) {
      const { port } = use(await listening(0, connections));
      expect(await socketsAt(port)).toBe(1);
    }
  });

  test("closes all of them on shutdown, after the request in flight", async () => {
    const pendingResponse = Promise.withResolvers<Response>();
    const asked = Promise.withResolvers<undefined>();
    const fetch = (incoming: Request) => {
      if (new URL(incoming.url).pathname === "/") return new Response("served");
      asked.resolve(undefined);
      return pendingResponse.promise;
    };
    const connections = budget().listener({ name: "public" });
    const listener = await listenHttp(
      { fetch },
      { host, port: 0, setting: "PORT", requestTimeoutMs: 5_000, connections },
    );
    const idle = Array.from({ length: 100 }, () => open(listener.port));
    for (const socket of idle) socket.write(request);
    await Promise.all(idle.map((socket) => once(socket, "data")));
    const late = open(listener.port);
    late.write(request.replace("/", "/late"));
    await asked.promise;
    const stopResult = listener[Symbol.asyncDispose]();
    await Promise.all(idle.map((socket) => socket.destroyed || once(socket, "close")));
    expect(await socketsAt(listener.port)).toBe(0);
    const response = text(late);
    pendingResponse.resolve(new Response("late"));
    expect(await response).toMatch(/late$/);
    await stopResult;
    use(await listening(listener.port));
  });
});

describe("a port in use is reported", () => {
  test("if used by another Gatehouse process", async () => {
    const { port } = use(await listening());
    await expect(listening(port)).rejects.toThrow(taken(port));
    expect(await socketsAt(port)).toBe(16);
  });

  test.each([
    ["exclusively", {}],
    ["that would share it", { reusePort: true }],
  ])("if used by a different process %s", async (_, options) => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen({ host, port: 0, ...options }, resolve));
    const { port } = other.address() as AddressInfo;
    await expect(listening(port)).rejects.toThrow(taken(port));
    await new Promise((resolve) => other.close(resolve));
    use(await listening(port));
  });
});

describe("a system that cannot share a port", () => {
  test("uses one socket, and still reports a port in use", async () => {
    const server = withoutSharedPorts(createHttpServer((_, response) => response.end("served")));
    const one = await listenOnSockets(server, { name: "any", host, port: 0, sockets: 16 });
    stacks.at(-1)?.defer(one.close);
    expect(await socketsAt(one.port)).toBe(1);
    const socket = open(one.port);
    socket.end(request);
    expect(await text(socket)).toMatch(/served$/);
    const connections = budget().listener({ name: "public" });
    await expect(
      listen(withoutSharedPorts(createHttpServer()), { host, port: one.port, setting: "PORT", connections }),
    ).rejects.toThrow(`port ${one.port} on ${host} is in use`);
  });
});
