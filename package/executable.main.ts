import { join, resolve } from "node:path";
import { buildExecutable } from "./build/executable.ts";

/** `npm run build:executable [-- <directory>]`: builds the single executable in the directory; default: `dist-executable`. */
const root = join(import.meta.dirname, "..");
const [, , directory = join(root, "dist-executable")] = process.argv;

await buildExecutable(root, resolve(directory));
