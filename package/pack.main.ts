import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";

/**
 * Last step of `npm pack` in the repository: packs `dist/` with the package.json derived by `npm run build`. The resulting tarball replaces
 * the one that npm made from the repository.
 */
const root = join(import.meta.dirname, "..");
const { INIT_CWD: startedIn = root, npm_config_pack_destination: destination = ".", npm_config_dry_run } = process.env;

if (npm_config_dry_run !== "true") buildTarball();

function buildTarball(): void {
  execFileSync("npm", ["pack", join(root, "dist"), "--pack-destination", resolve(startedIn, destination)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}
