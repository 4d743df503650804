import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { create } from "tar";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { unpackArchive } from "./unpack-archive.ts";

const zeroBytes = 64 * 2 ** 20;

test("unpacks an archive with trailing zeros in linear, not quadratic, time", async () => {
  const directory = await makeTestDirectory();
  const [archive, tree] = [join(directory, "archive"), join(directory, "tree")];
  await mkdir(tree);
  await writeFile(join(directory, "blocks"), "some blocks");
  await create({ cwd: directory, file: archive }, ["blocks"]);
  await writeFile(archive, gzipSync(Buffer.concat([await readFile(archive), Buffer.alloc(zeroBytes)]), { level: 1 }));
  const settings = { progressMs: 60_000, archive: { strip: 0, limitBytes: 1_000_000 } };
  const signal = AbortSignal.timeout(20_000);
  await unpackArchive(settings, { archive, tree, part: undefined }, { log: pino({ level: "silent" }), signal });
  expect(await readFile(join(tree, "blocks"), "utf8")).toBe("some blocks");
});
