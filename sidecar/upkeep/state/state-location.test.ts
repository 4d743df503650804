import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { findUserStateDirectory } from "#daemon/files/user-state-directory.ts";
import { sidecarSettings } from "../../settings.ts";
import { chooseStateLocation, listStateLocations } from "./state-location.ts";

let root: string;

beforeEach(async () => {
  root = await makeTestDirectory();
});

const open = () => true;
const isNotWritable = () => false;

function locateState(workspace: string, isWritable: () => boolean, env: Readonly<Record<string, string>> = {}): string {
  const settings = readSettings(sidecarSettings, { env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: workspace, ...env } });
  const facts = { userStateDirectory: join(root, "user"), isWritable };
  return chooseStateLocation(settings, join(workspace, "bin/node.conf"), facts);
}

test("keeps state in the node's workspace, or in a separate user directory per node if the workspace is read-only", () => {
  for (const name of ["a", "b", "c"]) mkdirSync(join(root, name));
  expect(locateState(join(root, "a"), open)).toBe(join(root, "a/.gatehouse"));
  const otherLocations = [join(root, "b"), join(root, "c")].map((workspace) => locateState(workspace, isNotWritable));
  for (const location of otherLocations) expect(location).toMatch(new RegExp(`^${root}/user/[0-9a-f]{16}$`));
  expect(new Set(otherLocations).size).toBe(2);
  expect(locateState(join(root, "b"), isNotWritable, { GATEHOUSE_SIDECAR_NODE_CHAIN_ID: "7" })).not.toBe(
    otherLocations[0],
  );
  const set = { GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: "own" };
  expect(locateState(join(root, "a"), open, set)).toBe(resolve("own"));
});

test("finds existing state again, whether or not the workspace is writable", () => {
  mkdirSync(join(root, "b"));
  const locationBefore = locateState(join(root, "b"), isNotWritable);
  mkdirSync(locationBefore, { recursive: true });
  writeFileSync(join(locationBefore, "upkeep.sqlite"), "");
  expect(locateState(join(root, "b"), open)).toBe(locationBefore);
});

test("creates no state elsewhere while the workspace is not mounted yet", () => {
  expect(() => locateState(join(root, "later"), open)).toThrow(
    `the node's workspace ${join(root, "later")} does not exist; mount it, or set GATEHOUSE_SIDECAR_NODE_WORKSPACE to its location.`,
  );
});

test("uses the user state directory of the XDG Base Directory Specification", () => {
  expect(findUserStateDirectory({ XDG_STATE_HOME: "/state" })).toBe("/state/gatehouse");
  for (const env of [{}, { XDG_STATE_HOME: "" }, { XDG_STATE_HOME: "relative" }]) {
    expect(findUserStateDirectory(env)).toMatch(/^\/.*\/\.local\/state\/gatehouse$/);
  }
});

test.runIf(process.geteuid?.() === 0)("gives a user without HOME that is in no database a directory under /", () => {
  vi.stubEnv("HOME", undefined);
  process.seteuid?.(54_321);
  onTestFinished(() => {
    process.seteuid?.(0);
    vi.unstubAllEnvs();
  });
  expect(findUserStateDirectory({})).toBe("/.local/state/gatehouse");
});

test("looks for a sidecar in two places if no state directory is set", () => {
  const settings = readSettings(sidecarSettings, {
    env: { GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: join(root, "n/node.conf") },
  });
  expect(listStateLocations(settings, join(root, "n/node.conf"), root)).toEqual([
    join(root, "n/.gatehouse"),
    expect.stringMatching(new RegExp(`^${root}/[0-9a-f]{16}$`)),
  ]);
});
