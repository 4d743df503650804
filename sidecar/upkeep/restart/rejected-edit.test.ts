import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { keepProgramOutput } from "../../testing/program-output.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import { readConfigFile } from "../config/config-file.ts";
import type { ObservedConfig } from "../config/config-observation.ts";
import { createConfigVersions } from "../config/config-versions.ts";
import { forgetRejection, explainRejectedEdit } from "./rejected-edit.ts";

const startMs = Date.UTC(2026, 0, 1);
let directory: string;
let nowMs: number;
let config: ObservedConfig;

beforeEach(async () => {
  directory = await makeTestDirectory();
  nowMs = 0;
  ({ config } = makeContext());
});

/** Checks the same edit, made by a shell command in the node's directory. */
async function judge(
  script: string,
  timeoutMs = 20_000,
  { before, edit = before } = { before: '{ "chain": {} }' } as Readonly<{ before: string; edit?: string }>,
) {
  const configPath = join(directory, "node.conf");
  await writeFile(configPath, edit);
  const reading = await readConfigFile(configPath, 65_536);
  if (!reading.ok) throw new Error(reading.problem.message);
  // Lint already found the same faults in the previous file.
  config.note({ lastUsable: { contentHash: "earlier", bytes: Buffer.from(before) } });
  const layout = resolveNodeLayout({ configPath });
  await using output = await keepProgramOutput();
  const context = makeContext({
    settings: {
      node: { httpUrl: "http://127.0.0.1:18100", webSocketUrl: "ws://127.0.0.1:18200", environment: [] },
      restart: { checkCommand: ["sh", "-c", script], timeoutMs },
    },
    config,
    place: { layout: () => layout },
    versions: createConfigVersions(directory),
    clock: { wallMs: () => startMs + nowMs, monotonicMs: () => nowMs },
    output,
  });
  return await explainRejectedEdit(reading, undefined, context);
}

/** Counts how often it runs. */
const counted = (script: string) => `echo >>runs; ${script}`;
const runs = async () => (await readFile(join(directory, "runs"), "utf8")).length;

test("retries a failed check with growing delays, and passes once the cause is fixed", async () => {
  const check = counted("test -e key || { echo no key; exit 1; }");
  expect(await judge(check)).toEqual({
    words:
      "restart.checkCommand rejected it: sh exited with status 1: no key; it runs again at 2026-01-01T00:00:10.000Z; to run it now: gatehouse resume.",
    wakeInMs: 10_000,
  });
  nowMs = 4_000;
  expect(await judge(check)).toMatchObject({ wakeInMs: 6_000 });
  expect(await runs()).toBe(1);
  nowMs = 10_000;
  expect(await judge(check)).toMatchObject({ wakeInMs: 20_000 });
  nowMs = 30_000;
  await writeFile(join(directory, "key"), "");
  expect(await judge(check)).toBeUndefined();
  expect(await judge(check)).toBeUndefined();
  expect(await runs()).toBe(3);
});

test("waits ten minutes at most, and rechecks at once when the operator asks", async () => {
  expect(forgetRejection(config)).toBe(false);
  for (let count = 0; count < 8; count += 1) {
    const rejection = await judge("exit 1");
    nowMs += rejection?.wakeInMs ?? 0;
  }
  expect(await judge("exit 1")).toMatchObject({ wakeInMs: 600_000 });
  expect(forgetRejection(config)).toBe(true);
  expect(await judge("exit 0")).toBeUndefined();
});

test.each([
  ["times out", "exec sleep 60", /^restart\.checkCommand failed: sh did not finish within 200 ms/],
  ["is killed by a signal", "kill -9 $$", /^restart\.checkCommand failed: sh was killed by SIGKILL/],
])("does not reject node.conf if the check %s", async (_, script, words) => {
  expect((await judge(script, script.includes("sleep") ? 200 : 20_000))?.words).toMatch(words);
});

const withPorts = (http: string, ws: string) =>
  JSON.stringify({ chain: { startup_config: { init_config: { http_port: http, ws_port: ws } } } });

test("rejects a port on which the sidecar could not reach the node, and reports the setting to change first", async () => {
  const before = withPorts("18100", "18200");
  const moved = await judge("exit 0", 20_000, { before, edit: withPorts("18300", "18200") });
  expect(moved?.words).toMatch(
    /init_config\.http_port is 18300, but the sidecar queries the node on port 18100 \(node\.httpUrl\)/,
  );
  expect((await judge("exit 0", 20_000, { before, edit: withPorts("18100", "18400") }))?.words).toContain(
    "node.webSocketUrl",
  );
});

test("lets the node's port change if ports are mapped between the sidecar and the node", async () => {
  const before = withPorts("8100", "8200");
  expect(await judge("exit 0", 20_000, { before, edit: withPorts("8101", "8201") })).toBeUndefined();
});

test.each(["monitor_config", "secret_config"])(
  "rejects a duplicate key in %s, which a healthy node would read either way",
  async (name) => {
    const writeSection = (section: string) => `{ "chain": { "${name}": ${section} } }`;
    const before = writeSection('{ "a": true }');
    const edit = writeSection('{ "a": false, "a": true }');
    expect((await judge("exit 0", 20_000, { before, edit }))?.words).toContain(
      `chain.${name}.a duplicate key in one object (first on line 1); parsers differ in which value they use. To fix it, remove one of the two.`,
    );
    expect(await judge("exit 0", 20_000, { before: edit }), "the node already runs with it").toBeUndefined();
  },
);
