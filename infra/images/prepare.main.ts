import { join } from "node:path";
import { dependenciesDirectory, installImageDependencies } from "./image-dependencies.ts";

/** `npm run images:prepare`: installs what the Dockerfiles copy, for a `docker build` by hand. */
const root = join(import.meta.dirname, "../..");
installImageDependencies(root, ["gatehouse", "devnet"]);
process.stdout.write(`the images' dependencies are in ${join(root, dependenciesDirectory)}\n`);
