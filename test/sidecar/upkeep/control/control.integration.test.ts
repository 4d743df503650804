import { once } from "node:events";
import { createServer } from "node:http";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { createApp } from "#daemon/http/app.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { createCommandText } from "#sidecar/upkeep/command-text.ts";
import { requestControl } from "#sidecar/upkeep/control/request-control.ts";
import { controlView, resumeResponse, type ControlView } from "#sidecar/upkeep/control/control-responses.ts";
import { locateSocket } from "#sidecar/upkeep/control/control-socket.ts";
import { addGuardedControlRoutes, listenForControl } from "#sidecar/upkeep/control/listen-control.ts";
import type { UpkeepControl } from "#sidecar/upkeep/control/upkeep-control.ts";
import type { RestartRequestResult } from "#sidecar/upkeep/restart/requested-restart.ts";
import { runGatehouse } from "../../../support/run-command.ts";

const log = pino({ level: "silent" });
const mask = createMask();
const node = { name: "node-7", words: "/srv/a/node.conf" };
const view: ControlView = {
  node,
  sidecar: { pid: 1, host: "here", stateDirectory: "/state" },
  mode: "enforce",
  authority: "acts",
};
const control: UpkeepControl = {
  view: () => view,
  resume: () => ({ result: "none", node }),
  restart: () => ({ result: "requested", node }),
  adopt: () => ({ result: "already", view }),
  upgrade: async () => ({ result: "rejected", plan: { steps: [], problems: [], warnings: [], digest: "" }, node }),
};

let directory: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
});

const ask = (stateDirectory: string) =>
  requestControl({ kind: "socket", stateDirectories: [stateDirectory] }, { path: "/resume", schema: resumeResponse });

test("restricts the socket to its owner, replaces one left by a killed sidecar, and removes it on exit", async () => {
  await mkdir(join(directory, "control"), { mode: 0o755 });
  await writeFile(locateSocket(directory), "left by a killed sidecar");
  {
    await using _ = await listenForControl(directory, control, { log, mask });
    const modes = [await stat(locateSocket(directory)), await stat(join(directory, "control"))].map(
      ({ mode }) => mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o700]);
    expect(await ask(directory)).toEqual({ result: "none", node });
  }
  await expect(ask(directory)).rejects.toThrow(`no running sidecar has its state in ${directory}.`);
});

test.skipIf(process.platform !== "linux")("reaches a state directory whose path is too long for a socket", async () => {
  const long = join(directory, "a-directory-with-a-name-of-some-length/".repeat(6));
  await mkdir(long, { recursive: true });
  await using _ = await listenForControl(long, control, { log, mask });
  expect(Buffer.byteLength(locateSocket(long))).toBeGreaterThan(200);
  expect(await ask(long)).toEqual({ result: "none", node });
  const target = { kind: "socket", stateDirectories: [join(directory, "none"), long] } as const;
  expect(await requestControl(target, { path: "", schema: controlView })).toEqual(view);
});

test("reports that no sidecar listens on a socket left by a killed sidecar", async () => {
  const listening = await listenForControl(directory, control, { log, mask });
  await listening[Symbol.asyncDispose]();
  await writeFile(locateSocket(directory), "");
  await expect(ask(directory)).rejects.toThrow(
    `no sidecar responds at ${locateSocket(directory)} (ECONNREFUSED); check that it is running and that this user may connect.`,
  );
});

test("reports a sidecar that hangs, and that it may still act on the request", async () => {
  await mkdir(join(directory, "control"));
  const hanging = createServer();
  hanging.listen(locateSocket(directory));
  await once(hanging, "listening");
  onTestFinished(() => {
    hanging.closeAllConnections();
    hanging.close();
  });
  const target = { kind: "socket", stateDirectories: [directory] } as const;
  const hangs = `the sidecar at ${locateSocket(directory)} did not respond within 200 ms`;
  const request = { schema: controlView, timeoutMs: 200 };
  await expect(requestControl(target, { path: "", ...request })).rejects.toThrow(`${hangs}; check its log and`);
  await expect(requestControl(target, { path: "/restart", ...request })).rejects.toThrow(`${hangs}, but may still act`);
});

test("finds the running sidecar despite a socket left by a killed sidecar", async () => {
  const killedPath = join(directory, "killed");
  const runningPath = join(directory, "running");
  for (const place of [killedPath, runningPath]) await mkdir(place);
  await mkdir(join(killedPath, "control"));
  await writeFile(locateSocket(killedPath), "");
  await using _ = await listenForControl(runningPath, control, { log, mask });
  const target = { kind: "socket", stateDirectories: [killedPath, runningPath] } as const;
  expect(await requestControl(target, { path: "", schema: controlView })).toEqual(view);
});

test("suggests the command for this deployment, safe to paste", () => {
  const commandPrefix = "docker exec gatehouse-dev-sidecar node /app/cli/gatehouse.js";
  expect(createCommandText({ commandPrefix })("resume")).toBe(`${commandPrefix} resume`);
  expect(createCommandText({})("adopt")).toBe(`${formatOwnCommand()} adopt`);
});

