import { spawn } from "node:child_process";
import { hash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { create } from "tar";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { restoreSettings } from "#sidecar/restore/settings.ts";
import { runRestoreCommand } from "#sidecar/restore/restore-command.ts";
import { replaceConstants, type ConstantOverrides } from "../../support/constant-overrides.ts";
import { gatehouseProgram } from "../../support/programs/place.ts";
import { isLong } from "../../support/run-size.ts";

/** Waits until a condition holds; if it never does, the error contains the condition's code. */
const soon = (holds: () => boolean | Promise<boolean>) => until(holds.toString(), generousMs, holds);

const hashOf = (bytes: Uint8Array) => hash("sha256", bytes);

/** Chain data of a few files; one of them does not compress well, so that a download takes a while. */
async function snapshot(directory: string, change?: (source: string) => Promise<unknown>): Promise<Buffer> {
  const source = join(directory, "source");
  await mkdir(join(source, "meta"), { recursive: true });
  await writeFile(join(source, "meta/height"), "7\n");
  await writeFile(join(source, "blocks"), randomBytes(2_000_000));
  await change?.(source);
  const file = join(directory, "snapshot.tar");
  await create({ cwd: source, file }, await readdir(source));
  return readFile(file);
}

/** A server with one archive, which can be told to send slowly, to disconnect, or not to support ranges. */
async function archiveServer(archive: Buffer) {
  const seen: (string | undefined)[] = [];
  const manner = {
    breakAfter: Number.POSITIVE_INFINITY,
    chunkBytes: archive.length,
    pauseMs: 0,
    ranges: true,
    etag: '"1"',
  };
  const server = createServer((request, response) => {
    const { range, "if-range": ifRange } = request.headers;
    seen.push(range);
    const heeds = manner.ranges && range !== undefined && (ifRange === undefined || ifRange === manner.etag);
    const from = heeds ? Number(/\d+/.exec(range)?.[0]) : 0;
    if (from >= archive.length) return void response.writeHead(416).end();
    const length = archive.length - from;
    const headers = { "content-length": length, etag: manner.etag };
    const total = `bytes ${from}-${archive.length - 1}/${archive.length}`;
    response.writeHead(heeds ? 206 : 200, heeds ? { ...headers, "content-range": total } : headers);
    return void send(response, from);
  });
  const send = async (response: ServerResponse, from: number) => {
    let sent = 0;
    for (let at = from; at < archive.length && !response.destroyed; at += manner.chunkBytes) {
      if (sent >= manner.breakAfter) return void response.destroy();
      const chunk = archive.subarray(at, at + manner.chunkBytes);
      sent += chunk.length;
      response.write(chunk);
      if (manner.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, manner.pauseMs));
    }
    response.end();
  };
  const { url, [Symbol.asyncDispose]: close } = await listenLocally(server);
  return { url: `${url}/snapshot.tar?signature=hush`, seen, manner, close };
}

type Settings = Readonly<Record<string, string>>;

/** A directory, a server with the archive, and the command, run as by an init container or, faster, in this process. */
async function place(archive: Buffer, directory: string) {
  const server = await archiveServer(archive);
  const dataPath = join(directory, "workspace/data");
  const environment = (settings: Settings) => ({
    GATEHOUSE_RESTORE_ARCHIVE_URL: server.url,
    GATEHOUSE_RESTORE_ARCHIVE_SHA256: hashOf(archive),
    GATEHOUSE_RESTORE_DATA_PATH: dataPath,
    ...settings,
  });
  const run = async (settings: Settings = {}, constants: ConstantOverrides = {}) => {
    using _ = replaceConstants(restoreSettings.schema, { retryMs: 1, ...constants });
    let said = "";
    const mask = createMask();
    const error = (text: string) => void (said += text);
    const signal = AbortSignal.timeout(generousMs);
    const sources = { env: environment(settings), settingsFile: undefined, json: true };
    const status = await runRestoreCommand(sources, { signal, out: () => undefined, error, mask });
    return { status, said };
  };
  const start = (settings: Settings = {}, args: readonly string[] = []) =>
    spawn(process.execPath, [gatehouseProgram, "restore", ...args], {
      env: { PATH: process.env["PATH"], ...environment(settings) },
    });
  const runProgram = async (settings: Settings = {}, args: readonly string[] = []) => {
    const child = start(settings, args);
    let said = "";
    let printed = "";
    child.stdout.on("data", (text: Buffer) => (printed += text.toString()));
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text: Buffer) => (said += text.toString()));
    }
    const [status] = (await once(child, "close")) as [number | null];
    return { status, said, printed };
  };
  const part = join(directory, "workspace/.gatehouse-restore/archive.part");
  return { server, dataPath, part, start, run, runProgram, [Symbol.asyncDispose]: server.close };
}

