import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ownCommand } from "#daemon/own-command.ts";
import { createMask } from "#daemon/mask.ts";
import { createCommandWords } from "#sidecar/upkeep/command-words.ts";
import { requestControl } from "#sidecar/upkeep/control/request-control.ts";
import { controlView, resumeAnswer, type ControlView } from "#sidecar/upkeep/control/control-answers.ts";
import { locateSocket } from "#sidecar/upkeep/control/control-socket.ts";
import { listenControl } from "#sidecar/upkeep/control/listen-control.ts";
import type { UpkeepControl } from "#sidecar/upkeep/control/upkeep-control.ts";

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
  look: () => view,
  resume: () => ({ result: "none", node }),
  restart: () => ({ result: "asked", node }),
  adopt: () => ({ result: "already", view }),
  upgrade: async () => ({ result: "refused", plan: { steps: [], problems: [], warnings: [], digest: "" }, node }),
  restore: async () => ({ result: "refused", plan: { steps: [], problems: [], warnings: [], digest: "" }, node }),
  cancelUpgrade: () => ({ result: "none", node }),
};

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-control-"));
});

afterEach(() => rm(directory, { recursive: true }));

const ask = (stateDirectory: string) =>
  requestControl({ kind: "socket", stateDirectories: [stateDirectory] }, { path: "/resume", answer: resumeAnswer });

test("the socket is its owner's alone, takes the place of a killed sidecar's, and is gone with the sidecar", async () => {
  await mkdir(join(directory, "control"), { mode: 0o755 });
  await writeFile(locateSocket(directory), "left by a killed one");
  {
    await using _ = await listenControl(directory, control, { log, mask });
    const modes = [await stat(locateSocket(directory)), await stat(join(directory, "control"))].map(
      ({ mode }) => mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o700]);
    expect(await ask(directory)).toEqual({ result: "none", node });
  }
  await expect(ask(directory)).rejects.toThrow(`no sidecar runs with its state in ${directory}.`);
});

test.skipIf(process.platform !== "linux")(
  "a state directory whose path no socket may have is reached all the same",
  async () => {
    const long = join(directory, "a-directory-with-a-name-of-some-length/".repeat(6));
    await mkdir(long, { recursive: true });
    await using _ = await listenControl(long, control, { log, mask });
    expect(Buffer.byteLength(locateSocket(long))).toBeGreaterThan(200);
    expect(await ask(long)).toEqual({ result: "none", node });
    const target = { kind: "socket", stateDirectories: [join(directory, "none"), long] } as const;
    expect(await requestControl(target, { path: "", answer: controlView })).toEqual(view);
  },
);

test("a socket that a killed sidecar left answers nobody, and says so", async () => {
  const listening = await listenControl(directory, control, { log, mask });
  await listening[Symbol.asyncDispose]();
  await writeFile(locateSocket(directory), "");
  await expect(ask(directory)).rejects.toThrow(
    `no sidecar answers at ${locateSocket(directory)} (ECONNREFUSED); is it running, and may this user reach it?`,
  );
});

test("the socket that a killed sidecar left does not hide the one that runs", async () => {
  const killed = join(directory, "killed");
  const running = join(directory, "running");
  for (const place of [killed, running]) await mkdir(place);
  await mkdir(join(killed, "control"));
  await writeFile(locateSocket(killed), "");
  await using _ = await listenControl(running, control, { log, mask });
  const target = { kind: "socket", stateDirectories: [killed, running] } as const;
  expect(await requestControl(target, { path: "", answer: controlView })).toEqual(view);
});

test("the command is the one for this deployment, and safe to paste", () => {
  const commandPrefix = "docker exec gatehouse-dev-sidecar node /app/cli/gatehouse.js";
  expect(createCommandWords({ commandPrefix }, "/state")("resume")).toBe(`${commandPrefix} resume`);
  expect(createCommandWords({}, "/srv/a/.gatehouse")("adopt")).toBe(
    `${ownCommand()} adopt --state-directory /srv/a/.gatehouse`,
  );
  expect(createCommandWords({}, "/srv/the node's")("resume")).toBe(
    `${ownCommand()} resume --state-directory '/srv/the node'\\''s'`,
  );
});

test("no answer shows credentials of the sidecar's URLs", async () => {
  const url = "http://operator:a-password-of-the-test@push.example:9091";
  const masking = createMask();
  masking.hide(url);
  const answer = { result: "none", node: { name: "node-7", words: `pushes to ${url}` } } as const;
  const told = { ...control, resume: () => answer };
  await using _ = await listenControl(directory, told, { log, mask: masking });
  expect(await ask(directory)).toEqual({
    result: "none",
    node: { name: "node-7", words: "pushes to http://[masked]@push.example:9091" },
  });
});
