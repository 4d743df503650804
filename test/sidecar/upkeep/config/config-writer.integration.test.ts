import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import {
  chmod,
  chown,
  lchown,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { hashContent, readConfigFile } from "#sidecar/upkeep/config/config-file.ts";
import { createConfigVersions } from "#sidecar/upkeep/config/config-versions.ts";
import { writeConfig } from "#sidecar/upkeep/config/config-writer.ts";
import { createWriterLock } from "#sidecar/upkeep/config/writer-lock.ts";

/**
 * Mounting a separate file system that is full or read-only requires permission; without it, these tests are skipped.
 */
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
  const result = await writeConfig({ path, limitBytes: 1_000_000, expectedHash, content }, lock, undefined);
  return result.ok ? "written" : result.message.replaceAll(path, "node.conf");
}

const canSetAttributes = await (async () => {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-attributes-"));
  const made = setAttributes(join(directory, "node.conf"));
  await rm(directory, { recursive: true });
  return made;
})();

/** Gives a file an ACL and an extended attribute; returns whether that worked. */
function setAttributes(path: string): boolean {
  writeFileSync(path, '{ "chain": {} }', { mode: 0o640 });
  return [`setfacl -m u:65534:r ${path}`, `setfattr -n user.origin -v vault ${path}`].every(
    (command) => runWords(command).status === 0,
  );
}

function runWords(command: string) {
  const [program = "", ...args] = command.split(" ");
  return spawnSync(program, args, { encoding: "utf8" });
}

const readAttributes = (path: string) =>
  ["getfacl --omit-header --numeric --absolute-names", "getfattr --dump --absolute-names"].map(
    (command) => runWords(`${command} ${path}`).stdout,
  );

const noAttributes = canSetAttributes
  ? ""
  : " (skipped: needs setfacl and setfattr, of Debian's acl and attr, and a disk that has both)";

describe.runIf(canSetAttributes)(`ACLs and extended attributes${noAttributes}`, () => {
  test("carries over only ACLs and extended attributes to the replacement file", async () => {
    const directory = await makeTestDirectory();
    const path = join(directory, "node.conf");
    setAttributes(path);
    const then = new Date(1_000_000_000_000);
    await utimes(path, then, then);
    const attributesBefore = readAttributes(path);
    expect(attributesBefore.join()).toContain("user:65534:r--");
    expect(await replace(path, Buffer.from("new content"))).toBe("written");
    expect(await readFile(path, "utf8")).toBe("new content");
    expect(readAttributes(path)).toEqual(attributesBefore);
    expect((await stat(path)).mtimeMs).toBeGreaterThan(then.getTime());
  });
});

test("writes the file even if cp can't copy them, and reports once what is lost", async () => {
  const directory = await makeTestDirectory();
  const path = join(directory, "node.conf");
  const script = `
    import { writeFileSync, readFileSync } from "node:fs";
    import { hash } from "node:crypto";
    const { replaceConfig } = await import(process.env.WRITER);
    const { createWriterLock } = await import(process.env.LOCK);
    const said = [];
    const events = { add: (_, message, why) => said.push(message, why), begin: () => {}, fail: () => {} };
    const path = process.env.CONF;
    const conf = (value) => JSON.stringify({ chain: { value } });
    writeFileSync(path, conf(0));
    using lock = createWriterLock(path);
    for (const [before, after] of [[conf(0), conf(1)], [conf(1), conf(2)]]) {
      const state = { auditedConfig: { get: () => undefined, set: () => {} } };
      const place = { fileDeadline: { call: (_, run) => run() }, lock: () => lock };
      const context = { place, settings: { upkeep: { configLimitBytes: 1_000 } }, versions: { keep: async () => {} }, events, state };
      await replaceConfig({ ok: true, contentHash: hash("sha256", before) }, Buffer.from(after), [], context, path);
    }
    console.log(JSON.stringify([readFileSync(path, "utf8"), ...said]));`;
  const room = join(import.meta.dirname, "../../../../sidecar/upkeep/config");
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
    env: { PATH: directory, CONF: path, WRITER: join(room, "config-writer.ts"), LOCK: join(room, "writer-lock.ts") },
  });
  expect(JSON.parse(run.stdout || run.stderr)).toEqual([
    '{"chain":{"value":2}}',
    "Correcting node.conf would lose its ACLs and extended attributes: install coreutils.",
    "cp does not exist; correct the program's path, or install it there.",
  ]);
});

const why = canMount ? "" : " (skipped: this user may not mount a file system)";