test("shows no credentials of the sidecar's URLs in any response", async () => {
  const url = "http://operator:a-password-of-the-test@push.example:9091";
  const masking = createMask();
  masking.hide(url);
  const response = { result: "none", node: { name: "node-7", words: `pushes to ${url}` } } as const;
  const answering = { ...control, resume: () => response };
  await using _ = await listenForControl(directory, answering, { log, mask: masking });
  expect(await ask(directory)).toEqual({
    result: "none",
    node: { name: "node-7", words: "pushes to http://[masked]@push.example:9091" },
  });
});

/** Runs a confirmed command, and returns its output. */
async function runAgreed(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await runGatehouse([...args, "--yes"], {}, directory);
  return `${stdout}${stderr}`;
}

test("suggests a command for the same sidecar, with its state directory or settings", async () => {
  const place = join(directory, "the node's");
  await mkdir(place);
  await writeFile(join(directory, "sidecar.json5"), JSON.stringify({ upkeep: { stateDirectory: place } }));
  const waiting: UpkeepControl = { ...control, restart: () => ({ result: "waits", node }) };
  await using _ = await listenForControl(place, waiting, { log, mask });
  const quoted = `'${directory}/the node'\\''s'`;
  const typed = ["--state-directory", place];
  expect(await runAgreed("restart", ...typed)).toContain(
    `${formatOwnCommand(directory)} adopt --state-directory ${quoted}.\n`,
  );
  expect(await runAgreed("restart", "--settings", "sidecar.json5")).toContain(
    `${formatOwnCommand(directory)} adopt --settings sidecar.json5.\n`,
  );
});

test("suggests a command for the same URL, without its token and credentials", async () => {
  const token = "a-token-of-thirty-two-characters-or-more";
  await writeFile(join(directory, "token"), token);
  let result: RestartRequestResult = "paused";
  const app = createApp({ bodyLimitBytes: 1_024 }, { log });
  addGuardedControlRoutes(app, () => ({ ...control, restart: () => ({ result, node }) }), new Secret(token));
  await using listener = await listenHttp(app, { host: "127.0.0.1", port: 0, setting: "-", requestTimeoutMs: 5_000 });
  const typed = ["--url", listener.url.replace("//", "//operator:a-password@"), "--token-file", "token"];
  const held = await runAgreed("restart", ...typed);
  expect(held).toContain(`then run ${formatOwnCommand(directory)} resume --url ${listener.url} --token-file token.`);
  result = "requested";
  const asked = await runAgreed("restart", ...typed);
  expect(asked).toContain(`Follow it with ${formatOwnCommand(directory)} status --url ${listener.url}.\n`);
  expect(`${held}${asked}`).not.toMatch(/a-token|a-password/);
});

test("tells a request from the status page, which has an origin, from a command's", async () => {
  const token = "a-token-of-thirty-two-characters-or-more";
  const requesters: unknown[] = [];
  const noting: UpkeepControl = {
    ...control,
    resume: (requester) => (requesters.push(requester), { result: "none", node }),
    restart: (requester) => (requesters.push(requester), { result: "requested", node }),
    adopt: (_digest, requester) => (requesters.push(requester), { result: "already", view }),
  };
  const app = createApp({ bodyLimitBytes: 1_024 }, { log });
  addGuardedControlRoutes(app, () => noting, new Secret(token));
  await using listener = await listenHttp(app, { host: "127.0.0.1", port: 0, setting: "-", requestTimeoutMs: 5_000 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", origin: listener.url };
  for (const path of ["resume", "restart", "adopt"] as const) {
    const body = { digest: "d" };
    await fetch(`${listener.url}/control/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const schema = z.looseObject({});
    await requestControl({ kind: "url", url: listener.url, token }, { path: `/${path}`, body, schema });
  }
  expect(requesters).toEqual(["page", "command", "page", "command", "page", "command"]);
});

test("reports the sidecar's reason for a rejection, and mentions the token only if it is wrong", async () => {
  const token = "a-token-of-thirty-two-characters-or-more";
  let current: UpkeepControl | undefined;
  const app = createApp({ bodyLimitBytes: 1_024 }, { log });
  addGuardedControlRoutes(app, () => current, new Secret(token));
  await using listener = await listenHttp(app, { host: "127.0.0.1", port: 0, setting: "-", requestTimeoutMs: 5_000 });
  const { url } = listener;
  const target = { kind: "url", url, token } as const;
  const resume = { path: "/resume", schema: resumeResponse } as const;
  await expect(requestControl(target, resume)).rejects.toThrow(
    `${url} rejected the request: the sidecar is starting; retry in a few seconds.`,
  );
  current = control;
  await expect(requestControl(target, { ...resume, path: "/adopt", body: {} })).rejects.toThrow(
    `${url} rejected the request: expected {"digest": "…"} of the plan that was shown.`,
  );
  for (const wrong of [`${token}x`, "a token with blanks"]) {
    await expect(requestControl({ ...target, token: wrong }, resume)).rejects.toThrow(
      `${url} rejected the token; it must equal the sidecar's upkeep.controlToken.`,
    );
  }
});
