import { randomUUID } from "node:crypto";
import { readFile, readdir, stat, writeFile, chmod } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { removeTemporaryFiles, replaceFile } from "./atomic-file.ts";

let directory: string;
beforeEach(async () => {
  directory = await makeTestDirectory();
});
describe("replaceFile", () => {
  it("creates a missing file, readable only by its owner", async () => {
    const path = join(directory, "state");
    await replaceFile(path, "new");
    expect(await readFile(path, "utf8")).toBe("new");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("keeps the mode of the replaced file", async () => {
    const path = join(directory, "node.conf");
    await writeFile(path, "old");
    await chmod(path, 0o644);
    await replaceFile(path, "new");
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });

  it("keeps the old content and no temporary file if aborted before the rename", async () => {
    const path = join(directory, "node.conf");
    await writeFile(path, "old");
    const calledOff = replaceFile(path, "new", {
      beforeRename: async () => {
        throw new Error("a second writer");
      },
    });
    await expect(calledOff).rejects.toThrow("a second writer");
    expect(await readFile(path, "utf8")).toBe("old");
    expect(await readdir(directory)).toEqual(["node.conf"]);
  });
});

describe("removeTemporaryFiles", () => {
  it("removes only temporary files left by an interrupted replacement of our file", async () => {
    const left = `node.conf.${randomUUID()}.tmp`;
    const otherNames = ["node.conf", "node.conf.tmp", "node.conf.1.tmp", `other.conf.${randomUUID()}.tmp`];
    for (const name of [left, ...otherNames]) await writeFile(join(directory, name), "");
    await removeTemporaryFiles(directory, (name) => name === "node.conf");
    expect((await readdir(directory)).sort()).toEqual([...otherNames].sort());
  });

  it("does nothing if the directory is missing", async () => {
    await removeTemporaryFiles(join(directory, "gone"), () => true);
  });
});
