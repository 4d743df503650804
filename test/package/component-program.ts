import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../style/rooms.ts";
import type { InstalledPackage } from "./installed-package.ts";

/** The directories of examples/pulumi, each a program with the component. */
export const programLanguages = ["yaml", "python", "go", "typescript"] as const;

const digest = `sha256:${"a".repeat(64)}`;

/** Directory for a program's output files, and its outputs. */
export type DeployedProgram = Readonly<{ folder: string; outputs: Readonly<Record<string, unknown>> }>;

/**
 * Runs the commands of examples/pulumi/README.md on a copy of a program, in the directory in which the package is installed. It renders
 * YAML, so that no cluster is needed.
 *
 * @throws {Error} with Pulumi's output, if a command fails.
 */
export async function deployProgram(
  installed: InstalledPackage,
  language: (typeof programLanguages)[number],
): Promise<DeployedProgram> {
  const folder = join(installed.folder, "programs", language);
  const state = join(installed.folder, "state-of-programs", language);
  await mkdir(state, { recursive: true });
  await cp(join(root, "examples/pulumi", language), folder, { recursive: true });
  const { PULUMI_HOME: plugins } = process.env;
  const env = {
    HOME: process.env["HOME"] ?? folder,
    // No missing provider: all were found in this directory.
    ...(plugins === undefined ? {} : { PULUMI_HOME: plugins }),
    PULUMI_BACKEND_URL: pathToFileURL(state).href,
    PULUMI_CONFIG_PASSPHRASE: crypto.randomUUID(),
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
  const pulumi = async (...args: readonly string[]): Promise<string> => {
    const said = ["--cwd", folder, "--non-interactive", "--color", "never"];
    const { status, stdout, stderr } = await installed.run("pulumi", [...args, ...said], env);
    if (status !== 0) throw new Error(`pulumi ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  };
  await pulumi("stack", "init", "test");
  // The package is installed two levels above.
  if (language !== "typescript") await pulumi("package", "add", "../../node_modules/gatehouse-evm/infra/plugin");
  await pulumi("config", "set", "gatehouseImage", `registry.example/gatehouse@${digest}`);
  await pulumi("config", "set", "devnetImage", `registry.example/gatehouse-devnet@${digest}`);
  await pulumi("up", "--yes", "--skip-preview");
  return { folder, outputs: JSON.parse(await pulumi("stack", "output", "--json")) as DeployedProgram["outputs"] };
}
