import { join } from "node:path";
import {
  findImageArchitecture,
  imageArchitectures,
  dependenciesDirectory,
  ImageDependenciesError,
  installImageDependencies,
} from "./image-dependencies.ts";

/**
 * `npm run images:prepare [-- amd64 | arm64]`: installs what the Dockerfiles copy, for a manual `docker build` for that architecture, which
 * defaults to this machine's. Needs only Node and npm, and no installed dependencies in the clone.
 */
const root = join(import.meta.dirname, "../..");
const [, , wanted = process.arch] = process.argv;
const architecture = findImageArchitecture(wanted);

if (architecture === undefined) {
  const known = imageArchitectures.join(" or ");
  process.stderr.write(`found ${wanted}; expected ${known}: npm run images:prepare -- ${imageArchitectures[0]}\n`);
  process.exitCode = 1;
} else {
  try {
    installImageDependencies(root, { images: ["gatehouse", "devnet"], architecture });
    process.stdout.write(
      `the images' dependencies for linux/${architecture} are in ${join(root, dependenciesDirectory)}\n`,
    );
  } catch (error) {
    if (!(error instanceof ImageDependenciesError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
