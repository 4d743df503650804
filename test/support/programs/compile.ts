import {
  accessSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { programFolders } from "#daemon/files/program-files.ts";
import { runInTurn } from "../run-in-turn.ts";
import { placeAmongPrograms, programFiles, programsDirectory, programStarters } from "./place.ts";

const root = join(import.meta.dirname, "../../..");
const recordFile = join(programsDirectory, "made-of.json");
const deadlineMs = 120_000;

/** Files that the programs depend on besides the modules that they import. */
const furtherInputs = [import.meta.filename, join(import.meta.dirname, "place.ts"), join(root, "package-lock.json")];

/** Paths that are linked unchanged: the command's entry file, and files that Gatehouse reads at run time. */
const linked = [...programFolders, "package.json"] as const;

/**
 * Compiles the programs that tests start, each with all its imports in a few files, which halves their startup CPU time, most of a test's.
 * They are rebuilt only after a change.
 */
export async function compilePrograms(): Promise<void> {
  mkdirSync(dirname(programsDirectory), { recursive: true });
  await runInTurn(`${programsDirectory}.lock`, deadlineMs, async () => {
    if (!isUpToDate()) await compile();
  });
}

function isUpToDate(): boolean {
  if (!existsSync(recordFile)) return false;
  const record = JSON.parse(readFileSync(recordFile, "utf8")) as Readonly<Record<string, string>>;
  return Object.entries(record).every(([path, state]) => describeFile(path) === state);
}

function describeFile(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "none" : `${stats.size} ${stats.mtimeMs}`;
}

async function compile(): Promise<void> {
  // If such a file were moved, it would silently start the repository's own programs.
  for (const path of programStarters) accessSync(join(root, path));
  rmSync(programsDirectory, { recursive: true, force: true });
  await using bundle = await rolldown({
    input: Object.fromEntries(programFiles.map((path) => [path.replace(/\.[jt]s$/, ""), join(root, path)])),
    cwd: root,
    platform: "node",
    // secp256k1 finds its native code next to its own files.
    external: [/^node:/, "secp256k1"],
    plugins: [placed],
  });
  const chunkFileNames = "chunks/[name]-[hash].js";
  const { output } = await bundle.write({ dir: programsDirectory, format: "esm", keepNames: true, chunkFileNames });
  const modules = output.flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
  const ours = modules.filter((path) => path.startsWith(root) && !path.includes("/node_modules/"));
  // Some code lists the directories of the source code, so they must exist.
  for (const path of ours) mkdirSync(dirname(join(programsDirectory, relative(root, path))), { recursive: true });
  cpSync(join(root, "cli/gatehouse.js"), join(programsDirectory, "cli/gatehouse.js"));
  for (const path of linked) {
    mkdirSync(dirname(join(programsDirectory, path)), { recursive: true });
    symlinkSync(join(root, path), join(programsDirectory, path));
  }
  const paths = [...ours, ...furtherInputs, join(root, "cli/gatehouse.js")];
  writeFileSync(recordFile, JSON.stringify(Object.fromEntries(paths.map((path) => [path, describeFile(path)]))));
}

const placed: Plugin = {
  name: "gatehouse-placed",
  transform(text, path) {
    return path.includes("/node_modules/") ? undefined : placeAmongPrograms(text, path);
  },
};
