import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bootTime, systemClock } from "#daemon/clock.ts";
import { runProcess } from "#daemon/process/bounded-process.ts";
import { isOnPath } from "#devnet/pushgateway/real-pushgateway.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { showsChanges } from "../../../sidecar/upkeep/upgrade/data/changed-files.ts";
import { finishCopies, copyRunningStores, type PreCopyOptions } from "../../../sidecar/upkeep/upgrade/data/pre-copy.ts";

const isThere = (await isOnPath("rsync")) && (await showsChanges(tmpdir()));
const skipped = isThere
  ? ""
  : " (skipped: no rsync on the PATH, or no disk under the temporary directory; apt install rsync)";

const clocks = { clock: systemClock, boot: bootTime };
const path = process.env["PATH"];
let root: string;
let data: string;
let record: Parameters<typeof copyRunningStores>[0];

const options = (more: Partial<PreCopyOptions> = {}): PreCopyOptions => ({
  timeoutMs: 60_000,
  marginMs: 0,
  signal: new AbortController().signal,
  ...more,
});

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-pre-copy-"));
  data = join(root, "data");
  const directory = join(root, ".gatehouse-upgrade", "1");
  record = { directory, stores: [{ path: data, copy: join(directory, "data"), aside: join(directory, "aside") }] };
  await mkdir(join(data, "blocks", "empty"), { recursive: true });
  for (let file = 0; file < 40; file += 1)
    await writeFile(join(data, "blocks", `${file}.sst`), `block ${file}`.repeat(2_000));
  // In whole seconds, which can be set back to the nanosecond.
  await utimes(join(data, "blocks", "30.sst"), 1_700_000_000, 1_700_000_000);
  await writeFile(join(data, "private"), "key", { mode: 0o640 });
  await link(join(data, "private"), join(data, "blocks", "private too"));
  await symlink("blocks/1.sst", join(data, "current"));
  await using sparse = await open(join(data, "sparse"), "w");
  await sparse.truncate(64 * 2 ** 20);
  await sparse.write("end", 64 * 2 ** 20 - 3);
  // A change of the same instant counts as one after it.
  const { ctimeMs } = await sparse.stat();
  await readUntil(Date.now, (nowMs) => nowMs > ctimeMs + 20);
});

afterEach(async () => {
  process.env["PATH"] = path;
  await rm(root, { recursive: true });
});

/** Writes other bytes of the same size, and sets the time of modification back: as a database does that writes through a mapping. */
async function rewrite(name: string, fill: string): Promise<void> {
  await using file = await open(join(data, name), "r+");
  const { size, atime, mtime } = await file.stat();
  await file.write(fill.repeat(size).slice(0, size), 0);
  await file.utimes(atime, mtime);
}

/** Lists what rsync still finds to change, by content, attributes, links and surplus files: nothing of equal directories. */
async function listDifferences(): Promise<readonly string[]> {
  const words = ["-aHAXSni", "--delete", "--checksum", "--", `${data}/`, `${join(record.directory, "data")}/`];
  const result = await runProcess({
    command: ["rsync", ...words],
    directory: "/",
    timeoutMs: 60_000,
    outputLimitBytes: 1e6,
    signal: options().signal,
  });
  if (!result.ok) throw new Error(result.message);
  return result.output.split("\n").filter(Boolean);
}

const listParts = async () => (await readdir(record.directory)).filter((name) => name.startsWith("data.part-"));

const textOf = (name: string) => readFile(join(record.directory, "data", name), "utf8");

/** Puts a program in the place of rsync; `$REAL` is the real one. */
async function replaceRsync(body: string): Promise<void> {
  const real = await runProcess({
    command: ["which", "rsync"],
    directory: "/",
    timeoutMs: 10_000,
    outputLimitBytes: 9_999,
    signal: options().signal,
  });
  if (!real.ok) throw new Error(real.message);
  const bin = join(root, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "rsync"), `#!/bin/sh\nREAL=${real.output.trim()}\nROOT=${root}\n${body}\n`);
  await chmod(join(bin, "rsync"), 0o755);
  process.env["PATH"] = `${bin}${delimiter}${path}`;
}

