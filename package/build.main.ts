import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };

/**
 * `npm run build`: compiles what a registry gets into `dist/`, laid out as the repository is. `npm pack` and `npm publish` run it first.
 */
const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/** What is read from a file beside the code, or is JavaScript already. */
const copied = [
  "cli/gatehouse.js",
  "docs/runbooks",
  "policies/PulumiPolicy.yaml",
  "policies/package.json",
  "sidecar/page/assets",
] as const;

rmSync(dist, { recursive: true, force: true });
compile("package/tsconfig.json");
compile("package/tsconfig.types.json");
for (const path of copied) cpSync(join(root, path), join(dist, path), { recursive: true });
writeFileSync(join(dist, "package.json"), `${JSON.stringify(compiledManifest(), null, 2)}\n`);

function compile(project: string): void {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "--project", project], { cwd: root, stdio: "inherit" });
}

/** Node looks names such as `#daemon/time.ts` up in the nearest package.json, and so do compilers. */
function compiledManifest() {
  const { name, version, type, imports } = packageJson;
  const compiledImports = Object.entries(imports).flatMap(([pattern, target]) => [
    [pattern.replace(/\*$/, "*.ts"), target.replace(/\*$/, "*.js")],
    [pattern, target],
  ]);
  return { name, version, private: true, type, imports: Object.fromEntries(compiledImports) as unknown };
}
