import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Registry } from "prom-client";
import { createFilesInForce } from "#daemon/files/files-in-force.ts";
import { createLog } from "#daemon/log/log.ts";
import { watchFile } from "#daemon/files/watched-file.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const sha256 = (text: string) => hash("sha256", text);

describe("a watched file", () => {
  let folder: string;
  let path: string;
  let lines: string[];
  let metrics: Registry;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "gatehouse-watched-"));
    path = join(folder, "file.json5");
    lines = [];
    metrics = new Registry();
  });
  afterEach(() => rm(folder, { recursive: true }));
  const metric = async () => (await metrics.metrics()).match(/gatehouse_file_loaded{setting="a.setting"} (\d)/)?.[1];
  const watchIt = () => {
    const taken: unknown[] = [];
    const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
    const options = { path, setting: "a.setting", read: (content: unknown) => ({ ok: true, value: content }) as const };
    const files = createFilesInForce(metrics);
    const watcher = watchFile({ ...options, apply: (value) => void taken.push(value) }, { log, files });
    return { taken, files, last: () => taken.at(-1), [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose]() };
  };

  it("is read again when it changes before the watch over it is there", async () => {
    await writeFile(path, "{ at: 1 }");
    await using file = watchIt();
    writeFileSync(path, "{ at: 22 }");
    expect(file.taken).toEqual([{ at: 1 }]);
    await until("it is read again", generousMs, () => file.taken.length > 1);
    expect(file.last()).toEqual({ at: 22 });
  });

  it("is read again when it is written, and when it is replaced as editors do it", async () => {
    await writeFile(path, "{ at: 1 }");
    await using file = watchIt();
    await writeFile(path, "{ at: 2 }");
    await until("what was written is read", generousMs, () => JSON.stringify(file.last()) === '{"at":2}');
    await writeFile(`${path}.new`, "{ at: 3 }");
    await rename(`${path}.new`, path);
    await until("what is in its place is read", generousMs, () => JSON.stringify(file.last()) === '{"at":3}');
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
    await until("the new one is read", generousMs, () => JSON.stringify(file.last()) === '{"at":2}');
    expect(lines.some((line) => line.includes("a.setting was reloaded"))).toBe(true);
  });

  it("shows what is in force, and that what stands there now is not", async () => {
    await writeFile(path, "{ at: 1 }");
    await using file = watchIt();
    const [first] = file.files.list();
    expect(first).toEqual({ setting: "a.setting", path, sha256: sha256("{ at: 1 }"), readAt: first?.readAt });
    expect(await metric()).toBe("1");
    await writeFile(path, "{ at: ");
    await until("the bad one is refused", generousMs, () => file.files.list()[0]?.problems !== undefined);
    expect(file.files.list()).toEqual([
      { ...first, problems: [expect.stringMatching(/^line 1, column 7: .*expected JSON5/)] },
    ]);
    expect(await metric()).toBe("0");
    await writeFile(path, "{ at: 3 }");
    await until("the good one is taken", generousMs, () => file.files.list()[0]?.sha256 === sha256("{ at: 3 }"));
    expect([file.files.list()[0]?.problems, await metric()]).toEqual([undefined, "1"]);
  });
});