describe.runIf(canMount)(`a file system that rejects the write${why}`, () => {
  test("reports a full disk, keeps the old file intact and leaves no temporary file", async () => {
    await using disk = await mounted("size=64k");
    const path = join(disk.directory, "node.conf");
    await writeFile(path, "old");
    expect(await replace(path, Buffer.alloc(200_000, "x"))).toBe(
      "node.conf can't be written (ENOSPC: the disk is full; free space).",
    );
    expect(await readFile(path, "utf8")).toBe("old");
    expect((await readdir(disk.directory)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("reports a read-only mount", async () => {
    await using disk = await mounted("size=64k");
    const path = join(disk.directory, "node.conf");
    await writeFile(path, "old");
    spawnSync("/bin/mount", ["-o", "remount,ro", disk.directory]);
    expect(await replace(path, Buffer.from("new"))).toContain("make the directory writable for the sidecar.");
    expect(await readFile(path, "utf8")).toBe("old");
  });
});

test("never replaces a file that is unreadable or too large to back up", async () => {
  const directory = await makeTestDirectory();
  const path = join(directory, "node.conf");
  await writeFile(path, "x".repeat(2_000));
  using lock = createWriterLock(path);
  const content = Buffer.from("ours");
  const write = { path, limitBytes: 1_000, expectedHash: undefined, expectedProblem: "TooLarge", content } as const;
  const versions = createConfigVersions(join(directory, "state"));
  const result = await writeConfig(write, lock, versions);
  expect(result).toMatchObject({ reason: "BackupFailed" });
  expect(result.ok ? "" : result.message).toMatch(
    /larger than the limit of 1000 bytes; .* It can't be backed up, so it is not replaced\.$/,
  );
  expect(await readFile(path, "utf8")).toBe("x".repeat(2_000));
});

test.each([
  [0o750, 0o640],
  [0o777, 0o644],
  [0o700, 0o600],
])(
  "rewrites a deleted file with access for every user who can read its directory, with mode %o",
  async (mode, expected) => {
    const directory = await makeTestDirectory();
    await chmod(directory, mode);
    const owner = process.geteuid?.() === 0 ? 12_345 : (process.geteuid?.() ?? 0);
    await chown(directory, owner, process.getegid?.() ?? 0);
    const path = join(directory, "node.conf");
    using lock = createWriterLock(path);
    const expectedHash = (await readConfigFile(path, 1_000)).contentHash;
    const write = { path, limitBytes: 1_000, expectedHash, content: Buffer.from("{}") };
    expect(await writeConfig({ ...write, expectedProblem: "FileMissing" }, lock, undefined)).toMatchObject({
      ok: true,
    });
    const { uid, mode: written } = await stat(path);
    expect([uid, written & 0o7777]).toEqual([owner, expected]);
  },
);

test("does not overwrite changes made by a different writer between its read and rename", async () => {
  const directory = await makeTestDirectory();
  const path = join(directory, "node.conf");
  await writeFile(path, "theirs");
  using lock = createWriterLock(path);
  const expectedHash = hashContent(Buffer.from("what was read"));
  const write = { path, limitBytes: 1_000, expectedHash, content: Buffer.from("ours") };
  expect(await writeConfig(write, lock, undefined)).toMatchObject({ reason: "ChangedMeanwhile" });
  expect(await readFile(path, "utf8")).toBe("theirs");
});

const kept = '{ "chain": {} }';

/**
 * Creates one user's link to another user's file at node.conf's path; returns the result of a write through it, and the
 * file's content afterwards.
 */
async function writeThrough(linkOwner: number, fileOwner: number) {
  const directory = await makeTestDirectory();
  const [path, victim] = [join(directory, "node.conf"), join(directory, "victim")];
  await writeFile(victim, kept);
  await lchown(victim, fileOwner, fileOwner);
  await symlink(victim, path);
  await lchown(path, linkOwner, linkOwner);
  const ended = await replace(path, Buffer.from("{}"));
  return { ended: ended.replace(victim, "the victim"), text: await readFile(victim, "utf8") };
}

describe.skipIf(process.getuid?.() !== 0)("as root, through a link (skipped without root)", () => {
  test("leaves a file alone if its owner differs from the link's", async () => {
    const { ended, text } = await writeThrough(65_534, 0);
    expect(ended).toBe(
      "node.conf is a link owned by user 65534 to the victim, owned by user 0; root does not follow it. " +
        "Replace the link with the file, or run the sidecar as the node's user.",
    );
    expect(text).toBe(kept);
  });

  test.each([
    [65_534, 65_534],
    [0, 65_534],
  ])("follows a link of user %s to a file of user %s", async (linkOwner, fileOwner) => {
    expect(await writeThrough(linkOwner, fileOwner)).toEqual({ ended: "written", text: "{}" });
  });
});
