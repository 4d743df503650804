import { chmod, mkdir, open, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { explainFailure, readConfigFile } from "./config-file.ts";

const limitBytes = 1_048_576;
let directory: string;
let path: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
  path = join(directory, "node.conf");
});

/** Returns the operator's message about a file with this content. */
async function getMessageAbout(content: string | Uint8Array): Promise<string> {
  await writeFile(path, content);
  const reading = await readConfigFile(path, limitBytes);
  return reading.ok ? "usable" : reading.problem.message.replace(path, "node.conf");
}

async function hashOf(text: string): Promise<string | undefined> {
  await writeFile(path, text);
  const reading = await readConfigFile(path, limitBytes);
  return reading.ok ? fingerprintConfig(reading.document) : undefined;
}

/** Reads as an unprivileged user, because root can read everything. */
async function withoutRootPermissions<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

describe("reports what is wrong with an unusable node.conf", () => {
  test.each([
    ["that is empty", "", "node.conf is empty; restore it from a backup, or write a JSON object with a chain object."],
    [
      "that is partly written",
      '{\n  "chain": {\n    "monitor',
      "node.conf:3:13 is incomplete JSON (invalid end of input), perhaps partly written; correct it there, or write the whole file again.",
    ],
    [
      "with a string as chain",
      '{"chain": "main"}',
      "node.conf has a string as chain; make chain an object with monitor_config and startup_config, or restore the file from a backup.",
    ],
    [
      "without chain",
      "{}",
      "node.conf has no chain; make chain an object with monitor_config and startup_config, or restore the file from a backup.",
    ],
    [
      "with too many nesting levels",
      `{"chain": ${"[".repeat(200_000)}`,
      "node.conf:1:110 is nested more than 100 levels deep; check that it is a node's configuration file. Reduce the nesting, or restore it from a backup.",
    ],
    [
      "that is an array",
      "[]",
      "node.conf is an array; restore it from a backup, or write a JSON object with a chain object.",
    ],
  ])("%s", async (_, content, words) => {
    expect(await getMessageAbout(content)).toBe(words);
  });

  test("that is binary", async () => {
    expect(await getMessageAbout("{\n\n\0}\n")).toBe(
      "node.conf:3:1 is not text: it contains a zero byte; restore it from a backup.",
    );
    const words =
      "is not UTF-8 text (byte 0xff); convert it (`iconv -f latin1 -t utf8`, if it is Latin-1), or restore it from a backup.";
    expect(await getMessageAbout(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe))).toBe(`node.conf:1:5 ${words}`);
    expect(await getMessageAbout(Buffer.from('{"chain": {},\n "a": "\xff"}', "latin1"))).toBe(`node.conf:2:8 ${words}`);
  });

  test("that is not UTF-8 in comments only: it is usable", async () => {
    expect(await getMessageAbout(Buffer.from('{"chain": {}} // r\xe9seau', "latin1"))).toBe("usable");
    expect(await getMessageAbout(Buffer.from("{chain: {}} /* r\xe9seau */", "latin1"))).toBe("usable");
  });

  test("of 100 MB, without reading it", async () => {
    {
      await using file = await open(path, "w");
      await file.truncate(100_000_000);
    }
    const reading = await readConfigFile(path, limitBytes);
    expect(reading).toMatchObject({ ok: false, problem: { reason: "TooLarge" } });
    expect(reading.bytes).toBeUndefined();
  });

  test("that is missing or a directory", async () => {
    expect(await readConfigFile(path, limitBytes)).toMatchObject({ ok: false, problem: { reason: "FileMissing" } });
    await mkdir(path);
    expect(await readConfigFile(path, limitBytes)).toMatchObject({ ok: false, problem: { reason: "NotAFile" } });
  });

  test("that links to itself", async () => {
    await symlink(path, path);
    const message = `${path} can't be read (ELOOP); \`ls -ld ${path}\` shows what it is. Move it away, and create node.conf there.`;
    expect(await readConfigFile(path, limitBytes)).toMatchObject({
      ok: false,
      problem: { reason: "NotAFile", message },
    });
  });

  test.runIf(process.platform === "linux")("on a failing disk", async () => {
    // Its first page is never mapped, so a read at its start is an I/O error, even for root.
    await symlink("/proc/self/mem", path);
    const message = `${path} can't be read (EIO): its disk or mount is failing (not a permission problem); \`dmesg\` and \`cat ${path} >/dev/null\` show why. Repair or remount the disk.`;
    expect(await readConfigFile(path, limitBytes)).toMatchObject({
      ok: false,
      problem: { reason: "Unreadable", message },
    });
  });

  test.each([
    ["EPERM", "(EPERM); grant the sidecar's user read access."],
    ["EMFILE", "(EMFILE): this process has no file descriptors left; retrying. Raise the limit"],
    ["ENFILE", "(ENFILE): this machine has no file descriptors left; retrying. Raise the limit"],
    ["ENOMEM", "(ENOMEM): this machine or container is out of memory; check `free -m`."],
    [
      "ESTALE",
      "(ESTALE): its disk or mount is failing (not a permission problem); `dmesg` and `cat '/srv/my node.conf'",
    ],
  ])("on a read that fails with %s", (code, words) => {
    expect(explainFailure("/srv/my node.conf", code)).toContain(words);
  });

  test("that is owned by a different user and not readable", async () => {
    await writeFile(path, "{}");
    await chmod(path, 0o000);
    await chmod(directory, 0o755);
    const reading = await withoutRootPermissions(() => readConfigFile(path, limitBytes));
    expect(reading).toMatchObject({
      ok: false,
      problem: {
        reason: "Unreadable",
        message: `${path} can't be read (EACCES); grant the sidecar's user read access.`,
      },
    });
  });
});

describe("accepts a usable node.conf", () => {
  test.each([
    ["with a BOM", '\uFEFF{"chain":{}}', "json"],
    ["with CRLF and comments", '{\r\n// words\r\n"chain":{},\r\n}', "jsonc"],
    ["in JSON5", "{chain: {hex: 0x10}}", "json5"],
  ])("%s", async (_, content, format) => {
    await writeFile(path, content);
    expect(await readConfigFile(path, limitBytes)).toMatchObject({ ok: true, document: { format, chain: {} } });
  });

  test("behind symbolic links, as in a mounted ConfigMap", async () => {
    await mkdir(join(directory, "..data"));
    await writeFile(join(directory, "..data", "node.conf"), '{"chain":{}}');
    await symlink(join("..data", "node.conf"), path);
    expect(await readConfigFile(path, limitBytes)).toMatchObject({ ok: true });
  });

  test("and hashes its values, ignoring whitespace and comments", async () => {
    const one = await hashOf('{"chain":{"a":12345678901234567890}}');
    expect(await hashOf('{ "chain" : { /* words */ "a" : 12345678901234567890 } }\r\n')).toBe(one);
    expect(await hashOf('{"chain":{"a":12345678901234567891}}')).not.toBe(one);
  });
});
