import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { runDocker } from "./docker.ts";

const run = promisify(execFile);
const deadlineMs = 240_000;
const maxBuffer = 16_777_216;

/** A compose deployment in its own directory, taken down when disposed of. */
export type ComposeProject = AsyncDisposable &
  Readonly<{
    directory: string;
    compose: (...args: readonly string[]) => Promise<string>;
    /** One field of `docker inspect` of a service's container, as a Go template. */
    inspect: (service: string, template: string) => Promise<string>;
    logs: (service: string) => Promise<string>;
  }>;

export async function composeCommands(): Promise<readonly (readonly [string, ...string[]])[]> {
  const known = [["docker", "compose"] as const, ["docker-compose"] as const];
  const working = await Promise.all(
    known.map(async ([file, ...args]) => {
      // A missing command, or one without the subcommand, is skipped.
      const printed = await run(file, [...args, "version"]).then(
        ({ stdout }) => stdout,
        () => "",
      );
      return /compose version/i.test(printed);
    }),
  );
  return known.filter((_, index) => working[index]);
}

export async function startComposeProject(
  command: readonly [string, ...string[]],
  file: string,
): Promise<ComposeProject> {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-compose-"));
  const path = join(directory, "docker-compose.yml");
  await writeFile(path, file);
  const project = await startComposeFile(command, path, {});
  return {
    ...project,
    [Symbol.asyncDispose]: async () => {
      await project[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

export async function startComposeFile(
  [program, ...first]: readonly [string, ...string[]],
  path: string,
  variables: Readonly<Record<string, string>>,
): Promise<ComposeProject> {
  const directory = dirname(path);
  const env = { ...process.env, ...variables };
  const compose = (...args: readonly string[]) =>
    run(program, [...first, "--file", path, ...args], { cwd: directory, timeout: deadlineMs, env, maxBuffer });
  const container = async (service: string) => (await compose("ps", "--quiet", service)).stdout.trim();
  const project: ComposeProject = {
    directory,
    compose: async (...args) => (await compose(...args)).stdout,
    inspect: async (service, template) => runDocker("inspect", "--format", template, await container(service)),
    logs: async (service) => runDocker("logs", await container(service)),
    [Symbol.asyncDispose]: async () => {
      await compose("down", "--volumes", "--timeout", "1");
    },
  };
  try {
    await compose("up", "--detach");
    return project;
  } catch (error) {
    const said = await project.compose("logs", "--no-color", "--tail=20");
    await project[Symbol.asyncDispose]();
    throw new Error(`${String(error)}\n${said}`, { cause: error });
  }
}
