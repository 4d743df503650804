import { join } from "node:path";
import { dependenciesDirectory, ImageDependenciesError, installImageDependencies } from "./image-dependencies.ts";

/**
 * `npm run images:prepare`: installs what the Dockerfiles copy, for a `docker build` by hand. It needs Node and npm, and nothing that
 * is installed in the clone.
 */
const root = join(import.meta.dirname, "../..");
try {
  installImageDependencies(root, ["gatehouse", "devnet"]);
  process.stdout.write(`the images' dependencies are in ${join(root, dependenciesDirectory)}\n`);
} catch (error) {
  if (!(error instanceof ImageDependenciesError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
