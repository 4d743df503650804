import { appendFile, chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { showLogs, type ShowLogsOptions } from "./show-logs.ts";

const line = (service: string, second: number, level: string, message: string) =>
  `${JSON.stringify({ "log.level": level, "@timestamp": `2026-01-01T12:00:0${second}.000Z`, "service.name": service, message })}\n`;

/** A stack's folder with two logs. */
async function stackFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-logs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "log"));
  await writeFile(join(folder, "log/sidecar.log"), line("sidecar", 1, "info", "a") + line("sidecar", 4, "warn", "d"));
  const trace = "Error: torn\n    at main.ts:1\n";
  await writeFile(
    join(folder, "log/facilitator.log"),
    line("facilitator", 2, "debug", "b") + trace + line("facilitator", 3, "error", "c"),
  );
  return folder;
}

const nothing = {
  services: [],
  files: [],
  containers: [],
  pods: [],
  namespace: undefined,
  lines: 1_000,
  follow: false,
};
const everything = { level: undefined, sinceMs: undefined };

function running(
  options: Partial<ShowLogsOptions> & Readonly<{ stateDirectory: string }>,
  pretty?: (text: string) => string,
) {
  const stop = new AbortController();
  const printed = { out: "", error: "" };
  const status = showLogs(
    { ...nothing, filter: everything, ...options },
    {
      out: (text) => void (printed.out += text),
      error: (text) => void (printed.error += text),
      isColored: false,
      pretty,
      signal: stop.signal,
    },
  );
  return { status, printed, stop: () => stop.abort() };
}

test("the logs of all services come in the order of their times, a trace behind its line", async () => {
  const { status, printed } = running({ stateDirectory: await stackFolder() }, (text) =>
    text.replace(/.*"message":"(.)".*/, "$1"),
  );
  expect([await status, printed.error]).toEqual([0, ""]);
  expect(printed.out).toBe(
    "sidecar     | a\nfacilitator | b\nfacilitator | Error: torn\nfacilitator |     at main.ts:1\nfacilitator | c\nsidecar     | d\n",
  );
});

test("one service, a level and a time leave out the others; what has no level stays", async () => {
  const stateDirectory = await stackFolder();
  const one = running({ stateDirectory, services: ["facilitator"], filter: { level: "info", sinceMs: undefined } });
  expect(await one.status).toBe(0);
  expect(one.printed.out).toBe(`Error: torn\n    at main.ts:1\n${line("facilitator", 3, "error", "c")}`);
  const late = running({
    stateDirectory,
    services: ["sidecar"],
    filter: { level: undefined, sinceMs: Date.parse("2026-01-01T12:00:03Z") },
  });
  expect(await late.status).toBe(0);
  expect(late.printed.out).toBe(line("sidecar", 4, "warn", "d"));
});

test("what is written later is followed, also after the log was cut, until the end", async () => {
  const stateDirectory = await stackFolder();
  const path = join(stateDirectory, "log/sidecar.log");
  const { status, printed, stop } = running({ stateDirectory, services: ["sidecar"], follow: true });
  const seen = (text: string) => vi.waitFor(() => expect(printed.out).toContain(text), { timeout: 20_000 });
  await seen('"message":"d"');
  await appendFile(path, line("sidecar", 5, "info", "later"));
  await seen("later");
  await writeFile(path, line("sidecar", 6, "info", "after the cut"));
  await seen("after the cut");
  stop();
  expect(await status).toBe(0);
});

test("a log that does not exist is reported with those that do", async () => {
  const stateDirectory = await stackFolder();
  const stranger = running({ stateDirectory, services: ["sidcar"] });
  expect(await stranger.status).toBe(1);
  expect(stranger.printed.error).toMatch(
    /^logs: there is no log of sidcar; there are (sidecar, facilitator|facilitator, sidecar)\.\n$/,
  );
  const nowhere = running({ stateDirectory: join(stateDirectory, "none") });
  expect(await nowhere.status).toBe(1);
  expect(nowhere.printed.error).toContain(
    "has no logs; run this in the folder of `gatehouse stack`, or name a log by --file",
  );
  const gone = running({ stateDirectory, files: [join(stateDirectory, "none.log")] });
  expect(await gone.status).toBe(1);
  expect(gone.printed.error).toMatch(/^logs: none\.log: tail ended with status 1: .*none\.log/);
});

test("containers and pods are queried by their own programs", async () => {
  const folder = await stackFolder();
  for (const name of ["docker", "kubectl"]) {
    await writeFile(join(folder, name), '#!/bin/sh\necho "${0##*/} $*"\n');
    await chmod(join(folder, name), 0o755);
  }
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { status, printed } = running({
    stateDirectory: folder,
    containers: ["dev-sidecar"],
    pods: ["deploy/facilitator"],
    namespace: "gate",
    lines: 5,
  });
  expect([await status, printed.error]).toEqual([0, ""]);
  expect(printed.out.split("\n").toSorted()).toEqual([
    "",
    "docker logs --tail 5 dev-sidecar",
    "kubectl logs --tail=5 --all-containers --namespace gate deploy/facilitator",
  ]);
  vi.stubEnv("PATH", folder);
  const without = running({ stateDirectory: folder, files: [join(folder, "log/sidecar.log")] });
  expect(await without.status).toBe(1);
  expect(without.printed.error).toMatch(/^logs: sidecar\.log: tail can't be run \(ENOENT\)/);
});
