import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { version } from "#daemon/version.ts";
import { buildArtefact } from "./artefact.ts";

/**
 * `node infra/kustomize/render.main.ts <directory> <registry>`: writes what Kubernetes takes without Pulumi, with the images that a release pushes to the
 * registry.
 */
const [, , directory, registry] = process.argv;
if (directory === undefined || registry === undefined) {
  process.stderr.write("usage: render.main.ts <directory> <registry>\n");
  process.exitCode = 1;
} else {
  const images = { gatehouse: `${registry}/gatehouse:${version}`, devnet: `${registry}/gatehouse-devnet:${version}` };
  for (const [path, text] of await buildArtefact(images)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  cpSync(join(import.meta.dirname, "README.md"), join(directory, "README.md"));
}
