import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeCliProgram, nodeProgram, opsProgram } from "./fake-node-programs.ts";
import { pharosCli, pharosForks, pharosLauncher, pharosOps, pharosProcess } from "./fake-pharos-programs.ts";
import type { NodeProfile } from "./node-profile.ts";

/** Paths of a fake node's files, which depend on the profile. */
export type FakeLocations = Readonly<{
  workspace: string;
  profile: NodeProfile;
  binDirectory: string;
  opsDirectory: string;
  configPath: string;
  programs: Readonly<{ ops: string; tool: string; node: string }>;
}>;

/** Returns the paths of a fake node's files. */
export function locateFakeNode(workspace: string, profile: NodeProfile): FakeLocations {
  const binDirectory = join(workspace, "bin");
  const [opsDirectory, config, tool, node] =
    profile === "pharos"
      ? [workspace, "pharos.conf", "pharos_cli", `${pharosProcess}.cjs`]
      : [binDirectory, "node.conf", "node_cli", "node-process.cjs"];
  const programs = { ops: join(opsDirectory, "ops"), tool: join(binDirectory, tool), node: join(binDirectory, node) };
  return { workspace, profile, binDirectory, opsDirectory, configPath: join(opsDirectory, config), programs };
}

/** Writes a fake node's workspace: its configuration, programs and keys. `host` is the directory that simulates the node's machine. */
export async function writeWorkspace(
  { workspace, profile, binDirectory, configPath }: FakeLocations,
  { config, port, host }: Readonly<{ config: string; port: number; host: string }>,
): Promise<void> {
  await mkdir(binDirectory);
  await mkdir(join(workspace, "data"));
  await writeFile(configPath, config);
  await writeFile(join(workspace, "port"), String(port));
  await writePrograms(binDirectory, profile);
  if (profile !== "pharos") return;
  await writeScript(join(workspace, "ops"), pharosOps, "/bin/sh");
  await writeFile(join(workspace, "host"), host);
  await writeFile(join(workspace, ".password"), "a password\n", { mode: 0o600 });
  await writeFile(join(workspace, "genesis.conf"), "{}\n");
  await writeFile(join(binDirectory, "VERSION"), pharosForks);
  await mkdir(join(workspace, "keys"));
  for (const name of ["domain.key", "stabilizing.key"])
    await writeFile(join(workspace, "keys", name), `${name} of ${workspace}\n`);
}

/** Writes a node's programs into the directory of a node or a release; `first` contains the node's own arguments, which precede all others. */
export async function writePrograms(
  directory: string,
  profile: NodeProfile,
  rewrite = (program: string) => program,
  first = "",
): Promise<void> {
  const node = first + rewrite(nodeProgram({ profile }));
  const write = (name: string, body: string, interpreter?: string) =>
    writeScript(join(directory, name), body, interpreter);
  if (profile === "pharos") {
    await write(`${pharosProcess}.cjs`, node);
    await write(pharosProcess, rewrite(pharosLauncher(process.execPath)), "/bin/sh");
    return write("pharos_cli", rewrite(pharosCli), "/bin/sh");
  }
  await write("node-process.cjs", node);
  await write("ops", opsProgram({ profile }), "/bin/bash");
  await write("node_cli", rewrite(nodeCliProgram({ profile })), "/bin/sh");
}

/** Writes an executable script with its interpreter. */
export async function writeScript(path: string, body: string, interpreter = process.execPath): Promise<void> {
  // The kernel treats everything after the first space as one argument.
  const start = interpreter.includes(" ") ? `/usr/bin/env -S "${interpreter}"` : interpreter;
  await writeFile(path, `#!${start}\n${body}`);
  await chmod(path, 0o755);
}

/** Finds the running processes of public-family nodes whose command lines contain all of these words, regardless of what started them. */
export const findPharosProcesses = (...words: readonly string[]) => findProcesses(pharosProcess, ...words);

/**
 * Finds the processes whose command lines contain all of these words. Synchronous: tests poll constantly, and a promise per process would
 * take most of their time.
 */
export function findProcesses(...words: readonly string[]): readonly number[] {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  return pids.map(Number).filter((pid) => {
    const line = readCommandLine(pid);
    return words.every((word) => line.includes(word));
  });
}

function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // The process has exited meanwhile.
    return "";
  }
}
