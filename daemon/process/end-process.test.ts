import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { lookup, lookupService } from "node:dns";
import { open, readdir, stat } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { listThreadCalls } from "./end-process.ts";

type Call = Readonly<{ what: string; start: (done: () => void) => void }>;

const calls: readonly Call[] = [
  { what: "a look at a file", start: (done) => stat("/", done) },
  { what: "a list of a directory", start: (done) => readdir("/", done) },
  { what: "the opening of a file", start: (done) => open("/nowhere", "r", done) },
  { what: "a look for an address", start: (done) => lookup("localhost", done) },
  { what: "a look for a name", start: (done) => lookupService("127.0.0.1", 80, done) },
];

describe("the list of calls in Node's threads", () => {
  it.each(calls)("has $what until it is done", async ({ start }) => {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    // A call stays in Node's list briefly after it has finished.
    await expect.poll(listThreadCalls).toEqual([]);
    start(resolve);
    expect(listThreadCalls()).toHaveLength(1);
    await done;
  });

  it("has no timer", async () => {
    await expect.poll(listThreadCalls).toEqual([]);
    const timer = setTimeout(() => undefined, 1_000);
    expect(listThreadCalls()).toEqual([]);
    clearTimeout(timer);
  });
});

const program = pathToFileURL(join(import.meta.dirname, "end-process.ts")).href;

async function endAfter(lines: string): Promise<Readonly<{ status: unknown; signal: unknown }>> {
  const source = `import { endProcess } from ${JSON.stringify(program)};\n${lines}\nawait endProcess(3);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: "inherit",
    timeout: 30_000,
  });
  const [status, signal] = (await once(child, "exit")) as readonly unknown[];
  return { status, signal };
}

describe("the end of a process", () => {
  it("has the status that it was given", async () => {
    expect(await endAfter("")).toEqual({ status: 3, signal: null });
  });

  it("waits for no file that never answers", async () => {
    // Opening a pipe without a writer blocks forever.
    const pipe = join(await mkdtemp(join(tmpdir(), "gatehouse-pipe-")), "pipe");
    execFileSync("mkfifo", [pipe]);
    const hangs = `import { open } from "node:fs";\nopen(${JSON.stringify(pipe)}, "r", () => undefined);`;
    expect(await endAfter(hangs)).toEqual({ status: null, signal: "SIGKILL" });
  });
});
