import { execFile } from "node:child_process";
import {
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import {
  copyWorkspace,
  discardWork,
  flushWorkspace,
  checkWorkspace,
  removeCopy,
  rollBackWorkspace,
  restoreWorkspace,
} from "../../cli/stack-upgrade/workspace-copy.ts";
import { findTestProgram } from "../support/programs/place.ts";
import { isLong, seed } from "../support/run-size.ts";

const program = findTestProgram("workspace-process.main.ts");
const id = "2027-01-05";
const hugeBytes = 8 * 2 ** 40;
/** Each kill needs its own process, about forty in a long run; other runs try one in five steps, chosen by the seed. */
const manyProcessesMs = 600_000;
const stride = isLong ? 1 : 5;
const firstStep = 1 + (seed % stride);
const ofSteps = isLong ? "at any step" : `at one step in ${stride} from ${firstStep}`;

let volume: string;

beforeEach(async () => {
  volume = await makeTestDirectory();
  await fill(volume, "old");
});

/** A node's volume: data with a directory, a link and an old file, and node.conf. */
async function fill(directory: string, version: string): Promise<void> {
  await mkdir(join(directory, "data/meta"), { recursive: true });
  await mkdir(join(directory, "conf"), { recursive: true });
  await writeFile(join(directory, "data/chain"), `${version} blocks`);
  await writeFile(join(directory, "data/meta/index"), `${version} index`, { mode: 0o640 });
  await utimes(join(directory, "data/meta/index"), 1_000_000, 1_000_000);
  await symlink("meta/index", join(directory, `data/link-of-${version}`));
  await writeFile(join(directory, "conf/node.conf"), `{ "of": "${version}" }`);
}

/** Changes the data like a new version: new, changed and deleted files. */
async function ruin(directory: string): Promise<void> {
  await rm(join(directory, "data/link-of-old"));
  await writeFile(join(directory, "data/chain"), "ruined");
  await writeFile(join(directory, "data/extra"), "new");
  await writeFile(join(directory, "conf/node.conf"), "{}");
}

async function contentOf(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const reportedEntries = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(directory.length);
    if (entry.isSymbolicLink()) return `${name} -> ${await readlink(path)}`;
    if (entry.isDirectory()) return `${name}/`;
    const { mode, mtimeMs } = await stat(path);
    const time = name.endsWith("index") ? mtimeMs : "";
    return `${name} ${(mode & 0o777).toString(8)} ${time} ${await readFile(path, "utf8")}`;
  });
  return (await Promise.all(reportedEntries)).toSorted();
}

const live = async () => [...(await contentOf(join(volume, "data"))), ...(await contentOf(join(volume, "conf")))];

/** Runs an action in a process that kills itself at a step; returns whether it reached that step. */
async function killed(action: "copy" | "restore", killAt: number, ...more: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const child = execFile(process.execPath, [program, String(killAt), action, volume, id, ...more], (error) => {
    resolve(error === null ? null : (error.signal ?? `status ${String(error.code)}: ${error.message}`));
  });
  const ended = await promise;
  expect([null, "SIGKILL"]).toContain(ended);
  expect(child.pid).toBeDefined();
  return ended === "SIGKILL";
}

describe("the copy of a node's volume", () => {
  test("restores the old data, and sets aside the new version's data", async () => {
    const liveFilesBefore = await live();
    await copyWorkspace(volume, id);
    await ruin(volume);
    await rollBackWorkspace(volume, id);
    expect(await live()).toEqual(liveFilesBefore);
    await removeCopy(volume, id);
    const aside = await contentOf(join(volume, ".gatehouse-upgrade", id));
    expect(aside.filter((line) => line.includes("ruined") || line.includes("/extra"))).toHaveLength(2);
    expect(aside.some((line) => line.startsWith("/copy"))).toBe(false);
    expect((await checkWorkspace(volume)).leftovers).toEqual([id]);
    await discardWork(volume, id);
    expect((await checkWorkspace(volume)).leftovers).toEqual([]);
  });

  test("leaves nothing behind if the new version was verified", async () => {
    await copyWorkspace(volume, id);
    await ruin(volume);
    const after = await live();
    await removeCopy(volume, id);
    expect(await live()).toEqual(after);
    expect((await checkWorkspace(volume)).leftovers).toEqual([]);
  });

  test("is not restored twice: later writes of the old version remain", async () => {
    await copyWorkspace(volume, id);
    await ruin(volume);
    await rollBackWorkspace(volume, id);
    await writeFile(join(volume, "data/chain"), "old blocks and more");
    await rollBackWorkspace(volume, id);
    expect(await readFile(join(volume, "data/chain"), "utf8")).toBe("old blocks and more");
  });

  test("is not made without enough free space, and leaves nothing behind", async ({ skip }) => {
    const { clones } = await checkWorkspace(volume);
    skip(clones, "a clone takes no space");
    const path = join(volume, "data/zzz");
    await writeFile(path, "");
    await truncate(path, hugeBytes);
    await expect(copyWorkspace(volume, id)).rejects.toThrow("can't be cloned, and of the");
    expect(await readdir(join(volume, ".gatehouse-upgrade"))).toEqual([]);
  });

  test("is distinguished from data that was set aside", async () => {
    await copyWorkspace(volume, id);
    await mkdir(join(volume, ".gatehouse-upgrade/2027-01-04/aside"), { recursive: true });
    const { leftovers, copies } = await checkWorkspace(volume);
    expect(leftovers.toSorted()).toEqual(["2027-01-04", id]);
    expect(copies).toEqual([id]);
  });

  test("is not restored if incomplete", async () => {
    const liveFilesBefore = await live();
    await expect(rollBackWorkspace(volume, id)).rejects.toThrow("no complete copy");
    expect(await live()).toEqual(liveFilesBefore);
  });

  test("reports its size and node.conf beforehand, and leaves no trace of the check", async () => {
    const names = await readdir(volume);
    const { bytes, freeBytes, conf } = await checkWorkspace(volume);
    expect(bytes).toBe("old blocks".length + "old index".length + '{ "of": "old" }'.length);
    expect(freeBytes).toBeGreaterThan(0);
    expect(Buffer.from(conf ?? "", "base64").toString()).toBe('{ "of": "old" }');
    expect(await readdir(volume)).toEqual(names);
  });

  test(`is complete if killed ${ofSteps} and then repeated`, { timeout: manyProcessesMs }, async () => {
    const liveFilesBefore = await live();
    let killAt = firstStep;
    for (; await killed("copy", killAt); killAt += stride) {
      expect(await live()).toEqual(liveFilesBefore);
      await copyWorkspace(volume, id);
      await ruin(volume);
      await rollBackWorkspace(volume, id);
      expect(await live()).toEqual(liveFilesBefore);
      await discardWork(volume, id);
    }
    expect(killAt).toBeGreaterThan(10);
  });

  test(
    `is fully restored if the restore is killed ${ofSteps} and then repeated`,
    { timeout: manyProcessesMs },
    async () => {
      const liveFilesBefore = await live();
      let killAt = firstStep;
      for (let isKilled = true; isKilled; killAt += stride) {
        await copyWorkspace(volume, id);
        await ruin(volume);
        isKilled = await killed("restore", killAt);
        await rollBackWorkspace(volume, id);
        expect(await live()).toEqual(liveFilesBefore);
        await discardWork(volume, id);
      }
      expect(killAt).toBeGreaterThan(10);
    },
  );
});

