import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { listProgramFiles, programFolders } from "#daemon/files/program-files.ts";
import { writeLicences } from "./bundle.ts";

/**
 * Builds `gatehouse` as a single file that needs neither Node nor node_modules, for the current platform. The file contains the Node binary
 * that runs this build, the compiled command line, all its imports, and the files that it reads. `LICENSES.md` is written to the same
 * directory. See docs/decisions/0022-one-file.md.
 *
 * @throws {Error} when an included package does not specify its licence.
 */
export async function buildExecutable(root: string, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const passing = mkdtempSync(join(tmpdir(), "gatehouse-executable-"));
  try {
    const main = join(passing, "gatehouse.mjs");
    const modules = await bundleProgram(root, main);
    writeLicences(directory, modules);
    appendFileSync(join(directory, "LICENSES.md"), `\n# Node ${process.versions.node}\n\n${readNodeLicence(root)}\n`);
    const config = join(passing, "sea.json");
    const output = join(directory, "gatehouse");
    const options = { disableExperimentalSEAWarning: true, useCodeCache: true, assets: findAssets(root) };
    writeFileSync(config, JSON.stringify({ main, mainFormat: "module", output, ...options }));
    execFileSync(process.execPath, ["--build-sea", config], { stdio: ["ignore", "ignore", "inherit"] });
  } finally {
    rmSync(passing, { recursive: true });
  }
}

/** Bundles the code of `gatehouse` into one file, because an executable can't load any other; returns the source files included. */
async function bundleProgram(root: string, file: string): Promise<readonly string[]> {
  await using bundle = await rolldown({
    input: join(root, "cli/launch.js"),
    cwd: root,
    platform: "node",
    external: [/^node:/],
  });
  const { output } = await bundle.write({ file, format: "esm", codeSplitting: false });
  return output.flatMap((part) => (part.type === "chunk" ? Object.keys(part.modules) : []));
}

/** Lists the files that Gatehouse reads at run time, keyed by the paths that `readProgramFile` requests. */
function findAssets(root: string): Readonly<Record<string, string>> {
  const paths = programFolders.flatMap((folder) => listProgramFiles(folder).map((name) => `${folder}/${name}`));
  return Object.fromEntries(paths.map((path) => [path, join(root, path)]));
}

function readNodeLicence(root: string): string {
  const { resolve } = createRequire(join(root, "node_modules/node/package.json"));
  const packaged = resolve(`node-${process.platform}-${process.arch}/package.json`);
  return readFileSync(join(packaged, "../LICENSE"), "utf8").trim();
}
