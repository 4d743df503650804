import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLog } from "#daemon/log.ts";
import { until } from "#gateway/testing/test-gateway.ts";
import { watchFile } from "#daemon/files/watched-file.ts";

describe("a watched file", () => {
  let folder: string;
  let path: string;
  let lines: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "gatehouse-watched-"));
    path = join(folder, "file.json5");
    lines = [];
  });
  afterEach(() => rm(folder, { recursive: true }));
  const watchIt = () => {
    const taken: unknown[] = [];
    const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
    const options = { path, setting: "a.setting", read: (content: unknown) => content as object };
    const watcher = watchFile({ ...options, take: (value) => void taken.push(value) }, { log });
    return { taken, last: () => taken.at(-1), [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose]() };
  };

  it("is read again when it changes before the watch over it is there", async () => {
    await writeFile(path, "{ at: 1 }");
    await using file = watchIt();
    writeFileSync(path, "{ at: 22 }");
    expect(file.taken).toEqual([{ at: 1 }]);
    await until("it is read again", () => file.taken.length > 1);
    expect(file.last()).toEqual({ at: 22 });
  });

  it("is read again when it is written, and when it is replaced as editors do it", async () => {
    await writeFile(path, "{ at: 1 }");
    await using file = watchIt();
    await writeFile(path, "{ at: 2 }");
    await until("what was written is read", () => JSON.stringify(file.last()) === '{"at":2}');
    await writeFile(`${path}.new`, "{ at: 3 }");
    await rename(`${path}.new`, path);
    await until("what is in its place is read", () => JSON.stringify(file.last()) === '{"at":3}');
  });

  it("is read again when the link to it is changed as Kubernetes does it", async () => {
    await mkdir(join(folder, "..one"));
    await writeFile(join(folder, "..one", "file.json5"), "{ at: 1 }");
    await symlink("..one", join(folder, "..data"));
    await symlink(join("..data", "file.json5"), path);
    await using file = watchIt();
    expect(file.last()).toEqual({ at: 1 });
    await mkdir(join(folder, "..two"));
    await writeFile(join(folder, "..two", "file.json5"), "{ at: 2 }");
    await symlink("..two", join(folder, "..next"));
    await rename(join(folder, "..next"), join(folder, "..data"));
    await rm(join(folder, "..one"), { recursive: true });
    await until("the new one is read", () => JSON.stringify(file.last()) === '{"at":2}');
    expect(lines.some((line) => line.includes("a.setting was read again"))).toBe(true);
  });
});
