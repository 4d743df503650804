import { createRequire } from "node:module";
import { StartupError } from "#daemon/startup-error.ts";

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/**
 * Finds anvil's native program in the npm package of this platform. The package's own `anvil` command is a Node process around
 * it, which costs start time and hides the program's process id.
 *
 * @throws {StartupError} when npm installed none for this machine.
 */
export function findAnvil(platform: NodeJS.Platform = process.platform, architecture: string = process.arch): string {
  const name = `@foundry-rs/anvil-${platform}-${architectures[architecture] ?? architecture}`;
  const { resolve } = createRequire(import.meta.url);
  try {
    // Where npm hoists nothing (a global install, pnpm) the native package stands below the one that depends on it.
    return createRequire(resolve("@foundry-rs/anvil/package.json")).resolve(`${name}/bin/anvil`);
  } catch (cause) {
    throw new StartupError(
      `no anvil for this machine: the npm package ${name} is not installed; run npm ci in the repository, or npm install @foundry-rs/anvil beside the package gatehouse-evm, with optional dependencies, on Linux or macOS.`,
      { cause },
    );
  }
}
