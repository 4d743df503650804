import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, globSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { Client } from "pg";
import { within } from "#daemon/time.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";
import { isExecutable } from "./find-program.ts";
import { runInTurn } from "./run-in-turn.ts";

export type PostgresServer = AsyncDisposable &
  Readonly<{
    createDatabase: () => Promise<string>;
    query: (url: string, text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
    /** Stops the server like a crash, which breaks every connection; `start` restarts it. */
    stop: () => Promise<void>;
    start: () => Promise<void>;
  }>;

/**
 * Explains why tests can't have a PostgreSQL server here; undefined if they can. Shown in the names of skipped tests.
 */
export function explainMissingPostgres(): string | undefined {
  if (findPrograms() === undefined) return "no postgres and initdb on PATH or in /usr/lib/postgresql";
  return undefined;
}

const password = "a password of tests";
/** The server refuses to run as root; nobody (65534) has no permissions. */
const nobody = 65_534;
const deadlineMs = 30_000;
const initOptions = [
  "--username=postgres",
  "--auth-local=trust",
  "--auth-host=scram-sha-256",
  "--encoding=UTF8",
  "--no-sync",
];

/**
 * Starts a server on a free loopback port. Its commits wait for the disk as in production; only its directory is
 * temporary.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = findPrograms();
  if (folder === undefined) throw new Error(explainMissingPostgres());
  const { uid } = userInfo();
  const isRoot = uid === 0;
  const identity = isRoot ? { uid: nobody, gid: nobody } : {};
  const data = mkdtempSync("/tmp/gatehouse-postgres-");
  if (isRoot) chownSync(data, nobody, nobody);
  const run = (program: string, ...args: readonly string[]) => {
    const { status, stderr } = spawnSync(program, args, { ...identity, cwd: data, encoding: "utf8" });
    if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
  };
  const initdb = join(folder, "initdb");
  // Creating a database takes a second of CPU, copying one a fifth.
  const template = `/tmp/gatehouse-postgres-template-${uid}-${statSync(initdb).mtimeMs}`;
  await runInTurn(`${template}.lock`, deadlineMs, async () => {
    if (existsSync(template)) return;
    run(initdb, ...initOptions, "--pgdata", join(data, "template"));
    run("mv", join(data, "template"), template);
  });
  run("cp", "-a", `${template}/.`, data);
  const [port = 0] = await findFreePorts(1);
  const admin = `postgresql://postgres@localhost:${port}/postgres?host=${data}`;
  let end: (() => Promise<void>) | undefined;
  const start = async (): Promise<void> => {
    const settings = ["-c", "listen_addresses=127.0.0.1", "-c", `unix_socket_directories=${data}`];
    const child = spawn(join(folder, "postgres"), ["-D", data, "-p", String(port), ...settings], {
      ...identity,
      cwd: data,
      stdio: "ignore",
    });
    const exited = once(child, "exit");
    end = async () => {
      // Immediate shutdown: clients are not notified, and the next start runs recovery.
      child.kill("SIGQUIT");
      await within("the end of PostgreSQL", deadlineMs, exited);
    };
    await until("PostgreSQL accepts connections", deadlineMs, async () => {
      await runStatement(admin, "SELECT 1");
      return true;
    });
  };
  await start();
  await runStatement(admin, `CREATE ROLE gatehouse LOGIN PASSWORD '${password}'`);
  let count = 0;
  return {
    createDatabase: async () => {
      count += 1;
      await runStatement(admin, `CREATE DATABASE ledger_${count} OWNER gatehouse`);
      return `postgresql://gatehouse:${encodeURIComponent(password)}@127.0.0.1:${port}/ledger_${count}`;
    },
    query: runStatement,
    stop: async () => end?.(),
    start,
    [Symbol.asyncDispose]: async () => {
      await end?.();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function runStatement(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

function findPrograms(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...globSync("/usr/lib/postgresql/*/bin")];
  return folders.find((folder) => ["postgres", "initdb"].every((name) => isExecutable(join(folder, name))));
}
