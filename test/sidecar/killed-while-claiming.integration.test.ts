import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { pino } from "pino";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { claimState } from "#sidecar/upkeep/claim/claim-state.ts";
import { findTestProgram } from "../support/programs/place.ts";
import { seed } from "../support/run-size.ts";

const program = findTestProgram("claim-process.main.ts");
const stepsMax = 60;

/** In a short run, every fourth step, from a first one chosen by the seed. */
const stride = Number(process.env["GATEHOUSE_TEST_KILL_STRIDE"] ?? 4);
const firstStep = 1 + (seed % stride);

const environmentOf = (node: FakeNode, state: string) => ({
  GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
  GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state,
  GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
});

/** Claims a state directory for a node, in a process that is killed at a step; returns whether it finished. */
async function claimedWhole(node: FakeNode, state: string, killAt: number): Promise<boolean> {
  try {
    const env = environmentOf(node, state);
    await promisify(execFile)(process.execPath, ["--no-warnings", program, String(killAt)], { env });
    return true;
  } catch (error) {
    if ((error as { signal?: string }).signal === "SIGKILL") return false;
    throw error;
  }
}

async function claim(node: FakeNode, state: string): Promise<string | undefined> {
  using claimed = await claimState(readSettings(sidecarSettings, { env: environmentOf(node, state) }), {
    log: pino({ level: "silent" }),
    userStateDirectory: "/nonexistent",
    signal: new AbortController().signal,
  });
  return claimed.identity.get()?.configPath;
}

/** Lists the names of the data that a state directory stores about its node. */
function listFactNames(state: string): readonly string[] {
  if (!existsSync(join(state, "upkeep.sqlite"))) return [];
  using database = new DatabaseSync(join(state, "upkeep.sqlite"));
  if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'fact'").get() === undefined) return [];
  return database
    .prepare("SELECT name FROM fact")
    .all()
    .map(({ name }) => String(name));
}

test(`killed before one step in ${stride} of its first start, from step ${firstStep}: leaves the state unclaimed and empty, or claimed for its node`, async () => {
  await using node = await createFakeNode();
  await using anotherNode = await createFakeNode();
  const root = await makeTestDirectory();
  const owned: number[] = [];
  for (let killAt = firstStep, isWhole = false; !isWhole; killAt += stride) {
    expect(killAt).toBeLessThan(stepsMax);
    const state = join(root, String(killAt));
    isWhole = await claimedWhole(node, state, killAt);
    const copy = `${state}-met-by-another`;
    if (existsSync(state)) await cp(state, copy, { recursive: true });
    const names = listFactNames(copy);
    if (names.length > 0) {
      expect(names).toContain("identity");
      owned.push(killAt);
      await expect(claim(anotherNode, copy)).rejects.toThrow(`belongs to another node: ${node.configPath} (data `);
    } else expect(await claim(anotherNode, copy)).toBe(anotherNode.configPath);
    expect(await claim(node, state)).toBe(node.configPath);
  }
  expect(owned.length).toBeGreaterThan(0);
});
