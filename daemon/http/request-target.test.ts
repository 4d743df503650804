import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createAllowedHostCheck } from "./address.ts";
import { createApp } from "./app.ts";
import { listenHttp } from "./listener.ts";
import { createLog } from "../log/log.ts";

const host = "127.0.0.1";

/** Sends a request head to an admin port that returns what it has parsed, and closes the connection. */
async function send(head: string, listenOn = host): Promise<string> {
  const log = createLog({ service: "test", level: "silent" });
  const isAllowed = createAllowedHostCheck({ host, allowedHosts: ["known.example"] });
  const hosts = { isAllowed, setting: "admin.allowedHosts" };
  const app = createApp({ bodyLimitBytes: 16, hosts }, { log });
  app.get("*", (c) => c.text(`${c.req.header("Host")} ${c.req.url}`));
  await using listener = await listenHttp(app, { host: listenOn, port: 0, setting: "PORT", requestTimeoutMs: 5_000 });
  const socket = connect(listener.port, host).end(`${head}\r\n\r\n`);
  const answer = await text(socket);
  return `${answer.slice(9, 12)} ${answer.slice(answer.indexOf("\r\n\r\n") + 4)}`.replaceAll(`:${listener.port}`, "");
}

it.each([
  ["/%61?b=c", "http://known.example/%61?b=c"],
  ["?b=c", "http://known.example/?b=c"],
  ["", "http://known.example/"],
])("routes an absolute target by its own host and path: %s", async (rest, url) => {
  const answer = await send(`GET http://known.example${rest} HTTP/1.1\r\nHost: foreign.example\r\nConnection: close`);
  expect(answer).toBe(`200 known.example ${url}`);
});

it("rejects a foreign host in an absolute target, whatever the Host header", async () => {
  const answer = await send("GET http://foreign.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close");
  expect(answer).toMatch(
    /^403 .*the host foreign\.example is not allowed; use an IP address, or add the name to admin\.allowedHosts"/,
  );
});

it.each(["http://user:password@known.example/", "http:///path", "http://[::1/", "https://known.example:99999/"])(
  "responds to an invalid target with 400: %s",
  async (target) => {
    expect(await send(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close`)).toMatch(/^400 /);
  },
);

const hasIpv6 = Object.values(networkInterfaces()).some((of) => of?.some(({ family }) => family === "IPv6"));

it.each(hasIpv6 ? [host, "::"] : [host])(
  "routes HTTP/1.0 without a Host header by its local address, on %s",
  async (on) => {
    expect(await send("GET /livez HTTP/1.0", on)).toMatch(/^200 127\.0\.0\.1 http:\/\/127\.0\.0\.1(:\d+)?\/livez$/);
  },
);
