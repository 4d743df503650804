// Prints an SBOM (CycloneDX) of what a production install of the clone has: `npm sbom` over package-lock.json without the rest, because with
// `--omit dev` it leaves out whatever a development dependency needs too.
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
  process.stdout.write(execFileSync("npm", sbom, { cwd: directory, maxBuffer: 16_777_216 }));
} finally {
  rmSync(directory, { recursive: true });
}
