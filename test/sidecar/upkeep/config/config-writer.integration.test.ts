import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashContent } from "#sidecar/upkeep/config/config-file.ts";
import { createConfigVersions } from "#sidecar/upkeep/config/config-versions.ts";
import { writeConfig } from "#sidecar/upkeep/config/config-writer.ts";
import { createWriterLock } from "#sidecar/upkeep/config/writer-lock.ts";

/** A separate file system that is full or read-only needs the right to mount; without it these tests can't be made. */
async function mounted(options: string) {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-mount-"));
  const isMounted = spawnSync("/bin/mount", ["-t", "tmpfs", "-o", options, "tmpfs", directory]).status === 0;
  const end = async () => {
    if (isMounted) spawnSync("/bin/umount", [directory]);
    await rm(directory, { recursive: true, force: true });
  };
  return { directory, isMounted, [Symbol.asyncDispose]: end };
}

const canMount = await (async () => {
  await using probe = await mounted("size=64k");
  return probe.isMounted;
})();

async function replace(path: string, content: Uint8Array): Promise<string> {
  using lock = createWriterLock(path);
  const expectedHash = hashContent(await readFile(path));
  const result = await writeConfig(
    { path, limitBytes: 1_000_000, expectedHash, content },
    { lock, versions: undefined },
  );
  return result.ok ? "written" : result.message.replaceAll(path, "node.conf");
}

const why = canMount ? "" : " (skipped: this user may not mount a file system)";

describe.runIf(canMount)(`a file system that does not take the write${why}`, () => {
  test("a full disk: said in words, the old file is whole, nothing is left next to it", async () => {
    await using disk = await mounted("size=64k");
    const path = join(disk.directory, "node.conf");
    await writeFile(path, "old");
    expect(await replace(path, Buffer.alloc(200_000, "x"))).toBe(
      "node.conf can't be written (ENOSPC: the disk is full; free some space).",
    );
    expect(await readFile(path, "utf8")).toBe("old");
    expect((await readdir(disk.directory)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("a read-only mount: said in words", async () => {
    await using disk = await mounted("size=64k");
    const path = join(disk.directory, "node.conf");
    await writeFile(path, "old");
    spawnSync("/bin/mount", ["-o", "remount,ro", disk.directory]);
    expect(await replace(path, Buffer.from("new"))).toContain("make the directory writable for the sidecar.");
    expect(await readFile(path, "utf8")).toBe("old");
  });
});

test("what is too large for a copy to be kept is not replaced, and neither is what can't be read", async () => {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-write-"));
  const path = join(directory, "node.conf");
  await writeFile(path, "x".repeat(2_000));
  using lock = createWriterLock(path);
  const content = Buffer.from("ours");
  const write = { path, limitBytes: 1_000, expectedHash: undefined, expectedProblem: "TooLarge", content } as const;
  const versions = createConfigVersions(join(directory, "state"));
  const result = await writeConfig(write, { lock, versions });
  expect(result).toMatchObject({ reason: "NotKept" });
  expect(result.ok ? "" : result.message).toMatch(/larger than 1000 bytes .* No copy can be kept, so it stays\.$/);
  expect(await readFile(path, "utf8")).toBe("x".repeat(2_000));
  await rm(directory, { recursive: true });
});

test("a writer that comes between the reading and the renaming wins, and is not overwritten", async () => {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-write-"));
  const path = join(directory, "node.conf");
  await writeFile(path, "theirs");
  using lock = createWriterLock(path);
  const expectedHash = hashContent(Buffer.from("what was read"));
  const write = { path, limitBytes: 1_000, expectedHash, content: Buffer.from("ours") };
  expect(await writeConfig(write, { lock, versions: undefined })).toMatchObject({ reason: "ChangedMeanwhile" });
  expect(await readFile(path, "utf8")).toBe("theirs");
  await rm(directory, { recursive: true });
});