const work = () => join(volume, ".gatehouse-upgrade", id);
const files = async (directory: string) => {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const found = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(found.map((path) => readFile(path, "utf8")))).toSorted();
};
/** Writes like a running node, which recreates a directory that was just moved. */
const write = async (text: string) => {
  await mkdir(join(volume, "data/db"), { recursive: true });
  await writeFile(join(volume, "data/db/log"), text);
};

describe("restored data", () => {
  test("replaces what a node wrote while the new version's data was set aside", async () => {
    await write("before");
    await copyWorkspace(volume, id);
    await write("of the new version");
    await mkdir(join(work(), "aside/data"), { recursive: true });
    await rename(join(volume, "data/db"), join(work(), "aside/data/db"));
    await write("of a node that was started");
    await rollBackWorkspace(volume, id);
    expect((await checkWorkspace(volume)).copies).toEqual([id]);
    expect(await readFile(join(volume, "data/db/log"), "utf8")).toBe("before");
    expect(await files(join(work(), "aside/data"))).toEqual([
      "of a node that was started",
      "of the new version",
      "old blocks",
      "old index",
    ]);
  });

  test("replaces what a node wrote while the data was being restored", async () => {
    await write("before");
    await copyWorkspace(volume, id);
    await rename(join(volume, "data"), join(volume, "gone"));
    await write("of a node that was started");
    await rename(join(work(), "copy"), join(work(), "restoring"));
    await rollBackWorkspace(volume, id);
    expect(await files(join(volume, "data"))).toEqual(["before", "old blocks", "old index"]);
    expect(await files(join(work(), "aside/data"))).toEqual(["of a node that was started"]);
  });
});

describe("a snapshot of a node's volume", () => {
  let snapshot: string;

  beforeEach(async () => {
    snapshot = await makeTestDirectory();
    await fill(snapshot, "old");
  });

  test("contains what is on the disk: flushing changes nothing", async () => {
    const contentBefore = await contentOf(volume);
    await flushWorkspace(volume);
    expect(await contentOf(volume)).toEqual(contentBefore);
  });

  test("is restored as often as requested, and leaves nothing else behind", async () => {
    const liveFilesBefore = await live();
    for (let times = 0; times < 2; times += 1) {
      await ruin(volume);
      await restoreWorkspace(volume, snapshot);
      expect(await live()).toEqual(liveFilesBefore);
    }
    expect((await checkWorkspace(volume)).leftovers).toEqual([]);
  });

  test("replaces data if there is no space for a copy next to it", async () => {
    const liveFilesBefore = await live();
    await ruin(volume);
    const large = join(snapshot, "data/large");
    await writeFile(large, "");
    await truncate(large, hugeBytes);
    await expect(restoreWorkspace(volume, snapshot)).rejects.toThrow("are free");
    expect(await readdir(join(volume, "data"))).not.toContain("extra");
    await rm(large);
    await restoreWorkspace(volume, snapshot);
    expect(await live()).toEqual(liveFilesBefore);
  });

  test("is not restored if empty: the existing data remains", async () => {
    await ruin(volume);
    const liveFilesBefore = await live();
    await rm(snapshot, { recursive: true });
    await mkdir(join(snapshot, "data"), { recursive: true });
    await expect(restoreWorkspace(volume, snapshot)).rejects.toThrow("contains no node data");
    expect(await live()).toEqual(liveFilesBefore);
  });

  test("is fully restored if killed and then repeated", { timeout: manyProcessesMs }, async () => {
    const liveFilesBefore = await live();
    let killAt = firstStep;
    for (let isKilled = true; isKilled; killAt += 2 * stride) {
      await ruin(volume);
      isKilled = await killed("restore", killAt, snapshot);
      await restoreWorkspace(volume, snapshot);
      expect(await live()).toEqual(liveFilesBefore);
    }
    expect(killAt).toBeGreaterThan(20);
  });
});
