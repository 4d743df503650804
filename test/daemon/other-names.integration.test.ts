import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { explainMissingPostgres, startPostgres } from "../support/postgres.ts";
import { mayMount, mountNames, startSilentNameServer, whySkipped } from "../support/silent-name-server.ts";

const nameServer = mayMount ? await startSilentNameServer() : undefined;
const why = nameServer === undefined ? whySkipped : "";

test.skipIf(nameServer === undefined)(
  `serves all clients while no name server responds for other names${why}`,
  async () => {
    const folder = await makeTestDirectory();
    await using resources = new AsyncDisposableStack();
    const postgres = explainMissingPostgres() === undefined ? resources.use(await startPostgres()) : undefined;
    const databaseUrl = (await postgres?.createDatabase())?.replace(/@[^:/]+:/, "@node.test:") ?? "";
    // The program opens a name server's port at the next address itself, to detect when it is queried.
    const address = (nameServer?.address ?? "").replace(/53$/, "54");
    const [unshare = "", ...words] = await mountNames(folder, address);
    const program = join(import.meta.dirname, "other-names.main.ts");
    const child = spawn(unshare, [...words, process.execPath, program, address, databaseUrl], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    // While the name server does not respond, the program's pending lookups keep it alive.
    resources.defer(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const outcomes = { undici: "answered", engine: "answered", fetch: "answered" };
    expect(JSON.parse(line)).toEqual(postgres === undefined ? outcomes : { ...outcomes, postgres: "answered" });
  },
  90_000,
);
