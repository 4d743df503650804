import { execFile } from "node:child_process";
import { cp, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../style/rooms.ts";

const run = promisify(execFile);

export type ProcessResult = Readonly<{ status: number; stdout: string; stderr: string }>;

/** A directory outside the repository, with the package among its dependencies. */
export type ConsumerFolder = Readonly<{
  /** The directory with the consumer's package.json. */
  folder: string;
  /** The installed package. */
  directory: string;
  /** Runs a program file in the directory, with an environment of PATH and the given variables only. */
  run: (program: string, args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<ProcessResult>;
  /** Runs the installed `gatehouse`. */
  gatehouse: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<ProcessResult>;
  /** Compiles a file in the directory as a strict consumer would; returns the compiler's messages, one per line. */
  compile: (compiler: Compiler, file: string, ...options: readonly string[]) => Promise<readonly string[]>;
}>;

/**
 * TypeScript's two compilers, by their directories in the consumer's `node_modules`: the one in JavaScript, and its
 * native successor.
 */
export type Compiler = "typescript" | "typescript-native";

/** The native compiler, which new projects get; the repository needs the API of the earlier compiler. */
const nativeCompiler = "npm:typescript@7.0.2";

/**
 * Additional packages that the consumer needs: compiler, types, and the optional peers, in the repository's versions.
 */
const additionalPackages = [
  "@foundry-rs/anvil",
  "@pulumi/docker",
  "@pulumi/kubernetes",
  "@pulumi/policy",
  "@pulumi/pulumi",
  "@types/node",
  "typescript",
] as const;

const runDeadlineMs = 280_000;

const strict = ["--noEmit", "--strict", "--skipLibCheck", "false", "--exactOptionalPropertyTypes"];

/** Creates the directory, in which a package manager must still install the dependencies of its package.json. */
export async function makeConsumerFolder(folder: string, tarball: string): Promise<ConsumerFolder> {
  await cp(join(root, "test/package/consumer"), folder, { recursive: true });
  const manifest = {
    name: "consumer",
    private: true,
    dependencies: { "gatehouse-evm": `file:${tarball}` },
    devDependencies: {
      ...Object.fromEntries(additionalPackages.map((name) => [name, packageJson.devDependencies[name]])),
      "typescript-native": nativeCompiler,
    },
  };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  return openConsumerFolder(folder);
}

/** Opens a directory that another process created. */
export function openConsumerFolder(folder: string): ConsumerFolder {
  const start: ConsumerFolder["run"] = async (program, args, env = {}) =>
    runToEnd(program, args, { cwd: folder, env: { PATH: buildPath(), ...env } });
  return {
    folder,
    directory: join(folder, "node_modules/gatehouse-evm"),
    run: start,
    gatehouse: (args, env) => start(join(folder, "node_modules/.bin/gatehouse"), args, env),
    compile: async (compiler, file, ...options) => {
      const program = join(folder, "node_modules", compiler, "bin/tsc");
      const { stdout } = await start(program, [...strict, "--target", "es2024", "--types", "node", ...options, file]);
      return stdout.split("\n").filter((line) => line !== "");
    },
  };
}

/** Builds a PATH whose `node` is the one that runs this process. */
function buildPath(): string {
  return [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
}

async function runToEnd(
  program: string,
  args: readonly string[],
  options: Readonly<{ cwd: string; env: Record<string, string> }>,
): Promise<ProcessResult> {
  try {
    const { stdout, stderr } = await run(program, [...args], { ...options, timeout: runDeadlineMs });
    return { status: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as Readonly<{ code?: unknown; stdout?: string; stderr?: string }>;
    if (typeof code !== "number") throw error;
    return { status: code, stdout, stderr };
  }
}
