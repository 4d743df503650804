// Prints an SBOM (CycloneDX) of a production install of the clone: `npm sbom` for a reduced package-lock.json, because with `--omit dev` it
// also omits packages that a development dependency needs too. `with-node` adds Node, which the single executable includes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { name, version, license, dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const needed = Object.entries(lock.packages).filter(
  ([path, { dev, devOptional, optional, peer }]) => path !== "" && !(dev || devOptional || optional || peer),
);
const manifest = { name, version, license, dependencies };
const directory = mkdtempSync(join(tmpdir(), "gatehouse-sbom-"));
try {
  const packages = { "": manifest, ...Object.fromEntries(needed) };
  writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(directory, "package-lock.json"), JSON.stringify({ ...lock, packages }));
  const sbom = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
  const listed = JSON.parse(execFileSync("npm", sbom, { cwd: directory, encoding: "utf8", maxBuffer: 16_777_216 }));
  if (process.argv[2] === "with-node") listed.components.push(nodeComponent());
  process.stdout.write(`${JSON.stringify(listed, null, 2)}\n`);
} finally {
  rmSync(directory, { recursive: true });
}

function nodeComponent() {
  const { version: node } = lock.packages["node_modules/node"];
  const purl = `pkg:github/nodejs/node@v${node}`;
  return { "bom-ref": purl, type: "platform", name: "node", version: node, purl };
}
