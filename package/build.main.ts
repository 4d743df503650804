import { execFileSync } from "node:child_process";
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateDtsBundle } from "dts-bundle-generator";
import { bundlePackages } from "./build/bundle.ts";
import { writeLineMap } from "./build/line-map.ts";
import { buildPublishedManifest } from "./build/published-manifest.ts";
import { bundledTypes, withBundledImports } from "./build/rewritten-imports.ts";

/**
 * `npm run build`: builds the package in `dist/`, with the same layout as the repository: compiled, and with some packages bundled. `npm
 * pack` runs it first.
 */
const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/** Files that are copied: read at run time, already JavaScript, or documentation. */
const copied = [
  "LICENSE",
  "cli/gatehouse.js",
  "cli/gatehouse.sh",
  "docs/runbooks",
  "infra/observability/dashboards",
  "infra/observability/rules",
  "infra/plugin/PulumiPlugin.yaml",
  "infra/plugin/package.json",
  "policies/PulumiPolicy.yaml",
  "policies/package.json",
  "sidecar/overview/assets",
  "status/page/assets",
] as const;

rmSync(dist, { recursive: true, force: true });
compile("package/tsconfig.json");
compile("package/tsconfig.types.json");
for (const path of copied) cpSync(join(root, path), join(dist, path), { recursive: true });
writeFileSync(join(dist, "README.md"), buildReadme());
await bundlePackages(root, dist);
for (const path of globSync("**/*.{js,mjs,d.ts}", { cwd: dist, exclude: ["bundled/**"] })) {
  rewrite(path, (text) => withBundledImports(path, text));
}
for (const path of globSync("**/*.map", { cwd: dist })) rewrite(path, writeLineMap);
writeFileSync(join(dist, bundledTypes), bundleDeclarations());
writeFileSync(join(dist, "package.json"), `${JSON.stringify(buildPublishedManifest(), null, 2)}\n`);

/** Builds the README from the package's own source: links in the repository's README lead to files that are not in the package. */
function buildReadme(): string {
  return readFileSync(join(import.meta.dirname, "README.md"), "utf8").replaceAll("](../", "](");
}

function compile(project: string): void {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "--project", project], { cwd: root, stdio: "inherit" });
}

function rewrite(path: string, change: (text: string) => string): void {
  const text = readFileSync(join(dist, path), "utf8");
  const changed = change(text);
  if (changed !== text) writeFileSync(join(dist, path), changed);
}

/** Bundles the declarations of bundled packages that ours refer to, directly or indirectly. */
function bundleDeclarations(): string {
  const [text = ""] = generateDtsBundle(
    [
      {
        filePath: join(root, "package/build/x402-types.ts"),
        libraries: { inlinedLibraries: ["@x402/core"] },
        output: { exportReferencedTypes: false },
        failOnClass: false,
      },
    ],
    { preferredConfigPath: join(root, "package/tsconfig.types.json") },
  );
  return text;
}