/** Creates a place with a snapshot's server, in its own directory. */
async function placeSnapshot() {
  const resources = new AsyncDisposableStack();
  const directory = await makeTestDirectory();
  const here = resources.use(await place(await snapshot(directory), directory));
  return { ...here, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const pack = { plain: (bytes: Buffer) => bytes, gzip: (bytes: Buffer) => gzipSync(bytes), zstd: zstdCompressSync };

test.each(["plain", "gzip", "zstd"] as const)("fills an empty data directory from a %s archive once", async (kind) => {
  const directory = await makeTestDirectory();
  const tar = await snapshot(directory);
  await using here = await place(Buffer.from(pack[kind](tar)), directory);
  const first = await (kind === "plain" ? here.runProgram() : here.run());
  expect(first.status, first.said).toBe(0);
  expect(await readFile(join(here.dataPath, "meta/height"), "utf8")).toBe("7\n");
  expect((await stat(join(here.dataPath, "blocks"))).size).toBe(2_000_000);
  expect(existsSync(here.part)).toBe(false);
  expect(first.said).not.toContain("hush");
  const second = await here.run();
  expect(second).toMatchObject({ status: 0, said: expect.stringContaining("was already restored at") });
  expect(here.server.seen).toHaveLength(1);
});

test("prints its result as one JSON document and logs elsewhere", async () => {
  await using here = await placeSnapshot();
  const results = async () => {
    const { status, said, printed } = await here.runProgram({}, ["--json"]);
    expect([status, said]).toEqual([0, expect.stringContaining('"event.action"')]);
    return JSON.parse(printed) as unknown;
  };
  expect(await results()).toEqual({ result: "restored", dataPath: here.dataPath });
  expect(await results()).toEqual({ result: "restored-before", dataPath: here.dataPath });
  await rm(join(here.dataPath, "../.gatehouse-restore"), { recursive: true });
  expect(await results()).toEqual({ result: "not-empty", dataPath: here.dataPath });
});

test("resumes a download after being killed", async () => {
  await using here = await placeSnapshot();
  Object.assign(here.server.manner, { chunkBytes: 50_000, pauseMs: 20 });
  for (const [run, reached] of [200_000, 600_000].entries()) {
    const child = here.start();
    // The previous run may already have downloaded this much, so this also waits for a request of this run.
    await soon(
      async () => here.server.seen.length > run && existsSync(here.part) && (await stat(here.part)).size >= reached,
    );
    child.kill("SIGKILL");
    await once(child, "close");
    expect(existsSync(here.dataPath)).toBe(false);
  }
  here.server.manner.pauseMs = 0;
  const last = await here.run();
  expect(last.status, last.said).toBe(0);
  const [, second, third] = here.server.seen;
  expect(Number(/\d+/.exec(second ?? "")?.[0])).toBeGreaterThanOrEqual(200_000);
  expect(Number(/\d+/.exec(third ?? "")?.[0])).toBeGreaterThanOrEqual(600_000);
});

test("leaves no partial data if killed at any moment, and completes on the next run", async () => {
  const directory = await makeTestDirectory();
  const tar = await snapshot(directory, async (source) => {
    for (let number = 0; number < 1_000; number += 1) await writeFile(join(source, `meta/${number}`), "x");
  });
  await using here = await place(tar, directory);
  for (const file of isLong ? [0, 250, 500, 750] : [0, 500]) {
    const child = here.start();
    const tree = join(directory, "workspace/.gatehouse-restore/tree/meta");
    await soon(() => child.exitCode !== null || existsSync(join(tree, String(file))));
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
    if (existsSync(here.dataPath)) expect(await readdir(join(here.dataPath, "meta"))).toHaveLength(1_001);
  }
  const last = await here.run();
  expect(last.status, last.said).toBe(0);
  expect(await readdir(join(here.dataPath, "meta"))).toHaveLength(1_001);
  expect(existsSync(here.part)).toBe(false);
});

test("resumes an interrupted download, or starts over if the server doesn't support ranges", async () => {
  await using here = await placeSnapshot();
  Object.assign(here.server.manner, { chunkBytes: 100_000, breakAfter: 900_000, pauseMs: 1 });
  const broken = await here.run();
  expect(broken.status, broken.said).toBe(0);
  expect(here.server.seen.length).toBeGreaterThan(2);
  await rm(join(here.dataPath, ".."), { recursive: true });
  Object.assign(here.server.manner, { ranges: false });
  const vain = await here.run({}, { attempts: 3 });
  expect(vain).toMatchObject({ status: 1, said: expect.stringMatching(/3 times in a row; check the server/) });
});

test("does not resume a partial archive that has since changed", async () => {
  await using here = await placeSnapshot();
  Object.assign(here.server.manner, { chunkBytes: 50_000, pauseMs: 20 });
  const child = here.start();
  await soon(async () => existsSync(here.part) && (await stat(here.part)).size >= 200_000);
  child.kill("SIGKILL");
  await once(child, "close");
  Object.assign(here.server.manner, { etag: '"2"', pauseMs: 0 });
  expect(await here.run()).toMatchObject({ status: 0 });
});

test("aborts a stalled download and resumes it", async () => {
  await using here = await placeSnapshot();
  Object.assign(here.server.manner, { chunkBytes: 1_000_000, pauseMs: 2_000 });
  const found = await here.run({}, { stallMs: 300 });
  expect(found.status, found.said).toBe(0);
  expect(found.said).toContain("no data for 300 ms");
});

test("unpacks nothing on a checksum mismatch, and reports the actual checksum", async () => {
  const directory = await makeTestDirectory();
  const tar = await snapshot(directory);
  await using here = await place(tar, directory);
  const found = await here.run({ GATEHOUSE_RESTORE_ARCHIVE_SHA256: "0".repeat(64) });
  expect(found.status).toBe(1);
  expect(found.said).toContain(`has the SHA-256 ${hashOf(tar)}, expected ${"0".repeat(64)}; nothing was unpacked.`);
  expect(existsSync(here.dataPath)).toBe(false);
});

test("never touches a data directory that isn't empty", async () => {
  await using here = await placeSnapshot();
  await mkdir(here.dataPath, { recursive: true });
  await writeFile(join(here.dataPath, "mine"), "1");
  expect(await here.run()).toMatchObject({
    status: 0,
    said: expect.stringContaining("is not empty; nothing was restored"),
  });
  expect(await readdir(here.dataPath)).toEqual(["mine"]);
  expect(here.server.seen).toEqual([]);
});

test("rejects links, oversized archives and files that are not archives, with a clear message", async () => {
  const directory = await makeTestDirectory();
  const linkedSnapshot = await snapshot(directory, (source) => symlink("/etc", join(source, "meta/out")));
  await using here = await place(linkedSnapshot, directory);
  expect((await here.run()).said).toMatch(/contains meta\/out, a SymbolicLink; only files and directories are allowed/);
  expect((await here.run({}, { "archive.limitBytes": 1_000 })).said).toMatch(/more than 1000 bytes/);
  await using none = await place(randomBytes(5_000), join(directory, "none"));
  expect((await none.run()).said).toMatch(/the archive can't be unpacked .*expected a tar archive/);
  expect(existsSync(here.dataPath) || existsSync(none.dataPath)).toBe(false);
});

test("reports all invalid settings at once", async () => {
  const directory = await makeTestDirectory();
  await using here = await place(Buffer.alloc(0), directory);
  const { status, said } = await here.run({
    GATEHOUSE_RESTORE_ARCHIVE_URL: "ftp://x",
    GATEHOUSE_RESTORE_ARCHIVE_STRIP: "-1",
  });
  expect(status).toBe(1);
  expect(said).toMatch(/ARCHIVE_URL[^]*ARCHIVE_STRIP/);
});

/** A workspace of the family whose snapshots have one top directory, which replaces part of the data. */
async function placeOfPart(directory: string, tops: readonly string[] = ["public"]) {
  const source = join(directory, "source");
  for (const top of tops) {
    await mkdir(join(source, top), { recursive: true });
    await writeFile(join(source, top, "chain"), "of the snapshot");
  }
  const file = join(directory, "snapshot.tar.gz");
  await create({ cwd: source, file, gzip: true }, [...tops]);
  const here = await place(await readFile(file), directory);
  await mkdir(join(here.dataPath, ".."), { recursive: true });
  await writeFile(join(here.dataPath, "../pharos.conf"), "{}");
  const runGenesis = async () => {
    for (const name of ["meta_store", "public"]) {
      await mkdir(join(here.dataPath, name), { recursive: true });
      await writeFile(join(here.dataPath, name, "chain"), "of genesis");
    }
  };
  return { ...here, runGenesis };
}

const replace = { GATEHOUSE_RESTORE_REPLACE: "true" };

test("replaces part of the data after genesis with a partial snapshot on request, and sets the old part aside", async () => {
  const directory = await makeTestDirectory();
  await using here = await placeOfPart(directory);
  const early = await here.run(replace);
  expect(early).toMatchObject({
    status: 1,
    said: expect.stringContaining("run genesis before restoring the snapshot"),
  });
  expect(early.said).toContain("./pharos_cli genesis -c ../pharos.conf");
  await here.runGenesis();
  expect((await here.run()).said).toContain("set GATEHOUSE_RESTORE_REPLACE=true");
  expect(here.server.seen).toEqual([]);
  const done = await here.run({ ...replace, GATEHOUSE_RESTORE_ARCHIVE_SHA256: "" });
  expect(done.status, done.said).toBe(0);
  expect(done.said).toContain("no checksum given (GATEHOUSE_RESTORE_ARCHIVE_SHA256)");
  expect(await readFile(join(here.dataPath, "public/chain"), "utf8")).toBe("of the snapshot");
  expect(await readFile(join(here.dataPath, "meta_store/chain"), "utf8")).toBe("of genesis");
  const aside = /the previous data is in (\S+);/.exec(done.said)?.[1] ?? "";
  expect(await readFile(join(aside, "chain"), "utf8")).toBe("of genesis");
  expect(await here.run(replace)).toMatchObject({
    status: 0,
    said: expect.stringContaining("was already restored at"),
  });
});

test("rejects data that a process has open, and an archive with more than the requested part", async () => {
  const directory = await makeTestDirectory();
  await using here = await placeOfPart(directory, ["public", "keys"]);
  await here.runGenesis();
  {
    await using _open = await open(join(here.dataPath, "public/chain"));
    const used = await here.runProgram(replace);
    expect(used).toMatchObject({ status: 1, said: expect.stringContaining(`process ${process.pid} uses`) });
  }
  expect((await here.run(replace)).said).toMatch(
    /contains keys.*; a snapshot of this family has only one top-level directory, public/,
  );
  expect(await readFile(join(here.dataPath, "public/chain"), "utf8")).toBe("of genesis");
});