describe.skipIf(!isThere)(`copies that begin while the node runs${skipped}`, () => {
  test("data that are written to all the while are the same, byte by byte, in the copy that is completed once nobody writes", async () => {
    const ends = new AbortController();
    const writing = (async () => {
      for (let turn = 0; !ends.signal.aborted; turn += 1) {
        await rewrite(`blocks/${turn % 10}.sst`, `turn ${turn}`);
        await writeFile(join(data, `log-${turn % 5}`), "x".repeat(turn));
        await rm(join(data, `log-${(turn + 2) % 5}`), { force: true });
      }
    })();
    await copyRunningStores(record, options(), clocks);
    ends.abort();
    await writing;
    // After the last byte was read: same size, same time of modification.
    await rewrite("blocks/30.sst", "other");
    expect((await stat(join(data, "blocks", "30.sst"))).mtimeMs).toBe(1_700_000_000_000);
    await rm(join(data, "blocks", "31.sst"));
    await chmod(join(data, "blocks", "32.sst"), 0o600);
    await rm(join(data, "blocks", "33.sst"));
    await mkdir(join(data, "blocks", "33.sst"));
    await rm(join(data, "blocks", "empty"), { recursive: true });
    await symlink(data, join(data, "blocks", "empty"));
    await finishCopies(record, options(), clocks);
    expect(await listDifferences()).toEqual([]);
    expect(await textOf("blocks/30.sst")).toMatch(/^otherother/);
    const { blocks = 0 } = await stat(join(record.directory, "data", "sparse"));
    expect(blocks * 512).toBeLessThan(2 ** 20);
    expect((await stat(join(record.directory, "data", "private"))).nlink).toBe(2);
    expect(await readdir(record.directory)).toEqual(["data"]);
  });

  test("what did not change since before the beginning is not copied again, and a link in the copy leads nobody to the data", async () => {
    await symlink(join(data, "blocks"), join(data, "old"));
    await copyRunningStores(record, options(), clocks);
    const [part = ""] = await listParts();
    const kept = join(record.directory, part, "blocks", "5.sst");
    const { atime, mtime, size } = await stat(kept);
    await writeFile(kept, "-".repeat(size));
    await utimes(kept, atime, mtime);
    await rm(join(data, "old"));
    await mkdir(join(data, "old"));
    await writeFile(join(data, "old", "1.sst"), "new");
    await finishCopies(record, options(), clocks);
    expect(await textOf("blocks/5.sst")).toBe("-".repeat(size));
    expect(await textOf("old/1.sst")).toBe("new");
    expect(await readFile(join(data, "blocks", "1.sst"), "utf8")).toContain("block 1");
  });

  test.each([
    ["the machine was started again", { clock: systemClock, boot: () => ({ ...bootTime(), bootId: "another" }) }],
    ["a clock was set", { clock: { ...systemClock, wallMs: () => Date.now() - 7_200_000 }, boot: bootTime }],
  ])("where %s since, everything is compared by its content", async (_, later) => {
    await copyRunningStores(record, options(), clocks);
    const [part = ""] = await listParts();
    const lost = join(record.directory, part, "blocks", "5.sst");
    const { atime, mtime, size } = await stat(lost);
    await writeFile(lost, Buffer.alloc(size));
    await utimes(lost, atime, mtime);
    await finishCopies(record, options(), later);
    expect(await listDifferences()).toEqual([]);
  });

  test("what an earlier sidecar copied is resumed; after a start of the machine it is copied again", async () => {
    await copyRunningStores(record, options(), clocks);
    const first = await listParts();
    await writeFile(join(data, "blocks", "2.sst"), "changed");
    await copyRunningStores(record, options(), clocks);
    expect(await listParts()).toEqual(first);
    const rebooted = { clock: systemClock, boot: () => ({ ...bootTime(), bootId: "another" }) };
    await copyRunningStores(record, options(), rebooted);
    expect(await listParts()).toHaveLength(1);
    expect(await listParts()).not.toEqual(first);
    await finishCopies(record, options(), rebooted);
    expect(await listDifferences()).toEqual([]);
  });

  test("what still copies for a sidecar that was killed is ended before anything is relied on", async () => {
    await copyRunningStores(record, options(), clocks);
    const [part = ""] = await readdir(record.directory);
    const spawnNaming = async (program: string) => {
      const words = ["-c", "while :; do sleep 1; done", program, join(record.directory, part)];
      const child = spawn("sh", words, { detached: true, stdio: "ignore" });
      await once(child, "spawn");
      return child;
    };
    const [left, reader] = [await spawnNaming("rsync"), await spawnNaming("du")];
    const [[, signal]] = await Promise.all([once(left, "exit"), finishCopies(record, options(), clocks)]);
    // What only reads there is somebody else's.
    expect(reader.exitCode ?? reader.signalCode).toBeNull();
    reader.kill("SIGKILL");
    expect(signal).toBe("SIGKILL");
    expect(await listDifferences()).toEqual([]);
  });

  test.each([
    ["files that vanish are no failure while the node runs", '$REAL "$@"; exit 24', undefined],
    [
      "an error of one pass is seen through",
      '$REAL "$@"; [ -e $ROOT/once ] || { touch $ROOT/once; exit 23; }',
      undefined,
    ],
    [
      "one that stays is a failure",
      'echo "rsync: no access" >&2; exit 23',
      "rsync exited with status 23: rsync: no access",
    ],
  ] as const)("%s", async (_, body, why) => {
    await replaceRsync(body);
    const copied = copyRunningStores(record, options(), clocks);
    if (why === undefined) await copied;
    else await expect(copied).rejects.toThrow(why);
  });

  test("files that vanish while the node stands still are one: somebody writes", async () => {
    await copyRunningStores(record, options(), clocks);
    await replaceRsync('$REAL "$@"; exit 24');
    await expect(finishCopies(record, options(), clocks)).rejects.toThrow("were removed while it was copied");
    expect(await readdir(record.directory)).not.toContain("data");
  });

  test("a stop, and the end of the time, end rsync at once", async () => {
    await replaceRsync("touch $ROOT/runs; while :; do sleep 1; done");
    const stop = new AbortController();
    const copied = copyRunningStores(record, options({ signal: stop.signal }), clocks);
    await readUntil(
      () => readdir(root),
      (names) => names.includes("runs"),
    );
    stop.abort();
    await expect(copied).rejects.toThrow("because Gatehouse stops");
    await expect(copyRunningStores(record, options({ timeoutMs: 500 }), clocks)).rejects.toThrow(
      "upgrade.preCopyTimeoutMs",
    );
  });
});
