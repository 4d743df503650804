import { mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyWorkspace, checkWorkspace, rollBackWorkspace } from "./workspace-copy.ts";

let volume: string;

const id = "2027-01-05";

const hugeBytes = 8 * 2 ** 40;

beforeEach(async () => {
  volume = await mkdtemp(join(tmpdir(), "gatehouse-volume-"));
  await mkdir(join(volume, "data"));
  await writeFile(join(volume, "data/chain"), "blocks");
});

afterEach(() => rm(volume, { recursive: true, force: true }));

describe("a copy of a node's data", () => {
  it("stays out of room that is not there, and leaves nothing of itself", async ({ skip }) => {
    const { clones } = await checkWorkspace(volume);
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
    const { leftovers, copies } = await checkWorkspace(volume);
    expect(leftovers.toSorted()).toEqual(["2027-01-04", "2027-01-05"]);
    expect(copies).toEqual(["2027-01-05"]);
  });
});

const work = () => join(volume, ".gatehouse-upgrade", id);
const files = async (directory: string) => {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const found = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(found.map((path) => readFile(path, "utf8")))).toSorted();
};
/** A running node recreates a directory while it is being moved. */
const write = async (text: string) => {
  await mkdir(join(volume, "data/db"), { recursive: true });
  await writeFile(join(volume, "data/db/log"), text);
};

describe("data that are put back", () => {
  it("take the place of what a node has made while the new version's were put aside", async () => {
    await write("before");
    await copyWorkspace(volume, id);
    await write("of the new version");
    await mkdir(join(work(), "aside/data"), { recursive: true });
    await rename(join(volume, "data/db"), join(work(), "aside/data/db"));
    await write("of a node that was started");
    await rollBackWorkspace(volume, id);
    expect((await checkWorkspace(volume)).copies).toEqual([id]);
    expect(await readFile(join(volume, "data/db/log"), "utf8")).toBe("before");
    expect(await files(join(work(), "aside"))).toEqual(["blocks", "of a node that was started", "of the new version"]);
  });

  it("take the place of what a node has made while they were brought back", async () => {
    await write("before");
    await copyWorkspace(volume, id);
    await rename(join(volume, "data"), join(volume, "gone"));
    await write("of a node that was started");
    await rename(join(work(), "copy"), join(work(), "restoring"));
    await rollBackWorkspace(volume, id);
    expect(await files(join(volume, "data"))).toEqual(["before", "blocks"]);
    expect(await files(join(work(), "aside"))).toEqual(["of a node that was started"]);
  });
});
