import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyWorkspace, lookAtWorkspace } from "./workspace-copy.ts";

let volume: string;

/** More than any disk of a test has. */
const hugeBytes = 8 * 2 ** 40;

beforeEach(async () => {
  volume = await mkdtemp(join(tmpdir(), "gatehouse-volume-"));
  await mkdir(join(volume, "data"));
  await writeFile(join(volume, "data/chain"), "blocks");
});

afterEach(() => rm(volume, { recursive: true, force: true }));

describe("a copy of a node's data", () => {
  it("stays out of room that is not there, and leaves nothing of itself", async ({ skip }) => {
    const { clones } = await lookAtWorkspace(volume);
    skip(clones, "a clone takes no room");
    const path = join(volume, "data/zzz");
    await writeFile(path, "");
    await truncate(path, hugeBytes);
    await expect(copyWorkspace(volume, "2027-01-05")).rejects.toThrow("can't be cloned, and of the");
    expect(await readdir(join(volume, ".gatehouse-upgrade"))).toEqual([]);
  });

  it("is told apart from what was put aside", async () => {
    await copyWorkspace(volume, "2027-01-05");
    await mkdir(join(volume, ".gatehouse-upgrade/2027-01-04/aside"), { recursive: true });
    const { leftovers, copies } = await lookAtWorkspace(volume);
    expect(leftovers.toSorted()).toEqual(["2027-01-04", "2027-01-05"]);
    expect(copies).toEqual(["2027-01-05"]);
  });
});
