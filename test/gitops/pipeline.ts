import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { findJob, template } from "./workflow.ts";

const root = join(import.meta.dirname, "../..");

/** Output and exit status of a fake program when it is called. */
export type StandIn = Readonly<{ output?: string; status?: number }>;

/** Result of a job's `run` steps, up to the failed one. */
export type JobResult = Readonly<{ status: number | null; output: string }>;

/** A user's copy of the template, as its own repository, with fakes for everything outside it. */
export type Pipeline = AsyncDisposable &
  Readonly<{
    directory: string;
    /** Sets a fake program's output and exit status, by subcommand, e.g. `pulumi-preview`, `gh-issue-list`. */
    stand: (call: string, what: StandIn) => Promise<void>;
    /** Writes a file and adds it to git. */
    commit: (path: string, text: string) => Promise<void>;
    /** Runs a job's `run` steps like a runner: one shell per step, until one fails. */
    runJob: (workflow: string, job: string, environment?: string) => Promise<JobResult>;
    /** Runs a single script, as on a laptop. */
    runScript: (script: string, args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<JobResult>;
    report: (name: string) => Promise<string>;
    /** Returns the calls of the fakes since the last time, each with its arguments. */
    calls: () => Promise<readonly (readonly string[])[]>;
  }>;

/**
 * Records its arguments, one call per line, then prints and exits as set for the longest matching
 * `<program>-<arguments>`.
 */
const standIn = `#!/usr/bin/env bash
{ printf '%s\\t' "$(basename "$0")" "$@"; printf '\\n'; } | tr -d '\\r' >>"$STAND_INS/calls"
name=$(basename "$0")
for words in "$name-$1-$2" "$name-$1" "$name"; do
  words=\${words//\\//_}
  if [ -f "$STAND_INS/$words" ]; then
    cat -- "$STAND_INS/$words"
    exit "$(cat -- "$STAND_INS/$words.status")"
  fi
done
`;

/** Copies the template. Its submodule is this repository; `pulumi`, `gh`, `npm` and `npx` are fakes. */
export async function copyPipeline(): Promise<Pipeline> {
  const home = await mkdtemp(join(tmpdir(), "gatehouse-gitops-"));
  const [directory, bin, standIns] = ["repository", "bin", "stand-ins"].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ];
  await cp(template, directory, { recursive: true });
  await symlink(root, join(directory, "gatehouse"));
  await Promise.all([mkdir(bin), mkdir(standIns)]);
  for (const program of ["pulumi", "gh", "npm", "npx"]) {
    await writeFile(join(bin, program), standIn);
    await chmod(join(bin, program), 0o755);
  }
  const env = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    HOME: home,
    LANG: "C.UTF-8",
    STAND_INS: standIns,
    GITHUB_ACTIONS: "true",
    GITHUB_WORKSPACE: directory,
  };
  const git = (...args: readonly string[]) => {
    const { status, stderr } = spawnSync("git", args, { cwd: directory, env, encoding: "utf8" });
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  };
  git("init", "--quiet");
  const run = async (words: readonly string[], more: Readonly<Record<string, string>>): Promise<JobResult> => {
    const child = spawn("bash", words, {
      cwd: directory,
      env: { ...env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
    const [status] = (await once(child, "close")) as [number | null];
    return { status, output };
  };
  return {
    directory,
    stand: async (call, { output = "", status = 0 }) => {
      await writeFile(join(standIns, call), output);
      await writeFile(join(standIns, `${call}.status`), `${status}`);
    },
    commit: async (path, text) => {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text);
      git("add", "--", path);
    },
    runJob: async (workflow, name, environment = "") => {
      const job = findJob(workflow, name);
      let output = "";
      for (const { run: command, env: own } of job.steps) {
        if (command === undefined) continue;
        const shell = ["--noprofile", "--norc", "-eo", "pipefail", "-c", command];
        const ended = await run(shell, resolveExpressions({ ...job.env, ...own }, environment));
        output += ended.output;
        if (ended.status !== 0) return { status: ended.status, output };
      }
      return { status: 0, output };
    },
    runScript: (script, args, more = {}) => run([join("scripts", script), ...args], { GITHUB_ACTIONS: "", ...more }),
    report: (name) => readFile(join(directory, "reports", name), "utf8"),
    calls: async () => {
      const path = join(standIns, "calls");
      const text = await readFile(path, "utf8");
      await rm(path);
      return text
        .split("\n")
        .slice(0, -1)
        .map((line) => line.split("\t").slice(0, -1));
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true }),
  };
}

/** Resolves the expressions in a step's environment the way the runner does. */
function resolveExpressions(
  env: Readonly<Record<string, string>>,
  environment: string,
): Readonly<Record<string, string>> {
  const known: Readonly<Record<string, string>> = {
    "matrix.environment": environment,
    "vars.PULUMI_ORGANIZATION": "acme",
    // An unset variable is empty.
    "vars[format('SERVICE_URLS_{0}', matrix.environment)]": "",
    "vars.NODE_CONF_COMMAND": "",
    "vars[format('NODE_VERSION_{0}', matrix.environment)]": "",
    "github.repository": "acme/nodes",
    "github.token": "the-token-of-the-run",
    "github.event.pull_request.number": "7",
  };
  const put = (text: string) =>
    text.replaceAll(/\$\{\{ (.+?) \}\}/g, (_, expression: string) => {
      const value = known[expression];
      if (value === undefined) throw new Error(`the tests have no value for ${expression}`);
      return value;
    });
  return Object.fromEntries(Object.entries(env).map(([key, value]) => [key, put(value)]));
}
