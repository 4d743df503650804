import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse, stringify } from "yaml";

const root = join(import.meta.dirname, "../../..");
const project = "gatehouse";

export type PulumiResult = Readonly<{ status: number | null; output: string; seconds: number }>;

export type PulumiStack = AsyncDisposable &
  Readonly<{
    prefix: string;
    env: NodeJS.ProcessEnv;
    configFile: string;
    run: (...args: readonly string[]) => Promise<PulumiResult>;
    start: (...args: readonly string[]) => ChildProcess;
    configure: (config: Readonly<Record<string, unknown>>) => Promise<void>;
  }>;

/**
 * Creates an empty stack in a backend in a temporary directory; nothing is written to the repository.
 *
 * @param sharedWith the stack whose backend and passphrase it shares, like stacks handled by one command; default: it
 * has its own.
 */
export async function createPulumiStack(name: string, sharedWith?: PulumiStack): Promise<PulumiStack> {
  const directory =
    sharedWith === undefined ? await mkdtemp(join(tmpdir(), "gatehouse-pulumi-")) : dirname(sharedWith.configFile);
  const configFile = join(directory, `Pulumi.${name}.yaml`);
  const env = sharedWith?.env ?? {
    ...process.env,
    // Pulumi runs the program with the first Node on the PATH.
    PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
    PULUMI_BACKEND_URL: pathToFileURL(directory).href,
    PULUMI_CONFIG_PASSPHRASE: crypto.randomUUID(),
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
  const start = (at: string, args: readonly string[]) =>
    spawn("pulumi", [...args, "--cwd", at, "--non-interactive", "--color", "never"], {
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
  const run = async (args: readonly string[], at = root): Promise<PulumiResult> => {
    const startedAt = performance.now();
    const child = start(at, args);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += String(chunk)));
    const [status] = (await once(child, "close")) as [number | null];
    return { status, output, seconds: Math.round((performance.now() - startedAt) / 100) / 10 };
  };
  const onStack = (args: readonly string[]) => [...args, "--stack", name, "--config-file", configFile];
  // Pulumi writes the salt of the stack's secrets next to the project's file; it needs only a file with that name.
  await writeFile(join(directory, "Pulumi.yaml"), stringify({ name: project, runtime: "nodejs" }));
  const made = await run(["stack", "init", name, "--no-select"], directory);
  if (made.status !== 0) throw new Error(`pulumi stack init: ${made.output}`);
  return {
    prefix: `${project}-${name}`,
    env,
    configFile,
    run: (...args) => run(args[0] === "cancel" ? [...args, "--stack", name] : onStack(args)),
    start: (...args) => start(root, onStack(args)),
    configure: async (config) => {
      const keyed = Object.fromEntries(Object.entries(config).map(([key, value]) => [`${project}:${key}`, value]));
      const kept = parse(await readFile(configFile, "utf8")) as Record<string, unknown>;
      await writeFile(configFile, stringify({ ...kept, config: keyed }));
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
